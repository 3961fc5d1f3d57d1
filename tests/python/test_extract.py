"""deepvoro extract: pictures to a feature store."""
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch", reason="apt-get install python3-torch")
import models  # noqa: E402
import safetensors  # noqa: E402
import torch_networks  # noqa: E402
from conftest import PROGRAM  # noqa: E402
from test_pictures import write_broken  # noqa: E402

LIBRARIES = PROGRAM.resolve().parents[1] / "lib"
needs_libtorch = pytest.mark.skipif(not (LIBRARIES / "libdeepvoro_backbone.so").is_file(), reason="built without LibTorch")
torch.set_num_threads(1)

WIDTHS = (8, 8, 8, 16)
HALF_PRECISION = 1e-3
SPLITS = {"base": ("ant", "bee"), "val": ("cat", "dog"), "novel": ("elk", "fox", "gnu")}
PICTURES_PER_CLASS = 5


def write_pictures(folder, classes, seed):
    random = np.random.RandomState(seed)
    for name in classes:
        (folder / name).mkdir(parents=True)
        for i in range(PICTURES_PER_CLASS):
            pixels = random.randint(0, 256, (40 + i, 50, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    for seed, (split, classes) in enumerate(SPLITS.items()):
        write_pictures(folder / split, classes, seed)
    return folder


def make_model(path, seed):
    torch.manual_seed(seed)
    network = torch_networks.with_random_statistics(torch_networks.network("conv4", widths=WIDTHS), seed)
    models.write_model(path, network, name="conv4", widths=WIDTHS, input_size=32)
    return path, network


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("model") / "model.safetensors", seed=1)


@pytest.fixture
def extract(deepvoro, pictures, model, tmp_path):
    def run(*flags, images=pictures, model_file=model[0], out=tmp_path / "store", views="s32_r0_f0,s40_r90_f1"):
        return deepvoro("extract", images, "--model", model_file, "--views", views, "--out", out, *flags)

    return run


def files_of(store):
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


def seen_by_pillow(path, size, rotation, flip):
    side = int(1.15 * size)
    image = Image.open(path).convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    margin = int(round((side - size) / 2.0))
    image = image.crop((margin, margin, margin + size, margin + size)).rotate(rotation)
    return np.asarray(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flip else image)


def expected_features(network, folder, size, rotation, flip):
    files = [folder / name / f"{i}.png" for name in sorted(os.listdir(folder)) for i in range(PICTURES_PER_CLASS)]
    pixels = np.stack([seen_by_pillow(file, size, rotation, flip) for file in files])
    scaled = (pixels / 255.0 - models.MEAN) / models.DEVIATION
    with torch.no_grad():
        return network(torch.tensor(scaled.transpose(0, 3, 1, 2), dtype=torch.float32)).numpy()


def test_store_holds_the_features_of_every_split_and_view(extract, deepvoro, pictures, model, tmp_path):
    process = extract()
    assert process.returncode == 0, process.stderr
    pictures_of_all = PICTURES_PER_CLASS * sum(map(len, SPLITS.values()))
    assert f"2 views of 16 dimensions added, {pictures_of_all} pictures in 2 views in " in process.stdout
    assert "pictures/s per view" in process.stdout
    store = json.loads((tmp_path / "store/store.json").read_text())
    assert store["views"] == ["s32_r0_f0", "s40_r90_f1"]
    for split, classes in SPLITS.items():
        assert store["splits"][split]["classes"] == list(classes)
        labels = np.load(tmp_path / "store" / split / "labels.npy")
        np.testing.assert_array_equal(labels, np.repeat(np.arange(len(classes)), PICTURES_PER_CLASS))
        for view, (size, rotation, flip) in {"s32_r0_f0": (32, 0, 0), "s40_r90_f1": (40, 90, 1)}.items():
            features = np.load(tmp_path / "store" / split / f"{view}.npy")
            assert features.dtype == np.float16
            expected = expected_features(model[1], pictures / split, size, rotation, flip)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(features, expected, rtol=HALF_PRECISION, atol=HALF_PRECISION * scale)
    assert deepvoro("store", "check", tmp_path / "store").returncode == 0


def test_a_model_goes_by_its_name_and_says_what_it_is(deepvoro, pictures, model, tmp_path):
    tensors, metadata = safetensors.read(model[0])
    about = {"licence": "CC0-1.0", "source": "a test", "trained_on": "noise"}
    metadata["deepvoro"] = json.dumps({**json.loads(metadata["deepvoro"]), **about})
    (tmp_path / "backbones").mkdir()
    safetensors.write(tmp_path / "backbones/mine.safetensors", tensors, metadata)
    flags = ["--views", "s32_r0_f0", "--out", tmp_path / "store"]
    process = deepvoro("extract", pictures, "--model", "mine", *flags, env={"DEEPVORO_DATA": str(tmp_path)})
    assert process.returncode == 0, process.stderr
    store = json.loads((tmp_path / "store/store.json").read_text())
    assert store["provenance"]["backbone"] == {"name": "mine", **about}
    # Under another name it is the same model.
    (tmp_path / "backbones/mine.safetensors").rename(tmp_path / "other.safetensors")
    process = deepvoro("extract", pictures, "--model", tmp_path / "other.safetensors", *flags)
    assert process.returncode == 0 and "already existed" in process.stderr


def test_features_say_what_stands_beside_their_model(extract, model, tmp_path):
    file = tmp_path / "mine.safetensors"
    shutil.copy(model[0], file)
    file.with_suffix(".about.json").write_text(json.dumps({"licence": "free", "trained_on": "owls"}))
    assert extract(model_file=file).returncode == 0
    said = json.loads((tmp_path / "store/store.json").read_text())["provenance"]["backbone"]
    assert (said["licence"], said["trained_on"]) == ("free", "owls")


def test_unknown_names_of_models_are_told(extract):
    process = extract(model_file="no-such-model")
    assert process.returncode == 3
    assert "'no-such-model'" in process.stderr and "deepvoro backbone list" in process.stderr


def test_batch_size_changes_rounding_at_most(extract, tmp_path):
    for batch in (1, 4, 64):
        process = extract("--batch", batch, out=tmp_path / str(batch))
        assert process.returncode == 0, process.stderr
    whole = np.load(tmp_path / "64/novel/s32_r0_f0.npy").astype(np.float64)
    for batch in (1, 4):
        features = np.load(tmp_path / str(batch) / "novel/s32_r0_f0.npy").astype(np.float64)
        # One unit in the last place of float16, where the 1e-5 of float32 crosses a rounding border.
        np.testing.assert_allclose(features, whole, rtol=2**-10, atol=1e-6)


def test_further_views_are_added_and_earlier_ones_left_alone(extract, tmp_path):
    assert extract(views="s32_r0_f0", out=tmp_path / "grown").returncode == 0
    before = (tmp_path / "grown/novel/s32_r0_f0.npy").stat().st_mtime_ns
    process = extract(out=tmp_path / "grown")
    assert process.returncode == 0
    assert "1 of 2 views already existed" in process.stderr
    assert (tmp_path / "grown/novel/s32_r0_f0.npy").stat().st_mtime_ns == before
    assert extract(out=tmp_path / "whole").returncode == 0
    assert files_of(tmp_path / "grown") == files_of(tmp_path / "whole")


MANY_VIEWS = ",".join(f"s{size}_r{turn}_f{flip}" for size in (200, 300) for turn in (0, 90) for flip in (0, 1))


@pytest.fixture(scope="module")
def undisturbed(deepvoro, pictures, model, tmp_path_factory):
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    process = deepvoro("extract", pictures, "--model", model[0], "--views", MANY_VIEWS, "--out", store)
    assert process.returncode == 0, process.stderr
    return store


@pytest.mark.parametrize(("kind", "ending"), [("tar", "tar"), ("gztar", "tar.gz"), ("zip", "zip")])
def test_archives_give_the_bytes_of_their_folders_and_go_on(extract, pictures, tmp_path, kind, ending):
    (tmp_path / "archives").mkdir()
    for split in SPLITS:
        shutil.make_archive(tmp_path / "archives" / split, kind, pictures / split)
        assert (tmp_path / f"archives/{split}.{ending}").is_file()
    assert extract(out=tmp_path / "of-folders").returncode == 0
    assert extract(images=tmp_path / "archives", views="s32_r0_f0").returncode == 0
    # The same pictures are the same collection, wherever they lie.
    process = extract(images=tmp_path / "archives")
    assert process.returncode == 0 and "1 of 2 views already existed" in process.stderr
    assert files_of(tmp_path / "store") == files_of(tmp_path / "of-folders")


# A file that is there when the kill comes: in the middle of the first view, of the second, and after a whole one.
@pytest.mark.parametrize("sign", ["base/s200_r0_f0.npy", "base/s200_r0_f1.npy", "store.json"])
def test_killed_run_leaves_whole_views_and_goes_on(program, deepvoro, extract, pictures, model, undisturbed, tmp_path, sign):
    store = tmp_path / "killed"
    command = [program, "extract", pictures, "--model", model[0], "--views", MANY_VIEWS, "--out", store]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (store / sign).is_file() and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if (store / "store.json").is_file():
        check = deepvoro("store", "check", store)
        assert check.returncode == 0, check.stderr
    assert extract(views=MANY_VIEWS, out=store).returncode == 0
    finished = {name: data for name, data in files_of(store).items() if not name.endswith(".part")}
    assert finished == files_of(undisturbed)


def test_models_sizes_and_pictures_do_not_mix(extract, pictures, tmp_path):
    assert extract().returncode == 0
    other, _ = make_model(tmp_path / "other.safetensors", seed=2)
    changed = tmp_path / "changed"
    shutil.copytree(pictures, changed)
    (changed / "novel/elk/0.png").write_bytes((changed / "novel/elk/1.png").read_bytes())
    before = files_of(tmp_path / "store")
    for process, reason in [
        (extract(model_file=other), "another model"),
        (extract("--size-rule", "paper", views="s94_r0_f0"), "another size rule"),
        (extract(images=changed), "other pictures"),
        (extract("--split", "novel"), "other pictures"),
    ]:
        assert process.returncode == 3, process.stderr
        assert reason in process.stderr and "--out" in process.stderr
    assert files_of(tmp_path / "store") == before


def test_pictures_beside_splits_are_not_ignored(extract, pictures, tmp_path):
    beside = tmp_path / "beside"
    shutil.copytree(pictures / "novel", beside / "novel")
    shutil.copytree(pictures / "val", beside / "more")
    (beside / "notes").mkdir()
    (beside / "notes/read.txt").write_text("no pictures")
    process = extract(images=beside)
    assert process.returncode == 3 and len(process.stderr.splitlines()) == 1
    assert "beside: holds both splits (novel) and pictures of none (more)" in process.stderr
    assert not (tmp_path / "store").exists()
    assert extract("--split", "novel", images=beside).returncode == 0
    shutil.rmtree(beside / "more")
    for name in ("novel", "shard-1"):
        with tarfile.open(beside / f"{name}.tar", "w") as archive:
            archive.add(pictures / "val", name)
    process = extract(images=beside)
    assert process.returncode == 3 and "pictures of none (shard-1.tar)" in process.stderr
    (beside / "shard-1.tar").unlink()
    assert extract(images=beside).returncode == 0  # with what has no pictures beside


@pytest.mark.parametrize("provenance", [None, {}, [], "by hand"])
def test_a_store_of_unknown_origin_is_not_added_to(extract, tmp_path, provenance):
    assert extract(views="s32_r0_f0").returncode == 0
    description = tmp_path / "store/store.json"
    description.write_text(json.dumps({**json.loads(description.read_text()), "provenance": provenance}))
    before = files_of(tmp_path / "store")
    process = extract()
    assert process.returncode == 3, process.stderr
    assert "made from" in process.stderr and "--out" in process.stderr
    assert files_of(tmp_path / "store") == before


def test_one_collection_is_one_split(extract, pictures, tmp_path):
    for flags, split in [((), "novel"), (("--split", "val"), "val")]:
        out = tmp_path / split
        assert extract(*flags, images=pictures / "base", out=out).returncode == 0
        assert list(json.loads((out / "store.json").read_text())["splits"]) == [split]


def test_bad_pictures_are_named_or_skipped(extract, pictures, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(pictures, damaged)
    (damaged / "novel/fox/2.png").write_bytes(b"no picture")
    data = (damaged / "base/ant/1.png").read_bytes()
    (damaged / "base/ant/1.png").write_bytes(data[: len(data) // 2])
    process = extract(images=damaged)
    assert process.returncode == 3
    assert "1.png" in process.stderr or "2.png" in process.stderr
    process = extract("--skip-bad", images=damaged, views="s32_r0_f0", out=tmp_path / "skipped")
    assert process.returncode == 0, process.stderr
    assert "ant/1.png" in process.stderr and "fox/2.png" in process.stderr
    assert "2 pictures skipped" in process.stdout
    # The second view leaves out the same ones.
    assert extract(images=damaged, out=tmp_path / "skipped").returncode == 0
    for view in ("s32_r0_f0", "s40_r90_f1"):
        assert len(np.load(tmp_path / f"skipped/novel/{view}.npy")) == 3 * PICTURES_PER_CLASS - 1
    labels = np.load(tmp_path / "skipped/novel/labels.npy")
    np.testing.assert_array_equal(np.bincount(labels), [PICTURES_PER_CLASS, PICTURES_PER_CLASS - 1, PICTURES_PER_CLASS])


def with_broken_pictures(pictures, folder):
    shutil.copytree(pictures / "novel", folder)
    broken = write_broken(folder / "fox/broken")
    return {f"fox/broken/{name}": what for name, what in broken.items()}


def test_every_broken_picture_ends_a_run_without_a_store(extract, pictures, tmp_path):
    damaged = tmp_path / "damaged"
    for name, what in with_broken_pictures(pictures, damaged).items():
        alone = tmp_path / "alone"
        shutil.copytree(pictures / "novel", alone)
        (alone / name).parent.mkdir()
        shutil.copy(damaged / name, alone / name)
        process = extract(images=alone)
        assert process.returncode == 3
        assert name in process.stderr and what in process.stderr and process.stderr.count("\n") == 1, process.stderr
        assert files_of(tmp_path / "store") == {}
        shutil.rmtree(alone)
    # The folder that is left does not stand in the way.
    assert extract(images=pictures / "novel").returncode == 0


def test_every_broken_picture_is_skipped_and_named(extract, pictures, tmp_path):
    damaged = tmp_path / "damaged"
    broken = with_broken_pictures(pictures, damaged)
    process = extract("--skip-bad", images=damaged)
    assert process.returncode == 0, process.stderr
    assert f"{len(broken)} pictures skipped" in process.stdout
    skipped = [line for line in process.stderr.splitlines() if line.startswith("skipped")]
    assert len(skipped) == len(broken)
    for name, what in broken.items():
        assert any(name in line and what in line for line in skipped), skipped
    assert extract(images=pictures / "novel", out=tmp_path / "clean").returncode == 0
    for view in ("s32_r0_f0", "s40_r90_f1"):
        features = [(tmp_path / store / "novel" / f"{view}.npy").read_bytes() for store in ("store", "clean")]
        assert features[0] == features[1]


def test_numbers_of_views_follow_the_size_the_model_was_trained_on(extract, tmp_path):
    assert extract(views="8").returncode == 0
    views = json.loads((tmp_path / "store/store.json").read_text())["views"]
    assert views == [f"s32_r{turn}_f{flip}" for turn in (0, 90, 180, 270) for flip in (0, 1)]


class Mean(torch.nn.Module):
    def forward(self, x):
        return x.mean(dim=(2, 3))


class Enlarged(torch.nn.Module):
    def forward(self, x):
        return 1e5 * torch.relu(x.mean(dim=(2, 3)))


@needs_libtorch
def test_the_picture_whose_features_are_too_large_is_named(extract, tmp_path):
    for i, level in enumerate([20, 30, 40, 250, 50]):
        (tmp_path / "pictures/any").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (30, 30), (level,) * 3).save(tmp_path / f"pictures/any/{i}.png")
    torch.jit.script(Enlarged()).save(str(tmp_path / "enlarged.ts"))
    flags = ("--size", 30, "--batch", 2)
    process = extract(*flags, images=tmp_path / "pictures", model_file=tmp_path / "enlarged.ts", views="1")
    assert process.returncode == 3
    assert "any/3.png: the network outputs" in process.stderr and "float16" in process.stderr


@needs_libtorch
def test_torchscript_module_is_a_backbone(extract, tmp_path):
    torch.jit.script(Mean()).save(str(tmp_path / "mean.ts"))
    process = extract("--size", 30, model_file=tmp_path / "mean.ts", views="1")
    assert process.returncode == 0, process.stderr
    store = json.loads((tmp_path / "store/store.json").read_text())
    assert store["dim"] == 3 and store["views"] == ["s30_r0_f0"]


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--views", "s8_r0_f0"], 2, ["s8_r0_f0", "16 pixels"]),
        (["--views", "s32"], 2, ["s32"]),
        (["--views", "s32_r0_f0,s32_r0_f0"], 2, ["twice"]),
        (["--batch", "0"], 2, ["batch"]),
        (["--threads", "0"], 2, ["--threads"]),
        (["--split", "test"], 2, ["test", "novel"]),
        pytest.param(["--device", "cuda"], 2, ["cuda"], marks=needs_libtorch),
    ],
)
def test_wrong_usage_is_told(deepvoro, pictures, model, tmp_path, flags, code, words):
    views = [] if "--views" in flags else ["--views", "s32_r0_f0"]
    process = deepvoro("extract", pictures, "--model", model[0], "--out", tmp_path / "store", *views, *flags)
    if "cuda" in flags and process.returncode == 0:
        pytest.skip("there is a CUDA device")
    assert process.returncode == code, process.stderr
    for word in words:
        assert word in process.stderr
    assert process.stderr.count("\n") == 1


def test_missing_library_is_told_where_it_is_needed(program, pictures, model, tmp_path):
    (tmp_path / "bin").mkdir()
    alone = shutil.copy(program, tmp_path / "bin/deepvoro")
    (tmp_path / "module.ts").touch()

    def extracted_with(network):
        command = [alone, "extract", pictures, "--model", network, "--views", "1", "--out", tmp_path / "store"]
        return subprocess.run(command, capture_output=True, encoding="utf-8")

    process = extracted_with(tmp_path / "module.ts")
    assert process.returncode == 3, process.stderr
    assert "libdeepvoro_backbone.so" in process.stderr and "libtorch-dev" in process.stderr
    assert process.stderr.count("\n") == 1
    assert extracted_with(model[0]).returncode == 0
