"""What `deepvoro study` writes, how it goes on after an interruption, and what it refuses."""
import csv
import json
import shutil

import numpy as np
import pytest
from reference import Store
from stores import random_store
from study_runs import EPISODES, Study, store, study  # noqa: F401


def test_files_hold_the_same_tables(study):
    document = study("members")
    assert document.document["format"] == "deepvoro-study"
    assert document.document["version"] == 1
    assert document.document["stores"][0]["name"] == "store"
    assert document.document["settings"]["episodes"] == EPISODES
    for name, table in document.tables.items():
        with open(document.folder / f"members-{name}.csv", newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        assert header == [column["name"] for column in table["columns"]]
        assert len(rows) == len(table["rows"]) > 0
        for written, row in zip(rows, table["rows"]):
            for cell, value in zip(written, row):
                assert cell == "" if value is None else type(value)(cell) == value


def test_several_stores(deepvoro, make_store, tmp_path):
    first = make_store(dim=12, views=2, class_sizes=(20, 24))
    second = shutil.copytree(first, tmp_path / "another")
    shutil.rmtree(second / "val")
    description = json.loads((second / "store.json").read_text())
    del description["splits"]["val"]
    (second / "store.json").write_text(json.dumps(description))
    flags = ["--ways", 3, "--queries", 5, "--episodes", 10, "--out", tmp_path / "paper"]
    process = deepvoro("study", "backbones", first, second, *flags)
    assert process.returncode == 0, process.stderr
    found = Study(tmp_path / "paper", "backbones")
    assert [store["name"] for store in found.document["stores"]] == ["store", "another"]
    assert {row["scheme"] for row in found.rows("table", store="store", method="plda")} == {"guided"}
    assert {row["scheme"] for row in found.rows("table", store="another", method="plda")} == {"full"}


def test_studies_share_what_they_have_in_common(deepvoro, store, tmp_path):
    """The methods that both compare: s2m2, dc, which takes longest, and vd."""
    flags = ["--shots", 5, "--episodes", 3, "--out", tmp_path / "paper"]
    assert deepvoro("study", "joint", store, *flags).returncode == 0
    process = deepvoro("study", "outliers", store, *flags)
    assert process.returncode == 0, process.stderr
    assert "took 3 of 9 steps" in process.stderr


def test_a_killed_study_goes_on_to_the_same_bytes(deepvoro, program, make_store, tmp_path):
    """Steps of a finished run are taken away, as if it had been killed before them."""
    store = make_store(dim=12, views=2, class_sizes=(20, 24))
    out = tmp_path / "paper"
    command = ["study", "members", store, "--ways", 3, "--queries", 5, "--episodes", 10, "--out", out]
    assert deepvoro(*command).returncode == 0
    written = {file.name: file.read_bytes() for file in out.glob("members*")}
    assert len(written) == 5
    steps = sorted((out / ".steps").iterdir())
    for file in steps[::2]:
        file.unlink()
    for file in out.glob("members*"):
        file.unlink()
    process = deepvoro(*command, "--threads", 1)
    assert process.returncode == 0
    assert f"took {len(steps) // 2} of {len(steps)} steps" in process.stderr
    assert {file.name: file.read_bytes() for file in out.glob("members*")} == written


@pytest.mark.parametrize("spoil", [lambda text: text[:-20], lambda text: text.replace('"correct":[', '"correct":[1,'), lambda _: "[]"])
def test_a_damaged_step_is_refused(deepvoro, make_store, tmp_path, spoil):
    store = make_store(dim=12, views=2, class_sizes=(20, 24))
    command = ["study", "joint", store, "--shots", 1, "--ways", 3, "--queries", 5, "--episodes", 10, "--out", tmp_path / "paper"]
    assert deepvoro(*command).returncode == 0
    step = sorted((tmp_path / "paper/.steps").iterdir())[0]
    step.write_text(spoil(step.read_text()))
    process = deepvoro(*command)
    assert process.returncode == 3
    assert process.stderr.count("\n") == 1
    assert str(step) in process.stderr and "delete it" in process.stderr


def refused(process, code, *fragments):
    assert process.returncode == code, process.stderr
    assert process.stderr.count("\n") == 1 and process.stdout == ""
    for fragment in fragments:
        assert str(fragment) in process.stderr


def test_bad_input(deepvoro, make_store, tmp_path):
    store = make_store(dim=12, views=2, class_sizes=(20, 24))
    out = tmp_path / "paper"
    refused(deepvoro("study", "membres", store, "--out", out), 2, "membres", "did you mean members")
    refused(deepvoro("study", "cells", store, "--out", out), 2, "cells", "ensemble-size")
    refused(deepvoro("study", "members", tmp_path / "nowhere", "--out", out), 3, "nowhere")
    refused(deepvoro("study", "members", store, "--shots", 30, "--ways", 3, "--out", out), 3, "30", "class")
    refused(deepvoro("study", "outliers", store, "--shots", 1, "--out", out), 2, "--shots 1", "at least 2")
    refused(deepvoro("study", "embedding", store, "--shots", 1, "--out", out), 2, "--shots")
    refused(deepvoro("study", "joint", store, store, "--out", out), 2, "two stores")
    refused(deepvoro("study", "joint", store, "--out", store / "paper"), 2, "--out")
    bare = random_store(tmp_path / "bare", dim=12, views=2, class_sizes=(20, 24))
    description = json.loads((bare / "store.json").read_text())
    del description["splits"]["val"]
    (bare / "store.json").write_text(json.dumps(description))
    refused(deepvoro("study", "members", bare, "--out", out), 3, bare, "'val'")
    assert not out.exists()


def test_negative_features_need_signed(deepvoro, tmp_path):
    store = random_store(tmp_path / "signed", dim=2, views=2, class_sizes=(20, 24), relu=False, classes=(("base", 9), ("val", 6), ("novel", 7)))
    flags = ["--ways", 3, "--queries", 5, "--episodes", 10, "--out", tmp_path / "paper"]
    refused(deepvoro("study", "shots", store, *flags), 3, "--signed")
    process = deepvoro("study", "shots", store, "--signed", *flags)
    assert process.returncode == 0, process.stderr
    process = deepvoro("study", "diagram", store, *flags)  # the plane as it is
    assert process.returncode == 0, process.stderr
    found = Study(tmp_path / "paper", "diagram")
    assert "two dimensions" in found.rows("panels")[0]["projection"]
    # All base classes, as there are few, each with its mean and samples.
    base = Store(store)
    points, labels = base.features("base", base.views[0]), base.labels("base")
    for label in range(labels.max() + 1):
        (center,) = found.rows("points", panel="base, vd", role="center", **{"class": label})
        np.testing.assert_allclose([center["x"], center["y"]], points[labels == label].mean(axis=0), atol=1e-6)
        samples = found.rows("points", panel="base, vd", role="sample", **{"class": label})
        np.testing.assert_allclose([[row["x"], row["y"]] for row in samples], points[labels == label][:40], atol=1e-6)
