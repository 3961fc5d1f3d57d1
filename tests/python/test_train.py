"""deepvoro train, from outside."""
import csv
import json
import signal
import subprocess
import time

import numpy as np
import pytest
import safetensors
from conftest import PROGRAM
from PIL import Image

if not (PROGRAM.resolve().parents[1] / "lib/libdeepvoro_backbone.so").is_file():
    pytest.skip("built without LibTorch", allow_module_level=True)

FLAGS = ["--backbone", "conv4", "--width", "8,8,8,16", "--size", "28", "--batch", "16", "--jitter", "0", "--threads", "1"]
CHANCE_PERCENT = 20


def write_pictures(folder, classes, seed):
    """Classes differ by the direction and the width of stripes."""
    random = np.random.RandomState(seed)
    y, x = np.mgrid[:32, :32]
    for name, (angle, period) in classes.items():
        (folder / name).mkdir(parents=True)
        for i in range(24):
            wave = np.sin((x * np.cos(angle) + y * np.sin(angle)) / period + random.uniform(0, 6))
            pixels = np.clip(128 + 70 * wave[..., None] + random.normal(0, 25, (32, 32, 3)), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{i}.png")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    write_pictures(folder / "base", {f"b{i}": (0.4 * i, 1.5 + 0.3 * (i % 3)) for i in range(6)}, 1)
    write_pictures(folder / "val", {f"v{i}": (0.4 * i + 0.2, 1.6 + 0.4 * (i % 2)) for i in range(6)}, 2)
    return folder


def test_trained_network_beats_chance_on_new_classes(deepvoro, pictures, tmp_path):
    model = tmp_path / "model.safetensors"
    flags = [*FLAGS, "--procedure", "softmax", "--no-flip", "--epochs", "12", "--validate-every", "3"]
    process = deepvoro("train", pictures, *flags, "--out", model)
    assert process.returncode == 0, process.stderr
    assert "144 pictures of 6 classes" in process.stdout and "best on val" in process.stdout
    log = json.loads((tmp_path / "model.safetensors.log.json").read_text())
    assert [entry["epoch"] for entry in log] == list(range(1, 13))
    assert log[-1]["loss"] < 0.8 * log[0]["loss"]
    validated = {entry["epoch"]: entry["val_accuracy"] for entry in log if entry["val_accuracy"] is not None}
    assert list(validated) == [3, 6, 9, 12]
    assert max(validated.values()) > 2 * CHANCE_PERCENT
    with open(tmp_path / "model.safetensors.log.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == pytest.approx([entry["loss"] for entry in log], abs=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "model.safetensors", "model.safetensors.log.csv", "model.safetensors.log.json",
    ]
    _, metadata = safetensors.read(model)
    description = json.loads(metadata["deepvoro"])
    assert description["architecture"]["widths"] == [8, 8, 8, 16] and description["input_size"] == 28
    assert description["recipe"]["procedure"] == "softmax" and len(description["data_sha256"]) == 64
    assert deepvoro("extract", pictures, "--model", model, "--views", "1", "--out", tmp_path / "store").returncode == 0


def test_killed_training_goes_on_elsewhere_to_the_same_bytes(program, deepvoro, pictures, tmp_path):
    flags = [*FLAGS, "--procedure", "s2m2", "--classifier", "cosine", "--epochs", "8", "--validate-every", "4"]
    killed = tmp_path / "killed.safetensors"
    command = [program, "train", pictures, *flags, "--out", killed]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "killed.safetensors.partial").is_file() and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not killed.is_file()
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere/moved.safetensors"
    (tmp_path / "killed.safetensors.partial").rename(f"{moved}.partial")
    assert deepvoro("train", pictures, *flags, "--out", moved).returncode == 0
    whole = tmp_path / "whole.safetensors"
    assert deepvoro("train", pictures, *flags, "--out", whole).returncode == 0
    assert moved.read_bytes() == whole.read_bytes()


def test_a_model_may_have_the_longest_name_there_is(deepvoro, pictures, tmp_path):
    model = tmp_path / ("n" * 243 + ".safetensors")
    process = deepvoro("train", pictures, *FLAGS, "--procedure", "softmax", "--epochs", "1", "--out", model)
    assert process.returncode == 0, process.stderr
    logs = sorted(path.name.split(".", 1)[1] for path in tmp_path.iterdir() if path != model)
    assert model.is_file() and logs == ["log.csv", "log.json"]


def test_interrupted_training_says_how_to_go_on(program, pictures, tmp_path):
    model = tmp_path / "model.safetensors"
    command = [program, "train", pictures, *FLAGS, "--procedure", "softmax", "--epochs", "500", "--out", model]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "model.safetensors.partial").is_file() and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == -signal.SIGINT
    assert said == f"deepvoro: stopped; the same command continues from {model}.partial\n"


def test_finished_model_is_not_overwritten(deepvoro, pictures, tmp_path):
    model = tmp_path / "model.safetensors"
    model.write_text("weeks of work")
    process = deepvoro("train", pictures, *FLAGS, "--procedure", "softmax", "--out", model)
    assert process.returncode == 3 and process.stderr.count("\n") == 1
    assert "already exists" in process.stderr and "--out" in process.stderr
    assert model.read_text() == "weeks of work"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--backbone", "vgg", "--procedure", "softmax"], ["vgg", "conv4"]),
        (["--backbone", "conv4", "--procedure", "maml"], ["maml", "softmax"]),
        (["--backbone", "conv4", "--procedure", "softmax", "--size", "8"], ["--size 8", "16"]),
        (["--backbone", "resnet18", "--procedure", "softmax", "--width", "8,8,8,8"], ["resnet18", "widths"]),
        (["--backbone", "conv4", "--procedure", "softmax", "--epochs", "0"], ["--epochs"]),
    ],
)
def test_wrong_usage_is_told(deepvoro, pictures, tmp_path, flags, words):
    process = deepvoro("train", pictures, *flags, "--out", tmp_path / "model")
    assert process.returncode == 2, process.stderr
    for word in words:
        assert word in process.stderr
    assert process.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_too_few_pictures_to_validate_on_show_before_training(deepvoro, pictures, tmp_path):
    (tmp_path / "base").symlink_to(pictures / "base")
    write_pictures(tmp_path / "val", {"only": (0, 1)}, 3)
    process = deepvoro("train", tmp_path, *FLAGS, "--procedure", "softmax", "--out", tmp_path / "model")
    assert process.returncode == 3 or process.returncode == 2, process.stderr
    assert process.stderr.count("\n") == 1
    assert not (tmp_path / "model.partial").exists()
