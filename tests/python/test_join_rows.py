"""store join --rows: rows of several stores as one, without a copy."""
import json
import shutil
import subprocess

import numpy as np
import pytest
from stores import random_store

SPLITS = (("base", 6), ("val", 5), ("novel", 6))
VIEWS = ("s84_r0_f0", "s84_r0_f1")
FLAGS = ["--ways", "4", "--shots", "2", "--queries", "5", "--episodes", "40", "--threads", "1"]


@pytest.fixture
def whole(tmp_path):
    store = random_store(tmp_path / "whole", dim=12, classes=SPLITS, class_sizes=(9, 12))
    for split, _ in SPLITS:
        rows = len(np.load(store / split / "labels.npy"))
        (store / split / "names.txt").write_text("".join(f"{split}-{row}.png\n" for row in range(rows)))
    return store


def cut(whole, folder, part, parts):
    """A part of the rows of each split, with the classes that are in it, as an extraction of some pictures has."""
    description = json.loads((whole / "store.json").read_text())
    for split, entry in description["splits"].items():
        (folder / split).mkdir(parents=True)
        labels = np.load(whole / split / "labels.npy")
        rows = slice(len(labels) * part // parts, len(labels) * (part + 1) // parts)
        present = sorted(set(labels[rows]))
        np.save(folder / split / "labels.npy", np.searchsorted(present, labels[rows]))
        for view in description["views"]:
            np.save(folder / split / f"{view}.npy", np.load(whole / split / f"{view}.npy")[rows])
        names = (whole / split / "names.txt").read_text().splitlines(keepends=True)
        (folder / split / "names.txt").write_text("".join(names[rows]))
        entry.update(samples=rows.stop - rows.start, classes=[entry["classes"][label] for label in present])
    (folder / "store.json").write_text(json.dumps(description))
    return folder


@pytest.fixture
def joined(deepvoro, whole, tmp_path):
    parts = [cut(whole, tmp_path / f"part{i}", i, 3) for i in range(3)]
    process = deepvoro("store", "join", "--rows", *parts, "--out", tmp_path / "joined")
    assert process.returncode == 0, process.stderr
    return tmp_path / "joined"


def result_of(deepvoro, store, file):
    process = deepvoro("evaluate", store, "--method", "vd,deepvoro,deepvoro++,plda,dc", *FLAGS, "--json", file)
    assert process.returncode == 0, process.stderr
    return [(one["accuracy"], one["episode_accuracy"], one["answers"]) for one in json.loads(file.read_text())]


def test_a_joined_store_gives_the_results_of_the_whole(deepvoro, whole, joined, tmp_path):
    assert not list(joined.rglob("s84*.npy"))
    assert result_of(deepvoro, joined, tmp_path / "a.json") == result_of(deepvoro, whole, tmp_path / "b.json")


def test_a_name_alone_is_a_folder_here(program, deepvoro, whole, joined, tmp_path):
    process = subprocess.run([program, "store", "join", "--rows", "part0", "part1", "part2", "--out", "here"], cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert deepvoro("store", "check", tmp_path / "here").returncode == 0
    assert (tmp_path / "here/store.json").read_text() == (joined / "store.json").read_text()


def test_check_info_and_names(deepvoro, whole, joined):
    for command in ("check", "info"):
        process = deepvoro("store", command, joined)
        assert process.returncode == 0, process.stderr
    rows = [deepvoro("store", "info", "--rows", store).stdout for store in (whole, joined)]
    assert rows[0] == rows[1] and "novel-3.png" in rows[0]
    last = joined.parent / "part2/novel/s84_r0_f0.npy"
    values = np.load(last)
    values[0, 0] = np.inf
    np.save(last, values)
    process = deepvoro("store", "check", joined)
    assert process.returncode == 3
    assert "joined: split novel, view s84_r0_f0" in process.stderr


def test_joined_stores_can_be_joined_and_moved_with_their_parts(deepvoro, whole, joined, tmp_path):
    process = deepvoro("store", "join", "--rows", f"base={whole}", f"val,novel={joined}", "--out", tmp_path / "deep/again")
    assert process.returncode == 3  # the folder above does not exist
    process = deepvoro("store", "join", "--rows", f"base={whole}", f"val,novel={joined}", "--out", tmp_path / "again")
    assert process.returncode == 0, process.stderr
    expected = result_of(deepvoro, whole, tmp_path / "a.json")
    assert result_of(deepvoro, tmp_path / "again", tmp_path / "b.json") == expected
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("whole", "joined", "again", "part0", "part1", "part2"):
        shutil.move(tmp_path / name, moved / name)
    assert result_of(deepvoro, moved / "again", tmp_path / "c.json") == expected


def test_the_hash_depends_on_the_parts(deepvoro, joined, tmp_path):
    def sha256():
        flags = ["--method", "vd", *FLAGS, "--json", tmp_path / "result.json"]
        assert deepvoro("evaluate", joined, *flags).returncode == 0
        return json.loads((tmp_path / "result.json").read_text())["store"]["sha256"]

    before = sha256()
    file = tmp_path / "part1/novel/s84_r0_f1.npy"
    np.save(file, np.load(file) + np.float32(0.25))
    assert sha256() != before


def test_what_does_not_fit_is_refused(deepvoro, whole, joined, tmp_path):
    def refused(process, *words):
        assert process.returncode == 3 and len(process.stderr.splitlines()) == 1
        assert all(word in process.stderr for word in words), process.stderr
        return True

    other = random_store(tmp_path / "other", dim=13, classes=SPLITS, class_sizes=(9, 12))
    join = ["store", "join", "--rows", whole]
    assert refused(deepvoro(*join, other, "--out", tmp_path / "x"), "whole and", "12 and 13 dimensions")
    assert refused(deepvoro(*join, tmp_path / "nothing", "--out", tmp_path / "x"), "nothing")
    for typed, words in {
        (whole, whole): f"{whole}: rows of its split base are taken twice",
        (whole, joined, f"novel={joined}"): f"{joined}: rows of its split novel are taken twice",
        (f"train={whole}", f"novel={whole}"): "'train' is not a split; use base, val or novel",
    }.items():
        process = deepvoro("store", "join", "--rows", *typed, "--out", tmp_path / "x")
        assert process.returncode == 2
        assert words in process.stderr
    assert not (tmp_path / "x").exists()
    description = json.loads((joined / "store.json").read_text())
    rows = description["parts"][1]["rows"]
    for split, change, word in (("novel", 1, "more rows"), ("novel", -1, "too few"), ("test", 0, "more rows")):
        changed = json.loads(json.dumps(description))
        changed["parts"][1]["rows"][split] = rows.get(split, 0) + change
        (joined / "store.json").write_text(json.dumps(changed))
        assert refused(deepvoro("store", "check", joined), "store.json", word)
    for parts in ({}, [3], [{"store": 5}], [{"store": "../whole", "rows": {"novel": -1}}], []):
        (joined / "store.json").write_text(json.dumps({**description, "parts": parts}))
        assert refused(deepvoro("store", "check", joined), "joined")
    (joined / "store.json").write_text(json.dumps(description))
    shutil.rmtree(tmp_path / "part1")
    assert refused(deepvoro("evaluate", joined, "--method", "vd", *FLAGS), "joined: its part ../part1 is not there; put it back, or join again")
    assert refused(deepvoro("store", "check", joined), "its part ../part1 is not there")


def test_views_that_differ_are_named(deepvoro, whole, tmp_path):
    def refused(views, *words):
        other = shutil.copytree(whole, tmp_path / "other", dirs_exist_ok=True)
        description = json.loads((whole / "store.json").read_text())
        (other / "store.json").write_text(json.dumps({**description, "views": views}))
        process = deepvoro("store", "join", "--rows", whole, other, "--out", tmp_path / "x")
        assert process.returncode == 3 and len(process.stderr.splitlines()) == 1 and not (tmp_path / "x").exists()
        assert all(word in process.stderr for word in words), process.stderr

    refused([VIEWS[0]], f"only {whole} has the view {VIEWS[1]}")
    refused([*VIEWS, "s96_r0_f0"], f"only {tmp_path / 'other'} has the view s96_r0_f0")
    refused(VIEWS[::-1], f"another order: where one has {VIEWS[0]} the other has {VIEWS[1]}")
