"""`deepvoro store create|info|check`: what goes in as NumPy, HDF5, safetensors or pickle comes out the same."""
import collections
import hashlib
import json
import pickle
import struct
import zipfile

import numpy as np
import pytest

ROWS, DIM = 60, 7
VIEW = "s84_r0_f0"
RAW_LABELS = np.array([80, 3, 17])


@pytest.fixture
def features():
    return np.random.RandomState(0).normal(size=(ROWS, DIM)).astype(np.float32)


@pytest.fixture
def labels():
    return RAW_LABELS[np.random.RandomState(1).randint(3, size=ROWS)]


def indices(labels):
    return np.unique(labels, return_inverse=True)[1]


def create(deepvoro, store, *arguments):
    process = deepvoro("store", "create", store, *arguments)
    assert process.returncode == 0, process.stderr
    return json.loads((store / "store.json").read_text(encoding="utf-8"))


def refused(deepvoro, store, *arguments, code=3):
    before = sorted(store.parent.iterdir())
    process = deepvoro("store", "create", store, *arguments)
    assert process.returncode == code, process.stderr
    assert len(process.stderr.splitlines()) == 1
    assert sorted(store.parent.iterdir()) == before, "a refused import must leave nothing behind"
    return process.stderr


def stored(store, split="novel", view=VIEW):
    return np.load(store / split / f"{view}.npy"), np.load(store / split / "labels.npy")


def assert_stored(store, features, labels, split="novel", view=VIEW):
    found, found_labels = stored(store, split, view)
    assert found.dtype == features.dtype and found_labels.dtype == np.int64
    np.testing.assert_array_equal(found, features)
    np.testing.assert_array_equal(found_labels, indices(labels))


