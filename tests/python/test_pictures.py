"""Pictures against Pillow, which reads and resizes with code of its own."""

import io
import json
import os
import shutil
import struct
import subprocess
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter, ImageOps

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
    """The first frame, upright, on white."""
    upright = ImageOps.exif_transpose(Image.open(picture))
    if upright.mode in ("LA", "PA", "RGBA") or "transparency" in upright.info:
        upright = upright.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright).convert("RGB")
    return upright.convert("RGB")


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


def assert_within(found, expected, levels):
    """Levels of 255: sums are rounded otherwise, or, of lossy formats, another transform is used."""
    assert np.abs(found.astype(int) - np.asarray(expected).astype(int)).max() <= levels


@pytest.mark.parametrize("mode", ["1", "L", "LA", "RGB", "RGBA", "P"])
def test_png_has_pillows_bits(tmp_path, mode):
    for size in [(40, 30), (33, 17), (1, 1)]:
        source = picture(*size).convert(mode)
        if mode in ("LA", "RGBA"):
            source.putalpha(picture(*size, seed=1).convert("L"))
        source.save(tmp_path / "a.png")
        assert_within(ours(tmp_path / "a.png"), pillows(tmp_path / "a.png"), 1 if mode in ("LA", "RGBA") else 0)


def test_png_palettes_of_few_bits_and_transparency(tmp_path):
    for colors, bits in [(2, 1), (4, 2), (16, 4), (256, 8)]:
        source = picture(37, 21).quantize(colors)
        source.save(tmp_path / "a.png", bits=bits, transparency=1)
        np.testing.assert_array_equal(ours(tmp_path / "a.png"), pillows(tmp_path / "a.png"))


@pytest.mark.parametrize("options", [{}, {"quality": 95, "subsampling": 0}, {"progressive": True}], ids=str)
def test_jpeg_in_cmyk_is_as_pillow_shows_it(tmp_path, options):
    for size in [(176, 176), (33, 17)]:
        picture(*size).convert("CMYK").save(tmp_path / "a.jpg", **options)
        assert_within(ours(tmp_path / "a.jpg"), pillows(tmp_path / "a.jpg"), 1)


@pytest.mark.parametrize("options", [{"lossless": True}, {"quality": 80}, {"quality": 20, "method": 6}], ids=str)
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_webp_has_pillows_bits(tmp_path, mode, options):
    for size in [(176, 176), (33, 17), (1, 1)]:
        source = picture(*size).convert(mode)
        if mode == "RGBA":
            source.putalpha(picture(*size, seed=1).convert("L"))
        source.save(tmp_path / "a.webp", **options)
        assert_within(ours(tmp_path / "a.webp"), pillows(tmp_path / "a.webp"), 1 if mode == "RGBA" else 0)


@pytest.mark.parametrize("ending", ["gif", "webp", "tiff"])
def test_of_several_frames_the_first_is_seen(tmp_path, ending):
    frames = [picture(31, 23, seed).quantize(64).convert("RGB") for seed in range(3)]
    lossless = {"lossless": True} if ending == "webp" else {}
    frames[0].save(tmp_path / f"a.{ending}", save_all=True, append_images=frames[1:], **lossless)
    np.testing.assert_array_equal(ours(tmp_path / f"a.{ending}"), pillows(tmp_path / f"a.{ending}"))
    assert np.abs(ours(tmp_path / f"a.{ending}").astype(int) - np.asarray(frames[1])).mean() > 5


@pytest.mark.parametrize("options", [{}, {"interlace": 0}, {"transparency": 1}], ids=str)
@pytest.mark.parametrize("mode", ["1", "L", "P"])
def test_gif_has_pillows_bits(tmp_path, mode, options):
    for size in [(176, 175), (33, 17), (1, 1)]:
        picture(*size).convert(mode).save(tmp_path / "a.gif", **options)
        np.testing.assert_array_equal(ours(tmp_path / "a.gif"), pillows(tmp_path / "a.gif"))


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "packbits", "tiff_deflate"])
@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA"])
def test_tiff_has_pillows_bits(tmp_path, mode, compression):
    for size in [(176, 175), (33, 17), (1, 1)]:
        source = picture(*size).convert(mode)
        if mode == "RGBA":
            source.putalpha(picture(*size, seed=1).convert("L"))
        source.save(tmp_path / "a.tif", compression=compression)
        assert_within(ours(tmp_path / "a.tif"), pillows(tmp_path / "a.tif"), 2 if mode == "RGBA" else 0)


def test_tiff_holding_jpeg(tmp_path):
    picture(176, 176).save(tmp_path / "a.tif", compression="jpeg", quality=90)
    assert_within(ours(tmp_path / "a.tif"), pillows(tmp_path / "a.tif"), 3)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA"])
def test_bmp_has_pillows_bits(tmp_path, mode):
    for size in [(176, 175), (33, 17), (1, 1), (5, 4)]:
        source = picture(*size).convert(mode)
        if mode == "RGBA":
            source.putalpha(picture(*size, seed=1).convert("L"))
        source.save(tmp_path / "a.bmp")
        assert_within(ours(tmp_path / "a.bmp"), pillows(tmp_path / "a.bmp"), 1 if mode == "RGBA" else 0)


