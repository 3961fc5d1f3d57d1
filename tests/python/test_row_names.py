"""Names of pictures in a feature store, with and without classes."""
import csv
import io
import json
import shutil

import pytest

pytest.importorskip("torch", reason="apt-get install python3-torch")
from picture_fixtures import answers, fit, fitted, model, pictures  # noqa: E402, F401
from test_classifier import assert_one_line  # noqa: E402


@pytest.fixture
def extract(deepvoro, model, tmp_path):  # noqa: F811
    def run(folder):
        process = deepvoro("extract", folder, "--model", model, "--views", 4, "--out", tmp_path / "store")
        assert process.returncode == 0, process.stderr
        return tmp_path / "store"

    return run


def rows_of(deepvoro, store):
    process = deepvoro("store", "info", store, "--rows")
    assert process.returncode == 0, process.stderr
    return list(csv.reader(io.StringIO(process.stdout)))


def test_a_folder_without_classes_is_extracted_and_predicted(deepvoro, extract, fit, pictures, tmp_path):  # noqa: F811
    holiday = tmp_path / "holiday"
    holiday.mkdir()
    for number, path in enumerate(sorted((pictures / "query").rglob("*.png"))):
        shutil.copy(path, holiday / f"{number}, {path.parent.name}.png")
    store = extract(holiday)
    names = [f"{number}, {name}.png" for number, name in enumerate(["ant"] * 3 + ["bee"] * 3 + ["cat"] * 3)]
    assert rows_of(deepvoro, store) == [["split", "row", "class", "name"]] + [
        ["novel", str(row), "unlabelled", name] for row, name in enumerate(names)]
    found = answers(deepvoro("predict", fit(), store))
    assert found == [[name, name.split(", ")[1][:3]] for name in names]


def test_rows_go_by_class_and_name(deepvoro, model, pictures, tmp_path):  # noqa: F811
    support = tmp_path / "support"
    shutil.copytree(pictures / "support", support)
    (support / "bee/1.png").write_bytes(b"no picture")
    shutil.copy(pictures / "query/ant/0.png", support / "loose.png")
    process = deepvoro("extract", support, "--model", model, "--views", 1, "--out", tmp_path / "store", "--skip-bad")
    assert process.returncode == 0 and "note: " in process.stderr and "loose.png" in process.stderr
    rows = rows_of(deepvoro, tmp_path / "store")[1:]
    assert [row[2:] for row in rows] == [["ant", "ant/0.png"], ["bee", "bee/0.png"], ["bee", "bee/2.png"], ["bee", "bee/3.png"],
                                         ["cat", "cat/0.png"], ["cat", "cat/1.png"]]


def test_inner_folders_are_told_or_classes(deepvoro, model, pictures, tmp_path):  # noqa: F811
    shutil.copytree(pictures / "support", tmp_path / "nested/home")
    command = ("extract", tmp_path / "nested", "--model", model, "--views", 1, "--out")
    process = deepvoro(*command, tmp_path / "outer")
    assert process.returncode == 0 and "--leaves makes every such folder a class" in process.stderr
    assert {row[2] for row in rows_of(deepvoro, tmp_path / "outer")[1:]} == {"home"}
    process = deepvoro(*command, tmp_path / "inner", "--leaves")
    assert process.returncode == 0 and process.stderr == ""
    assert [row[2:] for row in rows_of(deepvoro, tmp_path / "inner")[1:3]] == [["ant", "ant/0.png"], ["bee", "bee/0.png"]]


def test_a_store_without_names_and_one_with_wrong_ones(deepvoro, make_store, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(make_store(dim=4), store)
    rows = rows_of(deepvoro, store)[1:]
    samples = json.loads((store / "store.json").read_text())["splits"]
    assert len(rows) == sum(split["samples"] for split in samples.values()) and not any(row[3] for row in rows)
    (store / "novel/names.txt").write_text("one\n")
    assert_one_line(deepvoro("store", "info", store, "--rows"), 3, "names.txt: has 1 name, but the split has")
    assert_one_line(deepvoro("store", "info", store, "--rows", "--json"), 2, "--rows")