def write_safetensors(path, arrays):
    names = {"f2": "F16", "f4": "F32", "f8": "F64", "i4": "I32", "i8": "I64"}
    head, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (array, dtype) in {n: a if isinstance(a, tuple) else (a, None) for n, a in arrays.items()}.items():
        dtype = dtype or names[array.dtype.str[1:]]
        raw = array.tobytes()
        head[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def class_dict(features, labels, factory=dict):
    rows = collections.defaultdict(list)
    for row, label in zip(features, labels):
        rows[int(label)].append(row)
    return factory(rows) if factory is dict else rows


def by_class(features, labels):
    order = np.argsort(labels, kind="stable")
    return features[order], labels[order]


def write_pickle(path, value, protocol=4):
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(deepvoro, tmp_path, features, labels, dtype, order):
    source = np.asarray(features, dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", source)
    np.save(tmp_path / "y.npy", labels)
    meta = create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npy", "--novel-labels", tmp_path / "y.npy")
    kept = np.float16 if dtype.endswith("2") else np.float32
    assert_stored(tmp_path / "s", source.astype(kept), labels)
    assert meta["dim"] == DIM and meta["views"] == [VIEW]
    assert meta["splits"]["novel"] == {"samples": ROWS, "classes": ["3", "17", "80"]}


@pytest.mark.parametrize("dtype", ["<i8", "<i4", ">i2", "|u1", "<u8", "<f8", "<f4"])
def test_labels_of_any_type_of_whole_numbers(deepvoro, tmp_path, features, labels, dtype):
    np.save(tmp_path / "x.npy", features)
    np.save(tmp_path / "y.npy", labels.astype(dtype))
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npy", "--novel-labels", tmp_path / "y.npy")
    assert_stored(tmp_path / "s", features, labels)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("names", [("features", "labels"), ("X", "y"), ("all_feats", "all_labels"), ("feats", "targets")])
def test_npz(deepvoro, tmp_path, features, labels, save, names):
    save(tmp_path / "x.npz", other=np.zeros(3), **{names[0]: features, names[1]: labels})
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz")
    assert_stored(tmp_path / "s", features, labels)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_safetensors(deepvoro, tmp_path, features, labels, dtype):
    source = write_safetensors(tmp_path / "x.safetensors", {"features": features.astype(dtype), "labels": labels})
    create(deepvoro, tmp_path / "s", "--novel", source)
    assert_stored(tmp_path / "s", features.astype(np.float16 if dtype is np.float16 else np.float32), labels)


def test_safetensors_in_bfloat16(deepvoro, tmp_path, features, labels):
    upper = (features.view(np.uint32) >> 16).astype(np.uint16)
    rounded = (upper.astype(np.uint32) << 16).view(np.float32)
    source = write_safetensors(tmp_path / "x.safetensors", {"x": (upper, "BF16"), "y": labels.astype(np.int32)})
    create(deepvoro, tmp_path / "s", "--novel", source)
    assert_stored(tmp_path / "s", rounded, labels)


def test_hdf5_without_its_padding_rows(deepvoro, tmp_path, features, labels):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        rows = file.create_dataset("all_feats", (ROWS + 9, DIM), dtype="f")
        rows[:ROWS] = features
        found = file.create_dataset("all_labels", (ROWS + 9,), dtype="i")
        found[:ROWS] = labels
        count = file.create_dataset("count", (1,), dtype="i")
        count[0] = ROWS
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.hdf5")
    assert_stored(tmp_path / "s", features, labels)


@pytest.mark.parametrize("dtype", ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8"])
def test_hdf5_of_any_type_chunked_and_compressed(deepvoro, tmp_path, features, labels, dtype):
    h5py = pytest.importorskip("h5py")
    source = features.astype(dtype)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("deep/rows", data=source, chunks=(8, 3), compression="gzip", shuffle=True)
        file.create_dataset("deep/kind", data=labels.astype(np.float32))
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.h5", "--features", "deep/rows", "--labels", "deep/kind")
    assert_stored(tmp_path / "s", source.astype(np.float16 if dtype.endswith("2") else np.float32), labels)


def test_hdf5_that_reaches_into_other_files_is_refused(deepvoro, tmp_path, features, labels):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["all_feats"] = features
    with h5py.File(tmp_path / "linked.h5", "w") as file:
        file["all_feats"] = h5py.ExternalLink("secret.h5", "/all_feats")
        file["all_labels"] = labels
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout(shape=features.shape, dtype="f4")
        layout[:] = h5py.VirtualSource(tmp_path / "secret.h5", "all_feats", shape=features.shape)
        file.create_virtual_dataset("all_feats", layout)
        file["all_labels"] = labels
    (tmp_path / "raw").write_bytes(features.tobytes())
    with h5py.File(tmp_path / "external.h5", "w") as file:
        file.create_dataset("all_feats", features.shape, "f4", external=[(str(tmp_path / "raw"), 0, features.nbytes)])
        file["all_labels"] = labels
    assert "has none of the arrays" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "linked.h5")
    assert "outside this file" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "virtual.h5")
    assert "outside this file" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "external.h5")


def test_hdf5_that_claims_more_than_it_can_hold_is_refused(deepvoro, tmp_path, labels):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("all_feats", (10**9, 1000), dtype="f4", chunks=(10, 1000))
        file["all_labels"] = labels
    assert "refused as damaged" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.h5")


def test_hdf5_with_numbers_of_impossible_size_is_refused(deepvoro, tmp_path, labels):
    h5py = pytest.importorskip("h5py")
    wide = h5py.h5t.NATIVE_INT64.copy()
    wide.set_size(100_000)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        h5py.h5d.create(file.id, b"all_feats", wide, h5py.h5s.create_simple((ROWS, DIM)))
        file["all_labels"] = labels
    assert "no numbers of a usual size" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.h5")


