"""The built-in sketches: a network is trained on some of them, and the built-in network gives the built-in features."""
import json
import tarfile

import numpy as np
import pytest
from conftest import PROGRAM, REPOSITORY

if not (PROGRAM.resolve().parents[1] / "lib/libdeepvoro_backbone.so").is_file():
    pytest.skip("built without LibTorch", allow_module_level=True)

PICTURES = REPOSITORY / "data/quickdraw/pictures"
STORE = REPOSITORY / "data/quickdraw"
MODEL = REPOSITORY / "data/backbones/quickdraw-conv4.safetensors"
CHANCE_PERCENT = 20


def test_short_training_beats_chance_on_new_classes(deepvoro, tmp_path):
    """400 sketches of 20 classes, seconds; measured are 20 other classes, five ways, mean of 1 and 5 shots. Without training it is 45 %."""
    flags = ["--backbone", "conv4", "--width", "16,32,64,64", "--size", "28", "--procedure", "softmax", "--batch", "32",
             "--jitter", "0", "--smallest-crop", "0.6", "--epochs", "20", "--validate-every", "20", "--seed", "0", "--threads", "1"]
    process = deepvoro("train", PICTURES, *flags, "--out", tmp_path / "model.safetensors")
    assert process.returncode == 0, process.stderr
    log = json.loads((tmp_path / "model.safetensors.log.json").read_text())
    assert log[-1]["loss"] < 0.6 * log[0]["loss"]
    assert log[-1]["val_accuracy"] > CHANCE_PERCENT + 35


def names_in_store(split):
    """Class and number of each row: classes in order, the first drawings of each."""
    classes = json.loads((STORE / "store.json").read_text(encoding="utf-8"))["splits"][split]["classes"]
    labels = np.load(STORE / split / "labels.npy")
    numbers = np.concatenate([np.arange(count) for count in np.bincount(labels)])
    return [f"{classes[label]}/{number:03}.png" for label, number in zip(labels, numbers)]


@pytest.mark.parametrize("split", ["base", "val", "novel"])
def test_built_in_network_gives_the_built_in_features(deepvoro, tmp_path, split):
    views = json.loads((STORE / "store.json").read_text(encoding="utf-8"))["views"]
    out = tmp_path / "store"
    process = deepvoro("extract", PICTURES, "--split", split, "--model", MODEL, "--views", ",".join(views), "--out", out)
    assert process.returncode == 0, process.stderr
    with tarfile.open(PICTURES / f"{split}.tar") as tar:
        pictures = {name: row for row, name in enumerate(tar.getnames())}
    pairs = [(row, pictures[name]) for row, name in enumerate(names_in_store(split)) if name in pictures]
    assert len(pairs) >= 100
    in_store, extracted = np.array(pairs).T
    for view in views:
        expected = np.load(STORE / split / f"{view}.npy")[in_store].astype(np.float32)
        actual = np.load(out / split / f"{view}.npy")[extracted].astype(np.float32)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=0.01 * expected.max())
        assert expected.min() >= 0 and expected.std() > 0