def bmp_of(rows, bits, height, masks=(), colors=b"", header=40):
    """A BMP that Pillow does not write: from the top, of 16 bits, with masks, of four bits per pixel."""
    width = rows.shape[1] * 8 // bits
    padded = b"".join(row.tobytes() + bytes(-len(row.tobytes()) % 4) for row in rows)
    after = struct.pack(f"<{len(masks)}I", *masks) + colors
    begin = 14 + header + len(after)
    if header == 12:
        about = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        about = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, 3 if masks else 0, 0, 0, 0, len(colors) // 4, 0)
    return b"BM" + struct.pack("<IHHI", begin + len(padded), 0, 0, begin) + about + after + padded


def test_rarer_kinds_of_bmp(tmp_path):
    random = np.random.RandomState(0)
    words = random.randint(0, 65536, (6, 5)).astype("<u2")
    indexes = random.randint(0, 256, (6, 8)).astype(np.uint8)
    colors = random.randint(0, 256, (16, 4)).astype(np.uint8)
    files = {
        "16 bits": bmp_of(words.view(np.uint8), 16, 6),
        "16 bits from the top": bmp_of(words.view(np.uint8), 16, -6),
        "16 bits with masks": bmp_of(words.view(np.uint8), 16, 6, (0xF800, 0x07E0, 0x001F)),
        "four bits": bmp_of(indexes, 4, 6, colors=colors.tobytes()),
        "one bit": bmp_of(indexes, 1, 6, colors=colors[:2].tobytes()),
        "of OS/2": bmp_of(indexes, 4, 6, colors=colors[:, :3].tobytes(), header=12),
    }
    for kind, file in files.items():
        (tmp_path / "a.bmp").write_bytes(file)
        np.testing.assert_array_equal(ours(tmp_path / "a.bmp"), pillows(tmp_path / "a.bmp"), err_msg=kind)


@pytest.mark.parametrize("ending", ["heic", "avif"])
@pytest.mark.skipif(shutil.which("heif-enc") is None, reason="heif-enc of libheif-examples is not installed")
def test_heif_shows_the_picture(tmp_path, ending):
    for size in [(176, 176), (64, 48)]:
        source = picture(*size).filter(ImageFilter.GaussianBlur(3))
        source.save(tmp_path / "a.png")
        encoder = ["heif-enc", "-q", "95", tmp_path / "a.png", "-o", tmp_path / f"a.{ending}"]
        subprocess.run([*encoder, *(["-A"] if ending == "avif" else [])], check=True, capture_output=True)
        found = ours(tmp_path / f"a.{ending}").astype(int)
        assert np.abs(found - np.asarray(source)).mean() < 4  # colours are halved in size


@pytest.mark.parametrize("ending", ["gif", "webp", "tif", "bmp", "heic"])
def test_damage_of_every_kind_is_one_line(tmp_path, ending):
    if ending == "heic":
        if shutil.which("heif-enc") is None:
            pytest.skip("heif-enc of libheif-examples is not installed")
        picture(64, 48).save(tmp_path / "a.png")
        subprocess.run(["heif-enc", tmp_path / "a.png", "-o", tmp_path / "a.heic"], check=True, capture_output=True)
    else:
        picture(64, 48).save(tmp_path / f"a.{ending}")
    whole = (tmp_path / f"a.{ending}").read_bytes()
    damaged = tmp_path / f"damaged.{ending}"
    random = np.random.RandomState(0)
    refused = 0
    for length in sorted({*range(13, len(whole), max(1, len(whole) // 12)), len(whole) // 2}):
        damaged.write_bytes(whole[:length])
        refused += ends_well(run(damaged), damaged)
    assert refused >= 10
    for _ in range(40):
        changed = bytearray(whole)
        for place in random.randint(4, len(whole), 3):
            changed[place] = random.randint(256)
        damaged.write_bytes(bytes(changed))
        ends_well(run(damaged), damaged)


def ends_well(process, file):
    """Decoded, or refused by one line with its name; says whether it was refused."""
    assert process.returncode in (0, 3), process
    text = process.stderr.decode()
    assert text == "" if process.returncode == 0 else file.name in text and text.count("\n") == 1, text
    return process.returncode == 3


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


@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "tif"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation(tmp_path, ending, orientation):
    file = tmp_path / f"a.{ending}"
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    source = picture(40, 24)
    source.save(file, exif=exif.tobytes() if ending in ("jpg", "webp") else exif, **({"lossless": True} if ending == "webp" else {}))
    if ending != "jpg":  # Pillow does not turn all of these, but that of a PNG
        source.save(tmp_path / "expected.png", exif=exif)
    expected = np.asarray(pillows(file if ending == "jpg" else tmp_path / "expected.png"))
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
        "drawing.ppm": (b"P6 1 1 255 abc", "is not a picture of a known kind"),
        "text.jpg": (b"This is not a picture.\n", "is not a picture of a known kind"),
        "huge.jpg": (jpeg[: frame + 5] + struct.pack(">HH", 30000, 30000) + jpeg[frame + 9:], "30000 x 30000"),
        "huge.png": (png_file(struct.pack(">IIBB", 30000, 30000, 8, 2), b""), "30000 x 30000"),
    }
    for name, (data, _) in files.items():
        (folder / name).write_bytes(data)
    return {name: what for name, (_, what) in files.items()}


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
    assert stopped.returncode == 3 and b"broken/drawing.ppm" in stopped.stderr
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
