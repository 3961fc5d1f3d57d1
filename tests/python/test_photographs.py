"""scripts/photographs.sh, from pictures to a table, on a few striped ones."""
import csv
import json
import os
import subprocess

import pytest
import safetensors
from conftest import PROGRAM, REPOSITORY
from test_train import write_pictures

if not (PROGRAM.resolve().parents[1] / "lib/libdeepvoro_backbone.so").is_file():
    pytest.skip("built without LibTorch", allow_module_level=True)

SCRIPT = REPOSITORY / "scripts/photographs.sh"
SETTINGS = {
    "PRESET": "cifar-fs", "BACKBONE": "conv4", "DEVICE": "cpu", "THREADS": "1", "EPOCHS": "3", "EPISODES": "30",
    "FIRST_STRIDE": "2", "AVERAGE": "0.9", "VIEWS": "s32_r0_f0,s36_r0_f1",
}


def photographs(*arguments, **settings):
    variables = {**os.environ, "DEEPVORO": str(PROGRAM.resolve()), **SETTINGS, **settings}
    return subprocess.run(["bash", SCRIPT, *arguments], env=variables, capture_output=True, encoding="utf-8", timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pictures = tmp_path_factory.mktemp("pictures")
    for seed, split in enumerate(("base", "val", "novel")):
        write_pictures(pictures / split, {f"{split}{i}": (0.4 * i + 0.1 * seed, 1.5 + 0.3 * (i % 3)) for i in range(6)}, seed)
    results = tmp_path_factory.mktemp("results")
    process = photographs(pictures, results)
    assert process.returncode == 0, process.stderr
    return pictures, results


def result(folder, name):
    return json.loads((folder / name).read_text())


def test_settings_reach_the_training(folder):
    _, metadata = safetensors.read(folder[1] / "model.safetensors")
    description = json.loads(metadata["deepvoro"])
    assert description["input_size"] == 32 and description["architecture"]["first_stride"] == 2
    assert description["recipe"]["average"] == 0.9 and description["recipe"]["epochs"] == 3
    assert description["recipe"]["weight_decay"] == 8e-4  # of the preset


def test_every_method_has_a_result_chosen_on_val(folder):
    for shots in (1, 5):
        vd = result(folder[1], f"vd-{shots}.json")
        assert vd["split"] == "novel" and vd["members"] == 1
        for method in ("deepvoro", "deepvoro++", "plda"):
            tuned = result(folder[1], f"{method}-{shots}.json")
            assert tuned["method"] == method and tuned["scheme"] == "guided" and tuned["episodes"] == 30
            assert {member["view"] for member in tuned["pool"]} <= {"s32_r0_f0", "s36_r0_f1", "mean"}


def test_heads_stand_beside_vd(folder):
    process = photographs(*folder, "heads", SHOTS="1")
    assert process.returncode == 0, process.stderr
    heads = result(folder[1], "heads-1.json")
    assert [head["method"] for head in heads] == ["vd", "s2m2", "dc"]
    assert heads[0]["episode_accuracy"] == result(folder[1], "vd-1.json")["episode_accuracy"]


def test_each_view_stands_alone(folder):
    with open(folder[1] / "views.csv", encoding="utf-8") as file:
        rows = {(row["view"], row["split"], int(row["shots"])): float(row["accuracy"]) for row in csv.DictReader(file)}
    assert set(rows) == {(view, split, shots) for view in ("s32_r0_f0", "s36_r0_f1") for split in ("val", "novel") for shots in (1, 5)}
    for shots in (1, 5):
        assert rows["s32_r0_f0", "novel", shots] == pytest.approx(result(folder[1], f"vd-{shots}.json")["accuracy"], abs=0.005)


def test_what_is_there_is_not_made_again(folder):
    pictures, results = folder
    before = {name: (results / name).stat().st_mtime_ns for name in ("model.safetensors", "deepvoro-1.pool.json")}
    process = photographs(pictures, results, "train", "extract", "table", SHOTS="1")
    assert process.returncode == 0, process.stderr
    assert before == {name: (results / name).stat().st_mtime_ns for name in before}


def test_networks_of_several_folders_are_joined(folder, tmp_path):
    pictures, first = folder
    process = photographs(pictures, tmp_path / "small", "train", "extract", VIEWS="s32_r0_f0", AVERAGE="0", FIRST_STRIDE="1")
    assert process.returncode == 0, process.stderr
    process = photographs(pictures, tmp_path / "small", "join", NETWORKS=str(first), SHOTS="1")
    assert process.returncode == 0, process.stderr
    pool = result(tmp_path / "small", "joined-plda-1.pool.json")["members"]
    views = ["small/s32_r0_f0", f"{first.name}/s32_r0_f0", f"{first.name}/s36_r0_f1", f"{first.name}/mean"]
    assert {member["view"] for member in pool} == set(views)
    joined = result(tmp_path / "small", "joined-plda-1.json")
    assert joined["scheme"] == "guided" and joined["split"] == "novel" and 1 <= joined["members"] <= len(pool)


def test_join_asks_for_networks(tmp_path):
    process = photographs(tmp_path, tmp_path / "out", "join", NETWORKS="")
    assert process.returncode == 2 and process.stderr.count("\n") == 1 and "set NETWORKS" in process.stderr


@pytest.mark.parametrize(("stage", "settings", "word"), [("trian", {}, "trian"), ("train", {"PRESET": "cars"}, "cars")])
def test_wrong_words_are_told(tmp_path, stage, settings, word):
    process = photographs(tmp_path, tmp_path / "out", stage, **settings)
    assert process.returncode == 2 and process.stderr.count("\n") == 1
    assert f"'{word}'" in process.stderr and "they are" in process.stderr
