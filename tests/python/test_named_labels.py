"""`deepvoro store create` with labels that are names."""
import json

import numpy as np
import pytest
from test_store import RAW_LABELS, assert_stored, create, features, labels, refused  # noqa: F401

NAMES = {80: "Übersee, \"blue\"", 3: "a", 17: "大きな鳥"}


@pytest.fixture
def names(labels):  # noqa: F811
    return [NAMES[label] for label in labels]


def in_alphabetical_order(names):
    return sorted(set(names), key=lambda name: name.encode())


@pytest.mark.parametrize("kind", ["<U", ">U", "|S"])
def test_names_in_an_npz_are_those_of_the_classes(deepvoro, tmp_path, features, names, kind):  # noqa: F811
    array = np.array([name.encode() for name in names] if kind == "|S" else names, dtype=kind[-1])
    np.savez(tmp_path / "named.npz", X=features, y=array if kind == "|S" else array.astype(array.dtype.newbyteorder(kind[0])))
    store = create(deepvoro, tmp_path / "store", "--novel", tmp_path / "named.npz")
    order = in_alphabetical_order(names)
    assert store["splits"]["novel"]["classes"] == order
    assert_stored(tmp_path / "store", features, np.array([order.index(name) for name in names]))


def test_names_in_a_file_of_their_own(deepvoro, tmp_path, features, names):  # noqa: F811
    np.save(tmp_path / "features.npy", features)
    np.save(tmp_path / "names.npy", np.array(names))
    store = create(deepvoro, tmp_path / "store", "--novel", tmp_path / "features.npy", "--novel-labels", tmp_path / "names.npy")
    assert store["splits"]["novel"]["classes"] == in_alphabetical_order(names)
    (tmp_path / "others.json").write_text(json.dumps(["x", "y", "z"]))
    store = create(deepvoro, tmp_path / "renamed", "--novel", tmp_path / "features.npy", "--novel-labels", tmp_path / "names.npy",
                   "--novel-classes", tmp_path / "others.json")
    assert store["splits"]["novel"]["classes"] == ["x", "y", "z"]


@pytest.mark.parametrize(("wrong", "words"), [
    ([""] * 60, "row 0 is not the name of a class"),
    (["a\nb"] * 60, "row 0 is not the name of a class"),
    (np.full(60, b"\xff"), "row 0 is not the name of a class"),
    ([["a"]] * 60, "labels are a vector"),
    (["a"] * 59, "59 labels"),
    (np.array(["a"] * 60, dtype=object), "dtype=str"),
])
def test_what_is_no_name_is_refused(deepvoro, tmp_path, features, wrong, words):  # noqa: F811
    np.savez(tmp_path / "wrong.npz", X=features, y=np.asarray(wrong))
    assert words in refused(deepvoro, tmp_path / "store", "--novel", tmp_path / "wrong.npz")


def test_code_points_that_are_none_are_refused(deepvoro, tmp_path, features):  # noqa: F811
    for point in (0xD800, 0x110000, 0xFFFFFFFF):
        array = np.full(60, point, dtype="<u4").view("<U1")
        np.savez(tmp_path / "wrong.npz", X=features, y=array)
        assert "row 0 is not the name of a class" in refused(deepvoro, tmp_path / "store", "--novel", tmp_path / "wrong.npz")


def test_views_must_have_the_same_names(deepvoro, tmp_path, features, names):  # noqa: F811
    np.savez(tmp_path / "a.npz", X=features, y=np.array(names))
    np.savez(tmp_path / "b.npz", X=features, y=np.array([*names[:-1], "another"]))
    message = refused(deepvoro, tmp_path / "store", "--novel", f"v={tmp_path}/a.npz", "--novel", f"w={tmp_path}/b.npz")
    assert f"row 59 has label another, but {names[-1]}" in message


def test_texts_are_no_features(deepvoro, tmp_path, names):
    np.savez(tmp_path / "wrong.npz", X=np.array([names]), y=np.zeros(1, int))
    assert "floats or integers were expected" in refused(deepvoro, tmp_path / "store", "--novel", tmp_path / "wrong.npz")
