"""Pictures against Pillow, which reads and resizes with code of its own."""

import io
import json
import os
import struct
import subprocess
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

REPOSITORY = Path(__file__).resolve().parents[2]
TOOL = Path(os.environ.get("DEEPVORO_PICTURE_TOOL", REPOSITORY / "build/bin/deepvoro_picture_tool"))
SHARED = Path(os.environ.get("DEEPVORO_SHARED", REPOSITORY.parent / "shared"))
FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
ORIENTATION_TAG = 0x0112


def run(*arguments, env=None):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, env={**os.environ, **(env or {})})


def ours(picture, *operations, env=None):
    process = run(picture, *operations, env=env)
    assert process.returncode == 0, process.stderr
    return np.asarray(Image.open(io.BytesIO(process.stdout)))


def pillows(picture):
    return ImageOps.exif_transpose(Image.open(picture)).convert("RGB")


def picture(width, height, seed=0):
    """Edges, flat and saturated areas, and noise."""
    random = np.random.RandomState(seed)
    y, x = np.mgrid[:height, :width]
    pixels = np.stack([x * 255 / max(width - 1, 1), y * 255 / max(height - 1, 1), (x // 5 + y // 3) % 2 * 255.0], axis=-1)
    pixels[: height // 3] += random.normal(0, 60, pixels[: height // 3].shape)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


@pytest.mark.parametrize("isa", ["", "generic"])
@pytest.mark.parametrize("filter_name", FILTERS)
def test_resize_has_pillows_bits(tmp_path, filter_name, isa):
    for width, height in [(176, 176), (61, 43), (1, 1), (2, 300), (300, 2), (5, 7)]:
        source = picture(width, height)
        source.save(tmp_path / "a.png")
        for size in [(96, 96), (172, 172), (1, 1), (3, 200), (width, 17), (17, height), (width, height), (7, 6)]:
            expected = np.asarray(source.resize(size, FILTERS[filter_name]))
            found = ours(tmp_path / "a.png", f"resize:{size[0]}:{size[1]}:{filter_name}", env={"DEEPVORO_ISA": isa})
            np.testing.assert_array_equal(found, expected, err_msg=f"{width} x {height} to {size}")


@pytest.mark.parametrize("options", [{}, {"quality": 95, "subsampling": 0}, {"subsampling": 1}, {"progressive": True},
                                     {"quality": 5}, {"optimize": True}, {"restart_marker_blocks": 3}], ids=str)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_jpeg_has_pillows_bits(tmp_path, mode, options):
    for size in [(176, 176), (33, 17), (1, 1), (250, 3)]:
        picture(*size).convert(mode).save(tmp_path / "a.jpg", **options)
        np.testing.assert_array_equal(ours(tmp_path / "a.jpg"), pillows(tmp_path / "a.jpg"))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "RGB", "RGBA", "P"])
def test_png_has_pillows_bits(tmp_path, mode):
    for size in [(40, 30), (33, 17), (1, 1)]:
        source = picture(*size).convert(mode)
        if mode in ("LA", "RGBA"):
            source.putalpha(picture(*size, seed=1).convert("L"))
        source.save(tmp_path / "a.png")
        np.testing.assert_array_equal(ours(tmp_path / "a.png"), pillows(tmp_path / "a.png"))


def test_png_palettes_of_few_bits_and_transparency(tmp_path):
    for colors, bits in [(2, 1), (4, 2), (16, 4), (256, 8)]:
        source = picture(37, 21).quantize(colors)
        source.save(tmp_path / "a.png", bits=bits, transparency=1)
        np.testing.assert_array_equal(ours(tmp_path / "a.png"), pillows(tmp_path / "a.png").convert("RGB"))


def png_file(header, rows, interlaced=False):
    """A PNG that Pillow does not write: its header and the bytes of its rows, each with its filter."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header + bytes([0, 0, int(interlaced)])) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


def test_png_of_16_bits_keeps_the_upper_8(tmp_path):
    values = np.random.RandomState(0).randint(0, 65536, (6, 5, 3))
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    (tmp_path / "a.png").write_bytes(png_file(struct.pack(">IIBB", 5, 6, 16, 2), rows))
    np.testing.assert_array_equal(ours(tmp_path / "a.png"), values >> 8)


def test_interlaced_png(tmp_path):
    values = np.asarray(picture(21, 13))
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = b"".join(b"\0" + row.tobytes() for y, x, down, right in passes for row in values[y::down, x::right])
    (tmp_path / "a.png").write_bytes(png_file(struct.pack(">IIBB", 21, 13, 8, 2), rows, interlaced=True))
    np.testing.assert_array_equal(ours(tmp_path / "a.png"), values)
    np.testing.assert_array_equal(pillows(tmp_path / "a.png"), values)


@pytest.mark.parametrize("ending", ["jpg", "png"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation(tmp_path, ending, orientation):
    file = tmp_path / f"a.{ending}"
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    source = picture(40, 24)
    source.save(file, exif=exif.tobytes() if ending == "jpg" else exif)
    expected = np.asarray(pillows(file))
    assert expected.shape == ((24, 40, 3) if orientation < 5 else (40, 24, 3))
    np.testing.assert_array_equal(ours(file), expected)


def test_rotation_is_counterclockwise_like_pillows(tmp_path):
    source = picture(30, 20)
    source.save(tmp_path / "a.png")
    for turns in range(4):
        np.testing.assert_array_equal(ours(tmp_path / "a.png", f"rotate:{turns}"), source.rotate(90 * turns, expand=True))
    np.testing.assert_array_equal(ours(tmp_path / "a.png", "flip"), source.transpose(Image.FLIP_LEFT_RIGHT))


def pillow_view(source, size, rotation, flip, rule):
    side, seen = (int(1.15 * size), size) if rule == "release" else (size, 84)
    margin = int(round((side - seen) / 2.0))  # torchvision's CenterCrop
    upright = source.resize((side, side), Image.BILINEAR).crop((margin, margin, margin + seen, margin + seen))
    turned = upright.rotate(rotation)
    return turned.transpose(Image.FLIP_LEFT_RIGHT) if flip else turned


@pytest.mark.parametrize("rule, sizes", [("release", (84, 90, 100, 110, 120, 130, 140, 150)),
                                         ("paper", (84, 94, 104, 114, 124, 134, 144, 154))])
def test_views_are_those_of_pillow(tmp_path, rule, sizes):
    source = picture(176, 140)
    source.save(tmp_path / "a.png")
    for size in sizes:
        for rotation, flip in [(0, 0), (90, 0), (90, 1), (180, 0), (270, 1)]:
            found = ours(tmp_path / "a.png", f"view:s{size}_r{rotation}_f{flip}:{rule}")
            np.testing.assert_array_equal(found, pillow_view(source, size, rotation, flip, rule), err_msg=f"{size} {rotation} {flip}")


def write_broken(folder):
    """Broken pictures by name, with what each must be called."""
    folder.mkdir(parents=True)
    jpeg = io.BytesIO()
    picture(64, 64).save(jpeg, "JPEG")
    jpeg = jpeg.getvalue()
    frame = jpeg.index(b"\xff\xc0")
    files = {
        "truncated.jpg": (jpeg[: len(jpeg) // 2], "truncated"),
        "zero_bytes.jpg": (b"", "is empty"),
        "text.jpg": (b"This is not a picture.\n", "neither a JPEG nor a PNG"),
        "huge.jpg": (jpeg[: frame + 5] + struct.pack(">HH", 30000, 30000) + jpeg[frame + 9:], "30000 x 30000"),
        "huge.png": (png_file(struct.pack(">IIBB", 30000, 30000, 8, 2), b""), "30000 x 30000"),
    }
    for name, (data, _) in files.items():
        (folder / name).write_bytes(data)
    picture(8, 8).convert("CMYK").save(folder / "cmyk.jpg")
    picture(8, 8).save(folder / "gif.gif")
    return {**{name: what for name, (_, what) in files.items()}, "cmyk.jpg": "CMYK", "gif.gif": "neither a JPEG nor a PNG"}


def test_broken_pictures_are_reported_by_name(tmp_path):
    for name, what in write_broken(tmp_path / "broken").items():
        process = run(tmp_path / "broken" / name)
        assert process.returncode == 3
        text = process.stderr.decode()
        assert name in text and what in text and text.count("\n") == 1, text


def test_broken_pictures_are_skipped_and_listed(tmp_path):
    expected = write_broken(tmp_path / "birds/broken")
    (tmp_path / "birds/good").mkdir()
    picture(9, 9).save(tmp_path / "birds/good/a.png")
    stopped = run("--list", tmp_path / "birds")
    assert stopped.returncode == 3 and b"broken/cmyk.jpg" in stopped.stderr
    went_on = run("--list", tmp_path / "birds", "--skip-bad")
    assert went_on.returncode == 0
    assert b"good/a.png" in went_on.stdout
    reasons = went_on.stderr.decode().splitlines()
    assert len(reasons) == len(expected)
    for name, what in expected.items():
        assert any(f"broken/{name}: " in reason and what in reason for reason in reasons), reasons


def listed(collection, env=None):
    process = run("--list", collection, env=env)
    assert process.returncode == 0, process.stderr
    *rows, (_, sha256) = [line.split("\t") for line in process.stdout.decode().splitlines()]
    return rows, sha256


@pytest.fixture
def tree(tmp_path):
    long_name = "b" * 60 + "/" + "c" * 60
    for i, name in enumerate(["owl/z", f"owl/{long_name}", "robin/a", "robin/Ü"]):
        file = tmp_path / f"birds/{name}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        picture(4 + i, 5).save(file)
    return tmp_path / "birds"


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_is_read_like_its_folder(tree, tmp_path, tar_format):
    with tarfile.open(tmp_path / "birds.tar", "w", format=tar_format) as archive:
        archive.add(tree, "top/birds")
    rows, sha256 = listed(tree)
    assert [row[:2] for row in rows] == [["0", "owl"]] * 2 + [["1", "robin"]] * 2
    assert listed(tmp_path / "birds.tar") == (rows, sha256)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("ending", ["tar.gz", "tar.bz2", "tar.xz", "zip", "stored.zip"])
def test_an_archive_is_read_like_its_folder(tree, tmp_path, ending, locale):
    (tree / "robin/notes.txt").write_text("no picture")
    (tree / "robin/._a.png").write_text("of a Mac")
    file = tmp_path / f"birds.{ending}"
    if ending.startswith("tar"):
        with tarfile.open(file, f"w:{ending[4:]}") as archive:
            archive.add(tree, "top/birds")
    else:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED if "stored" in ending else zipfile.ZIP_DEFLATED) as archive:
            for path in tree.rglob("*"):
                archive.write(path, path.relative_to(tree.parent))
    assert listed(file, env={"LC_ALL": locale}) == listed(tree)
    whole = file.read_bytes()
    for length in (20, len(whole) // 2, len(whole) - 30):
        file.write_bytes(whole[:length])
        process = run("--list", file)
        assert process.returncode != 0 and process.stderr.decode().count("\n") == 1 and file.name in process.stderr.decode()


@pytest.mark.parametrize("path", ["/owl/a.png", "../owl/a.png", "owl/../../a.png"])
def test_archives_do_not_lead_outside(tmp_path, path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(path, "a picture")
    process = run("--list", tmp_path / "a.zip")
    assert process.returncode != 0 and b"outside of its own folder" in process.stderr


def test_a_locked_zip_is_refused(tree, tmp_path):
    """As made by zip -e: a flag says that the content is encrypted."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tree / "owl/z.png", "owl/z.png")
    content = bytearray((tmp_path / "a.zip").read_bytes())
    for signature, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + flags] |= 1
    (tmp_path / "a.zip").write_bytes(content)
    process = run("--list", tmp_path / "a.zip")
    assert process.returncode != 0 and b"a.zip" in process.stderr


def test_the_hash_is_that_of_sha256sum(tree):
    command = "find -name '*.png' -printf '%P\\0' | xargs -0 sha256sum | LC_ALL=C sort -k2 | sha256sum"
    expected = subprocess.run(["sh", "-c", command], cwd=tree, capture_output=True, check=True, text=True).stdout.split()[0]
    assert listed(tree)[1] == expected


def test_json_csv_and_folder_hold_the_same(tree, tmp_path):
    names = sorted(str(file.relative_to(tree)) for file in tree.rglob("*.png"))
    (tmp_path / "base.json").write_text(json.dumps({
        "label_names": ["owl", "robin"], "image_names": [str(tree / name) for name in names],
        "image_labels": [int(name.startswith("robin")) for name in names]}))
    (tree / "split.csv").write_text("filename,label\n" + "".join(f"{name},{name.split('/')[0]}\n" for name in names))
    expected = [[label, class_name, *size] for label, class_name, _, *size in listed(tree)[0]]
    for collection in (tmp_path / "base.json", tree / "split.csv"):
        assert [[label, class_name, *size] for label, class_name, _, *size in listed(collection)[0]] == expected


def test_cub_is_read_whole():
    archive = SHARED / "data/cub/val.tar"
    if not archive.exists():
        pytest.skip(f"{archive} is not there")
    rows, _ = listed(archive)
    assert len(rows) == 2950
    assert len({row[1] for row in rows}) == 50
    assert {tuple(row[3:]) for row in rows} == {("176", "176")}
