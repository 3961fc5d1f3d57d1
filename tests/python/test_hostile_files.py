"""Files that are made to harm, or that change or vanish under a running command, end in one line and exit code 3."""
import hashlib
import io
import json
import os
import resource
import subprocess
import tarfile
import zipfile

import h5py
import numpy as np
import pytest
from stores import random_store, view_names

BAD_DATA = 3
DEEP = 200_000


@pytest.fixture
def store(tmp_path):
    return random_store(tmp_path / "store", 8, classes=(("base", 6), ("val", 5), ("novel", 5)), class_sizes=(20, 20))


def assert_refused(process, *mentions):
    assert process.returncode == BAD_DATA, (process.returncode, process.stderr)
    assert len(process.stderr.splitlines()) == 1, process.stderr
    for mention in mentions:
        assert str(mention) in process.stderr


def nested(depth):
    return "[" * depth + "]" * depth


class TestNestedJson:
    """A few hundred thousand brackets would overflow the stack of a reader that calls itself."""

    def test_store(self, deepvoro, store):
        (store / "store.json").write_text('{"format": ' + nested(DEEP) + "}")
        assert_refused(deepvoro("store", "info", store), "store.json", "levels")

    def test_provenance_of_a_store(self, deepvoro, store):
        text = json.loads((store / "store.json").read_text())
        text["provenance"] = "HERE"
        (store / "store.json").write_text(json.dumps(text).replace('"HERE"', '{"a":' * DEEP + "1" + "}" * DEEP))
        assert_refused(deepvoro("evaluate", store, "--method", "vd"), "store.json")

    def test_pool(self, deepvoro, store, tmp_path):
        (tmp_path / "pool.json").write_text(nested(DEEP))
        assert_refused(deepvoro("evaluate", store, "--method", "deepvoro", "--pool", tmp_path / "pool.json"), "pool.json")

    def test_results(self, deepvoro, tmp_path):
        for name in "ab":
            (tmp_path / f"{name}.json").write_text(nested(DEEP))
        assert_refused(deepvoro("compare", tmp_path / "a.json", tmp_path / "b.json"), "a.json")

    def test_checkpoint(self, deepvoro, store, tmp_path):
        (tmp_path / "pool.json.partial").write_text(nested(DEEP))
        process = deepvoro("tune", store, "--method", "deepvoro", "--shots", 1, "--ways", 3, "--queries", 2, "--out", tmp_path / "pool.json")
        assert_refused(process, "pool.json.partial")

    @pytest.mark.parametrize("ending", ["safetensors", "dv"])
    def test_header_of_safetensors(self, deepvoro, tmp_path, ending):
        header = ('{"__metadata__": ' + nested(DEEP) + "}").encode()
        (tmp_path / f"file.{ending}").write_bytes(len(header).to_bytes(8, "little") + header)
        if ending == "dv":
            assert_refused(deepvoro("predict", tmp_path / "file.dv", tmp_path), "file.dv")
        else:
            assert_refused(deepvoro("store", "create", tmp_path / "out", "--novel", tmp_path / "file.safetensors"), "file.safetensors")


def test_a_key_twice_is_refused(deepvoro, store):
    text = (store / "store.json").read_text().lstrip()
    (store / "store.json").write_text('{"version": 1, ' + text[1:])
    assert_refused(deepvoro("store", "info", store), "store.json", "'version' twice")


def test_damaged_hdf5_never_ends_the_program(deepvoro, tmp_path):
    """Bytes changed at random crash the HDF5 library in some hundred tries."""
    file = tmp_path / "features.h5"
    with h5py.File(file, "w") as out:
        out.create_dataset("all_feats", data=np.random.RandomState(0).rand(40, 8).astype(np.float32), chunks=(10, 8), compression="gzip")
        out.create_dataset("all_labels", data=np.repeat(np.arange(4), 10))
        out.create_dataset("count", data=np.array([40]))
    whole = file.read_bytes()
    random = np.random.RandomState(1)
    for trial in range(60):
        damaged = bytearray(whole)
        for place in random.randint(0, len(whole), size=1 + trial % 20):
            damaged[place] = random.randint(256)
        file.write_bytes(damaged)
        process = deepvoro("store", "create", tmp_path / f"out{trial}", "--novel", file)
        assert process.returncode in (0, BAD_DATA), (trial, process.returncode, process.stderr)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith(".part")) == []


