"""evaluate warns when the backbone was trained on the classes it is tested on."""
import json

import numpy as np
import pytest
from stores import write_store

SEEN = {"name": "resnet50", "trained_on": "ImageNet"}
WORDNET = [f"n0{1532829 + i}" for i in range(6)]
BIRDS = [f"{i:03d}.Bird" for i in range(6)]


@pytest.fixture
def warning(deepvoro, tmp_path):
    def run(classes, provenance, name="store"):
        labels = np.repeat(np.arange(6), 20)
        rows = np.random.RandomState(1).rand(len(labels), 8).astype(np.float32)
        store = write_store(tmp_path / name, {"novel": (labels, {"s84_r0_f0": rows})}, {"novel": classes})
        description = json.loads((store / "store.json").read_text())
        (store / "store.json").write_text(json.dumps({**description, "provenance": provenance}))
        process = deepvoro("evaluate", store, "--method", "vd,simpleshot", "--normalisation", "l2n", "--episodes", "5")
        assert process.returncode == 0, process.stderr
        return process.stderr

    return run


def test_classes_of_imagenet_were_seen(warning, tmp_path):
    text = warning(WORDNET, {"backbone": SEEN})
    assert text.count("\n") == 1 and text.startswith("deepvoro: warning: ")
    assert "resnet50" in text and "ImageNet" in text and str(tmp_path / "store") in text


def test_the_folder_may_say_it(warning):
    assert "warning" in warning(BIRDS, {"backbone": SEEN}, name="mini-ImageNet")


@pytest.mark.parametrize(
    ("classes", "provenance"),
    [
        (BIRDS, {"backbone": SEEN}),
        (["n1532829", "n0153282x", "n015328290", "x01532829", "", "n"], {"backbone": SEEN}),
        (WORDNET, {"backbone": {"name": "mine", "trained_on": ""}}),
        (WORDNET, {"backbone": {"name": "mine", "trained_on": 5}}),
        (WORDNET, {"backbone": "resnet50"}),
        (WORDNET, {"dataset": "ImageNet"}),
        (WORDNET, {}),
    ],
)
def test_others_were_not(warning, classes, provenance):
    assert warning(classes, provenance) == ""
