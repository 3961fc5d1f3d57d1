"""FeatureStore gives the files themselves as arrays; create_store does what `deepvoro store create` does."""
import json
import pickle
import shutil

import deepvoro
import h5py
import numpy as np
import pytest


@pytest.fixture(params=[np.float16, np.float32])
def folder(request, make_store):
    return make_store(dim=12, views=2, class_sizes=(20, 24), dtype=request.param)


def mapped_ranges(file):
    """Where the kernel has mapped this file into our memory."""
    for line in open("/proc/self/maps"):
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].rstrip("\n") == str(file):
            yield tuple(int(number, 16) for number in fields[0].split("-"))


def test_features_are_the_mapped_file(folder):
    file = folder / "novel" / "s84_r0_f1.npy"
    rows = deepvoro.FeatureStore(folder).features("novel", "s84_r0_f1")
    np.testing.assert_array_equal(rows, np.load(file))
    assert rows.dtype == np.load(file).dtype
    first, last = rows.ctypes.data, rows.ctypes.data + rows.nbytes
    assert any(begin <= first and last <= end for begin, end in mapped_ranges(file))
    assert not rows.flags.owndata and not rows.flags.writeable
    with pytest.raises(ValueError):
        rows[0, 0] = 1
    assert np.shares_memory(rows[3:5], rows)


def test_an_array_outlives_its_store_and_then_lets_go_of_the_file(folder):
    file = folder / "novel" / "s84_r0_f0.npy"
    rows = deepvoro.FeatureStore(folder).features("novel")
    np.testing.assert_array_equal(rows, np.load(file))
    part = rows[2:]
    del rows
    assert list(mapped_ranges(file))
    np.testing.assert_array_equal(part, np.load(file)[2:])
    del part
    assert not list(mapped_ranges(file))


def test_says_what_it_holds(folder):
    store = deepvoro.FeatureStore(str(folder))
    meta = json.loads((folder / "store.json").read_text())
    assert (store.dim, store.views, store.splits) == (meta["dim"], meta["views"], meta["splits"])
    assert store.provenance == meta["provenance"] and store.path == str(folder)
    np.testing.assert_array_equal(store.labels("val"), np.load(folder / "val" / "labels.npy"))
    assert store.labels("val").dtype == np.int64
    check = store.check()
    assert check["files"] == 10 and check["values"] == sum(s["samples"] for s in store.splits.values()) * 2 * 12
    assert repr(store) == f"FeatureStore('{folder}')"
    assert pickle.loads(pickle.dumps(store)).sha256() == store.sha256()


def test_what_is_missing_is_named(folder):
    store = deepvoro.FeatureStore(folder)
    with pytest.raises(ValueError, match="train"):
        store.labels("train")
    with pytest.raises(ValueError, match="other"):
        store.features("novel", "other")


def contents(folder):
    return {
        file.relative_to(folder): file.read_bytes() for file in sorted(folder.rglob("*.npy"))
    }, json.loads((folder / "store.json").read_text())