class TestGrowth:
    """300 MiB of zeros take 300 KB."""

    ZEROS = 300 << 20

    def test_arrays(self, deepvoro, tmp_path):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (self.ZEROS // 400, 100)})
        with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out, out.open("features.npy", "w") as member:
            member.write(header.getvalue())
            for _ in range(self.ZEROS >> 20):
                member.write(bytes(1 << 20))
        process = deepvoro("store", "create", tmp_path / "out", "--novel", tmp_path / "x.npz")
        assert_refused(process, "x.npz", "would unpack into", "--trust-files")

    def test_archives(self, deepvoro, tmp_path):
        with tarfile.open(tmp_path / "x.tar.gz", "w:gz", compresslevel=1) as out:
            for i in range(3):
                member = tarfile.TarInfo(f"class/{i}.png")
                member.size = self.ZEROS // 3
                out.addfile(member, open("/dev/zero", "rb"))
        assert_refused(deepvoro("fit", tmp_path / "x.tar.gz", "--out", tmp_path / "c.dv"), "x.tar.gz", "unpack into more than", "--trust-files")


    def test_pieces_of_an_evaluation(self, program, tmp_path):
        """One that says to be the first of 10^8: room for the names of all would be gigabytes."""
        text = lambda line: json.dumps(line, sort_keys=True, separators=(",", ":"))  # noqa: E731
        line = {"format": "deepvoro-piece", "version": 1, "work": {"command": "evaluate", "pieces": 10**8}, "piece": 0, "facts": {}, "bytes": 0,
                "sha256": hashlib.sha256(b"").hexdigest()}
        line["manifest_sha256"] = hashlib.sha256(text(line).encode()).hexdigest()
        pieces = tmp_path / "pieces"
        pieces.mkdir()
        (pieces / "piece-000000").write_text(text(line) + "\n")
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))  # noqa: E731
        process = subprocess.run([program, "merge", pieces, "--json", tmp_path / "result.json"], capture_output=True, text=True, preexec_fn=limit)
        assert_refused(process, pieces, "99999999 of 100000000 pieces are missing")


def test_names_that_command_a_terminal(program, tmp_path):
    store = random_store(tmp_path / "store", 8, views=1, classes=(("novel", 3),), class_sizes=(4, 4))
    classifier = tmp_path / "c.dv"
    assert subprocess.run([program, "fit", store, "--out", classifier], capture_output=True).returncode == 0
    np.save(tmp_path / "x.npy", np.random.RandomState(0).rand(1, 8).astype(np.float32))
    name = os.fsencode(tmp_path) + b"/x\x1b[31m\n\xff,.npy"
    os.rename(tmp_path / "x.npy", name)
    as_csv = subprocess.run([program, "predict", classifier, name], capture_output=True)
    assert as_csv.returncode == 0 and b"/x\\x1b[31m\\x0a\xff,.npy/0\"," in as_csv.stdout
    as_json = subprocess.run([program, "predict", classifier, name, "--json"], capture_output=True)
    assert json.loads(as_json.stdout)[0]["file"].endswith("/x\x1b[31m\n\ufffd,.npy/0") and b"\x1b" not in as_json.stdout
    damaged = subprocess.run([program, "predict", name, name], capture_output=True)
    assert damaged.returncode == BAD_DATA and b"\x1b" not in damaged.stderr and damaged.stderr.count(b"\n") == 1


def test_results_that_command_a_terminal(deepvoro, store, tmp_path):
    assert deepvoro("evaluate", store, "--method", "vd,deepvoro", "--ways", 3, "--queries", 2, "--episodes", 3, "--json", tmp_path / "r.json").returncode == 0
    (tmp_path / "r.json").write_text((tmp_path / "r.json").read_text().replace('"deepvoro"', '"deep\\u001b[31mvoro\\u009b"'))
    process = deepvoro("compare", tmp_path / "r.json")
    assert process.returncode == 0, process.stderr
    assert "deep [31mvoro " in process.stdout and "\x1b" not in process.stdout and "\x9b" not in process.stdout


def test_a_file_that_is_cut_short_while_it_is_read(program, tmp_path):
    """All of its pages past the cut are gone at once, for a program that has it mapped."""
    store = random_store(tmp_path / "large", 512, classes=(("novel", 20),), class_sizes=(400, 400), views=2)
    view = store / "novel" / f"{view_names(2)[1]}.npy"
    out = tmp_path / "result.json"
    command = [program, "evaluate", store, "--method", "deepvoro", "--episodes", "20000", "--threads", "1", "--json", out]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while view.name not in open(f"/proc/{process.pid}/maps").read() and process.poll() is None:
        pass
    os.truncate(view, 4096)
    _, errors = process.communicate()
    assert process.returncode == BAD_DATA, (process.returncode, errors)
    assert str(view) in errors
    assert not out.exists()


def test_more_threads_than_anyone_has(deepvoro, store):
    process = deepvoro("evaluate", store, "--method", "vd", "--ways", 3, "--queries", 2, "--episodes", 3, "--threads", 1_000_000)
    assert process.returncode == 0
    assert "--threads 1000000" in process.stderr and len(process.stderr.splitlines()) == 1


def test_limit_of_file_sizes(program, store, tmp_path):
    command = [program, "evaluate", store, "--method", "vd", "--ways", "3", "--queries", "2", "--scores", tmp_path / "scores.npy"]
    limits = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    process = subprocess.run(command, capture_output=True, text=True, preexec_fn=limits)
    assert_refused(process, "scores.npy", "File too large", "ulimit -f")
    assert not list(tmp_path.glob("scores*"))