def test_damaged_hdf5_is_read_or_refused(deepvoro, tmp_path, features, labels):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "whole.h5", "w") as file:
        file["all_feats"], file["all_labels"], file["count"] = features, labels, ROWS
    whole = (tmp_path / "whole.h5").read_bytes()
    damaged = [whole[: len(whole) * part // 12] for part in range(12)]
    random = np.random.RandomState(2)
    for _ in range(12):
        changed = bytearray(whole)
        changed[random.randint(len(whole))] ^= 1 << random.randint(8)
        damaged.append(bytes(changed))
    for i, content in enumerate(damaged):
        (tmp_path / "x.h5").write_bytes(content)
        process = deepvoro("store", "create", tmp_path / f"s{i}", "--novel", tmp_path / "x.h5")
        assert process.returncode in (0, 3), process.stderr
        assert len(process.stderr.splitlines()) == (process.returncode == 3)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("factory", [dict, collections.defaultdict])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8"])
def test_pickled_dict_of_vectors(deepvoro, tmp_path, features, labels, protocol, factory, dtype):
    source = features.astype(dtype)
    write_pickle(tmp_path / "x.plk", class_dict(source, labels, factory), protocol)
    meta = create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.plk")
    rows, row_labels = by_class(source, labels)
    assert_stored(tmp_path / "s", rows.astype(np.float16 if dtype == "<f2" else np.float32), row_labels)
    assert meta["splits"]["novel"]["classes"] == ["3", "17", "80"]


@pytest.mark.parametrize("protocol", range(6))
def test_pickled_labels_of_any_size(deepvoro, tmp_path, protocol):
    raw = [-(2**40), -70000, -1, 0, 255, 256, 65535, 65536, 2**31, 2**40]
    write_pickle(tmp_path / "x.plk", {label: np.full((2, 3), i, "<f4") for i, label in enumerate(raw)}, protocol)
    meta = create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.plk")
    assert meta["splits"]["novel"]["classes"] == [str(label) for label in raw]
    found, found_labels = stored(tmp_path / "s")
    np.testing.assert_array_equal(found[:, 0], found_labels)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("shape", [np.array, np.asfortranarray, lambda rows: [row.tolist() for row in rows], lambda rows: [list(row) for row in rows]])
def test_pickled_dict_of_matrices_and_of_number_lists(deepvoro, tmp_path, features, labels, protocol, shape):
    value = {np.int64(label): shape(features[labels == label]) for label in RAW_LABELS}
    write_pickle(tmp_path / "x.pkl", value, protocol)
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.pkl")
    assert_stored(tmp_path / "s", *by_class(features, labels))


def test_pickle_of_numpy_2(deepvoro, tmp_path, features, labels):
    content = pickle.dumps(class_dict(features, labels), protocol=2).replace(b"cnumpy.core.", b"cnumpy._core.")
    assert b"numpy._core." in content
    (tmp_path / "x.pickle").write_bytes(content)
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.pickle")
    assert_stored(tmp_path / "s", *by_class(features, labels))


class Malicious:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        import os

        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("protocol", range(6))
def test_pickle_that_would_run_code_is_refused_by_name(deepvoro, tmp_path, features, labels, protocol):
    value = class_dict(features, labels)
    value[99] = Malicious(tmp_path / "ran")
    write_pickle(tmp_path / "x.plk", value, protocol)
    message = refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.plk")
    assert "system', which a feature file does not need; refused" in message
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "value, problem",
    [
        ([1, 2], "is not a dict"),
        ({"a": [np.zeros(3, np.float32)]}, "is not a whole number"),
        ({1: 5}, "neither a list of vectors nor a matrix"),
        ({1: [np.zeros((2, 2), np.float32)]}, "not a vector"),
        ({1: [np.zeros(3, np.float32)], 2: [np.zeros(4, np.float32)]}, "class 2: row 0 has 4 dimensions"),
        ({1: [np.zeros(3, object)]}, "array of Python objects"),
        ({1: [np.zeros(3, np.float32), np.array([0, np.nan, 0], np.float32)]}, "class 1: row 1, column 1 is nan"),
        ({}, "has no rows"),
        ({1: [np.datetime64("2020-01-01")]}, "not a vector"),
        ({1: complex(1, 2)}, "complex', which a feature file does not need"),
    ],
)
def test_pickles_of_something_else_are_refused(deepvoro, tmp_path, value, problem):
    write_pickle(tmp_path / "x.plk", value)
    assert problem in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.plk")


def test_pickle_that_repeats_itself_to_fill_memory_is_refused(deepvoro, tmp_path):
    row = np.zeros(1000, np.float32)
    write_pickle(tmp_path / "x.plk", {label: [row] * 100 for label in range(10)})
    assert "more values than the file holds" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.plk")


def test_splits_views_class_names_and_provenance(deepvoro, tmp_path, features, labels):
    np.savez(tmp_path / "base.npz", features=features, labels=labels)
    np.save(tmp_path / "flipped.npy", -features)
    np.save(tmp_path / "novel.npy", features + 1)
    np.save(tmp_path / "novel_flipped.npy", features + 2)
    np.save(tmp_path / "y.npy", labels)
    (tmp_path / "base.txt").write_text("Amsel\nBuchfink\r\nÄsche\n", encoding="utf-8")
    (tmp_path / "novel.json").write_text(json.dumps(["a b", "c", "d"]))
    meta = create(
        deepvoro, tmp_path / "s/",
        "--base", f"v0={tmp_path}/base.npz", "--base", f"v1={tmp_path}/flipped.npy",
        "--novel", f"v0={tmp_path}/novel.npy", "--novel", f"v1={tmp_path}/novel_flipped.npy",
        "--novel-labels", tmp_path / "y.npy",
        "--base-classes", tmp_path / "base.txt", "--novel-classes", tmp_path / "novel.json",
        "--note", "for a test",
    )  # fmt: skip
    for split, view, rows in [("base", "v0", features), ("base", "v1", -features), ("novel", "v1", features + 2)]:
        assert_stored(tmp_path / "s", rows, labels, split, view)
    assert meta["format"] == "deepvoro-store" and meta["version"] == 1 and meta["views"] == ["v0", "v1"]
    assert meta["splits"]["base"]["classes"] == ["Amsel", "Buchfink", "Äsche"]
    assert meta["splits"]["novel"]["classes"] == ["a b", "c", "d"]
    provenance = meta["provenance"]
    assert provenance["created_by"] == "deepvoro store create" and provenance["note"] == "for a test"
    assert [(s["split"], s["view"]) for s in provenance["sources"]] == [
        ("base", "v0"), ("base", "v1"), ("novel", "v0"), ("novel", "v1"),
    ]  # fmt: skip
    for source in provenance["sources"]:
        with open(source["file"], "rb") as file:
            assert source["sha256"] == hashlib.sha256(file.read()).hexdigest()


def test_free_names(deepvoro, tmp_path, features, labels):
    np.savez(tmp_path / "x.npz", features=features + 1, labels=labels + 1, mine=features, kinds=labels)
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz", "--features", "mine", "--labels", "kinds")
    assert_stored(tmp_path / "s", features, labels)
    message = refused(deepvoro, tmp_path / "t", "--novel", tmp_path / "x.npz", "--features", "missing")
    assert "no array 'missing'" in message and "kinds" in message


def test_dtype(deepvoro, tmp_path, features, labels):
    extremes = [65504, -65504, 6e-8, 2e-8, 3e-5, -0.0, 1.0009765]
    features[0] = extremes
    np.savez(tmp_path / "x.npz", features=features, labels=labels)
    np.savez(tmp_path / "h.npz", features=features.astype(np.float16), labels=labels)
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz", "--dtype", "float16")
    assert_stored(tmp_path / "s", features.astype(np.float16), labels)
    create(deepvoro, tmp_path / "t", "--novel", tmp_path / "h.npz", "--dtype", "float32")
    assert_stored(tmp_path / "t", features.astype(np.float16).astype(np.float32), labels)
    for value in (65505, -65505):
        features[5, 2] = value
        np.savez(tmp_path / "x.npz", features=features, labels=labels)
        message = refused(deepvoro, tmp_path / "u", "--novel", tmp_path / "x.npz", "--dtype", "float16")
        assert "row 5, column 2" in message and "float32" in message
    refused(deepvoro, tmp_path / "u", "--novel", tmp_path / "x.npz", "--dtype", "float8", code=2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_values_no_feature_can_have(deepvoro, tmp_path, features, labels, value):
    source = features.astype(np.float64)
    source[11, 3] = value
    np.savez(tmp_path / "x.npz", features=source, labels=labels)
    assert "row 11, column 3" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz")


def test_files_of_a_split_must_agree(deepvoro, tmp_path, features, labels):
    other = labels.copy()
    other[4] = 1000
    np.savez(tmp_path / "a.npz", features=features, labels=labels)
    np.savez(tmp_path / "relabelled.npz", features=features, labels=other)
    np.savez(tmp_path / "shorter.npz", features=features[1:], labels=labels[1:])
    np.savez(tmp_path / "thinner.npz", features=features[:, 1:], labels=labels)
    np.savez(tmp_path / "uneven.npz", features=features, labels=labels[1:])
    np.save(tmp_path / "y.npy", labels[1:])
    novel = ["--novel", f"a={tmp_path}/a.npz"]

    def problem(*arguments, code=3):
        return refused(deepvoro, tmp_path / "s", *arguments, code=code)

    assert "row 4 has label 1000" in problem(*novel, "--novel", f"b={tmp_path}/relabelled.npz")
    assert f"{ROWS - 1} rows" in problem(*novel, "--novel", f"b={tmp_path}/shorter.npz")
    assert f"{DIM - 1} dimensions" in problem(*novel, "--novel", f"b={tmp_path}/thinner.npz")
    assert f"{ROWS - 1} labels" in problem("--novel", tmp_path / "uneven.npz")
    assert f"{ROWS - 1} labels" in problem(*novel, "--novel-labels", tmp_path / "y.npy")
    assert "two files for view 'a'" in problem(*novel, "--novel", f"a={tmp_path}/a.npz", code=2)
    assert "every split needs every view" in problem(*novel, "--base", f"b={tmp_path}/a.npz", code=2)


def test_wrong_usage(deepvoro, tmp_path, features, labels):
    np.save(tmp_path / "x.npy", features)
    np.save(tmp_path / "y.npy", labels)
    (tmp_path / "x.csv").write_text("1,2")
    store = tmp_path / "s"
    assert "no feature files" in refused(deepvoro, store, code=2)
    assert "--novel-labels" in refused(deepvoro, store, "--novel", tmp_path / "x.npy", code=2)
    assert ".safetensors" in refused(deepvoro, store, "--novel", tmp_path / "x.csv", code=2)
    given = ["--novel", tmp_path / "x.npy", "--novel-labels", tmp_path / "y.npy"]
    assert "no features" in refused(deepvoro, store, *given, "--val-labels", tmp_path / "y.npy", code=2)
    assert "cannot be read" in refused(deepvoro, store, "--novel", tmp_path / "missing.npy")


def test_class_names_must_fit(deepvoro, tmp_path, features, labels):
    np.savez(tmp_path / "x.npz", features=features, labels=labels)
    names = tmp_path / "names.txt"
    for content, problem in [
        (b"a\nb\n", "has 2 names"),
        (b"a\na\nb\n", "twice"),
        (b"a\n\nb\n", "empty"),
        (b"a\n\xff\nb\n", "not UTF-8"),
        (b'["a", 2]', "JSON list"),
    ]:
        names.write_bytes(content)
        assert problem in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz", "--novel-classes", names)


def test_an_existing_folder_is_never_touched(deepvoro, tmp_path, features, labels):
    np.savez(tmp_path / "x.npz", features=features, labels=labels)
    (tmp_path / "s").mkdir()
    assert "already exists" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz", code=2)
    assert not list((tmp_path / "s").iterdir())
    missing_parent = deepvoro("store", "create", tmp_path / "no" / "where", "--novel", tmp_path / "x.npz")
    assert missing_parent.returncode == 3 and "does the folder" in missing_parent.stderr


@pytest.mark.parametrize("labels_array", [np.array([0.5] * ROWS), np.array([np.nan] * ROWS), np.full(ROWS, 2**63, np.uint64)])
def test_labels_that_are_no_whole_numbers(deepvoro, tmp_path, features, labels_array):
    np.savez(tmp_path / "x.npz", features=features, labels=labels_array)
    assert "row 0 has label" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz")


def test_zip_that_claims_more_than_it_can_hold_is_refused(deepvoro, tmp_path, features, labels):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("features.npy", b"\x93NUMPY" + bytes(1000))
    content = (tmp_path / "x.npz").read_bytes()
    claimed = content.replace(struct.pack("<I", 1006), struct.pack("<I", 0xFFFFFFF0))
    assert claimed != content
    (tmp_path / "x.npz").write_bytes(claimed)
    assert "refused as damaged" in refused(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz")


def test_info(deepvoro, tmp_path, features, labels):
    np.savez(tmp_path / "x.npz", features=features, labels=labels)
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz", "--note", "from a test")
    process = deepvoro("store", "info", tmp_path / "s")
    assert process.returncode == 0 and "novel" in process.stdout and "from a test" in process.stdout
    info = json.loads(deepvoro("store", "info", tmp_path / "s", "--json").stdout)
    sizes = np.bincount(indices(labels))
    names = ["3", "17", "80"]
    assert info["dim"] == DIM and info["views"] == [VIEW] and info["provenance"]["note"] == "from a test"
    assert info["splits"]["novel"] == {
        "samples": ROWS,
        "classes": 3,
        "smallest_class": {"name": names[sizes.argmin()], "samples": int(sizes.min())},
        "largest_class": {"name": names[sizes.argmax()], "samples": int(sizes.max())},
        "elements": ["float32"],
        "bytes": sum(path.stat().st_size for path in (tmp_path / "s/novel").iterdir()),
    }
    assert deepvoro("store", "info", tmp_path / "nothing").returncode == 3


def test_check_tells_what_is_odd(deepvoro, tmp_path):
    features = np.ones((40, 3), np.float32)
    features[7] = 0
    features[8, 1] = -1
    labels = np.repeat([0, 1, 2], [10, 12, 18])
    np.savez(tmp_path / "x.npz", features=features, labels=labels)
    create(deepvoro, tmp_path / "s", "--novel", f"a={tmp_path}/x.npz", "--novel", f"b={tmp_path}/x.npz")
    process = deepvoro("store", "check", tmp_path / "s")
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert lines[-1].startswith("ok: ")
    assert any("2 of 240 values are negative" in line and "--signed" in line for line in lines)
    assert "note: novel/a: 1 row is zero in every column" in lines
    assert "warning: novel/a and novel/b are identical, byte for byte" in lines
    assert any("2 of 3 classes have fewer than 16 samples" in line for line in lines)
    assert any("3 of 3 classes have fewer than 20 samples" in line for line in lines)


def test_check_of_a_sound_store_says_only_ok(deepvoro, make_store):
    process = deepvoro("store", "check", make_store(dim=64))
    assert process.returncode == 0 and process.stdout.startswith("ok: ") and process.stdout.count("\n") == 1


@pytest.mark.parametrize("damage", ["nan", "shape", "type", "label", "short", "missing"])
def test_check_stops_at_the_first_fault(deepvoro, tmp_path, features, labels, damage):
    np.savez(tmp_path / "x.npz", features=features, labels=labels)
    create(deepvoro, tmp_path / "s", "--novel", tmp_path / "x.npz")
    view, label_file = tmp_path / f"s/novel/{VIEW}.npy", tmp_path / "s/novel/labels.npy"
    if damage == "nan":
        features[9, 2] = np.nan
        np.save(view, features)
    elif damage == "shape":
        np.save(view, features[1:])
    elif damage == "type":
        np.save(view, features.astype(np.float64))
    elif damage == "label":
        np.save(label_file, np.full(ROWS, 3))
    elif damage == "short":
        view.write_bytes(view.read_bytes()[:-1])
    else:
        view.unlink()
    process = deepvoro("store", "check", tmp_path / "s")
    assert process.returncode == 3 and process.stdout == ""
    assert len(process.stderr.splitlines()) == 1
    assert damage != "nan" or "row 9, column 2" in process.stderr


@pytest.mark.parametrize("command", ["create", "info", "check"])
def test_help_shows_an_example(deepvoro, command):
    process = deepvoro("store", command, "--help")
    assert process.returncode == 0 and f"deepvoro store {command} " in process.stdout


def test_arrays_of_one_file(deepvoro, tmp_path, features, labels):
    np.savez(tmp_path / "all.npz", base=features, base_y=labels, novel=features + 1, novel_y=labels[::-1])
    file = tmp_path / "all.npz"
    create(deepvoro, tmp_path / "s", "--base", f"{file}::base", "--base-labels", f"{file}::base_y",
           "--novel", f"{file}::novel", "--novel-labels", f"{file}::novel_y")  # fmt: skip
    assert_stored(tmp_path / "s", features, labels, "base")
    assert_stored(tmp_path / "s", features + 1, labels[::-1], "novel")


def test_splits_of_the_same_features_are_refused(deepvoro, tmp_path, features, labels):
    np.savez(tmp_path / "x.npz", features=features, labels=labels)
    message = refused(deepvoro, tmp_path / "s", "--base", tmp_path / "x.npz", "--novel", tmp_path / "x.npz")
    assert "base and novel hold the same features" in message and "::" in message