class TestCreate:
    def rows(self, seed=0, samples=12):
        random = np.random.RandomState(seed)
        return random.rand(samples, 5).astype(np.float32), random.permutation(np.repeat([4, 2, 9], samples // 3))

    def files(self, tmp_path):
        X, y = self.rows()
        np.savez(tmp_path / "a.npz", features=X, labels=y)
        with h5py.File(tmp_path / "b.hdf5", "w") as file:
            file["all_feats"], file["all_labels"], file["count"] = self.rows(1)[0], y, [len(y)]
        with open(tmp_path / "c.plk", "wb") as file:
            pickle.dump({label: list(X[y == label] + 1) for label in (4, 2, 9)}, file)
        np.savez(tmp_path / "d.npz", mine=X + 2, others=y)
        np.save(tmp_path / "e.npy", X + 3)
        np.save(tmp_path / "labels.npy", y)
        (tmp_path / "names.txt").write_text("two\nfour\nnine\n")

    def test_a_file_that_unpacks_to_far_more_than_it_holds_is_read_on_request(self, tmp_path):
        file = tmp_path / "zeros.npz"
        shape = (300 << 10, 128)  # 300 MiB, of which there are 300 KB in the file
        np.savez_compressed(file, features=np.zeros(shape), labels=np.arange(shape[0]) % 2)
        with pytest.raises(ValueError, match="would unpack into.*`trust_files`"):
            deepvoro.create_store(tmp_path / "new", novel=file)
        store = deepvoro.create_store(tmp_path / "new", novel=file, dtype="float16", trust_files=True)
        assert store.features("novel").shape == shape and not store.features("novel").any()
        with pytest.raises(ValueError, match="would unpack into"):
            deepvoro.create_store(tmp_path / "again", novel=file)

    @pytest.mark.parametrize(
        ("flags", "arguments"),
        [
            (["--novel", "a.npz", "--note", "hello"], {"novel": "a.npz", "note": "hello"}),
            (["--base", "b.hdf5", "--novel", "c.plk", "--dtype", "float16"], {"base": "b.hdf5", "novel": "c.plk", "dtype": "float16"}),
            (["--novel", "d.npz::mine", "--novel-labels", "d.npz::others"], {"novel": "d.npz::mine", "labels": {"novel": "d.npz::others"}}),
            (["--novel", "d.npz", "--features", "mine", "--labels", "others"], {"novel": "d.npz", "features_name": "mine", "labels_name": "others"}),
            (
                ["--val", "one=a.npz", "--val", "two=e.npy", "--val-labels", "labels.npy", "--val-classes", "names.txt"],
                {"val": {"one": "a.npz", "two": "e.npy"}, "labels": {"val": "labels.npy"}, "classes": {"val": "names.txt"}},
            ),
        ],
    )
    def test_from_files_as_the_program_does(self, tmp_path, deepvoro, monkeypatch, flags, arguments):
        import deepvoro as package

        self.files(tmp_path)
        monkeypatch.chdir(tmp_path)
        done = deepvoro("store", "create", "by-program", *flags)
        assert done.returncode == 0, done.stderr
        store = package.create_store("by-package", **arguments)
        assert contents(tmp_path / "by-package") == contents(tmp_path / "by-program")
        assert store.check()["files"] > 0

    def test_from_arrays(self, tmp_path):
        X, y = self.rows()
        names = np.array(["cat", "ant", "bee"])[np.searchsorted([2, 4, 9], y)]
        store = deepvoro.create_store(tmp_path / "store", novel={"a": (X, names), "b": (X * 2, names)}, note="mine")
        assert store.views == ["a", "b"] and store.splits["novel"]["classes"] == ["ant", "bee", "cat"]
        np.testing.assert_array_equal(store.features("novel", "b"), X * 2)
        np.testing.assert_array_equal(np.array(store.splits["novel"]["classes"])[store.labels("novel")], names)
        assert store.provenance["note"] == "mine"

    def test_from_a_table_of_easyfsl(self, tmp_path):
        X, y = self.rows()
        table = {"embedding": list(X.astype(np.float64)), "class_name": [f"class {label}" for label in y]}
        store = deepvoro.create_store(tmp_path / "store", novel=table)
        np.testing.assert_array_equal(store.features("novel"), X)
        assert store.splits["novel"]["classes"] == ["class 2", "class 4", "class 9"]

    def test_from_an_array_of_easy(self, tmp_path):
        by_class = np.random.RandomState(0).rand(6, 4, 5)
        store = deepvoro.create_store(tmp_path / "store", base=by_class[:4], novel=by_class[4:])
        np.testing.assert_array_equal(store.features("novel"), by_class[4:].reshape(8, 5).astype(np.float32))
        np.testing.assert_array_equal(store.labels("base"), np.repeat(np.arange(4), 4))

    def test_what_is_wrong_is_said_and_nothing_is_left(self, tmp_path):
        X, y = self.rows()
        for novel, message in [
            ((X, y[:3]), "a label for each"),
            (X, r"\[classes, samples, dim\]"),
            (tmp_path / "none.npz", "none.npz"),
            ((np.full_like(X, np.nan), y), "nan"),
        ]:
            with pytest.raises(ValueError, match=message):
                deepvoro.create_store(tmp_path / "store", novel=novel)
            assert not (tmp_path / "store").exists()
        with pytest.raises(ValueError, match="dtype float64"):
            deepvoro.create_store(tmp_path / "store", novel=(X, y), dtype="float64")
        (tmp_path / "there").mkdir()
        with pytest.raises(ValueError, match="there"):
            deepvoro.create_store(tmp_path / "there", novel=(X, y))


def test_a_damaged_store_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "store")
    (tmp_path / "store" / "novel" / "s84_r0_f0.npy").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="s84_r0_f0.npy"):
        deepvoro.FeatureStore(tmp_path / "store").features("novel")
