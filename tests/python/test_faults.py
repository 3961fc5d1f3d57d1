"""What goes wrong around the program, a full disk or a closed output, ends in one line and leaves nothing half-written."""
import ctypes
import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from stores import random_store

BAD_DATA, INTERNAL = 3, 4
TASK = ["--ways", "3", "--queries", "2", "--episodes", "20"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return random_store(tmp_path_factory.mktemp("faults") / "store", 8, classes=(("base", 6), ("val", 5), ("novel", 5)), class_sizes=(20, 20))


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    """40 MB of them."""
    file = tmp_path_factory.mktemp("features") / "x.npz"
    np.savez(file, features=np.random.RandomState(0).rand(10_000, 1000).astype(np.float32), labels=np.arange(10_000) % 10)
    return file


def run(command, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True, **options}
    return subprocess.run([str(part) for part in command], **options)


def assert_one_line(process, code, *mentions):
    assert process.returncode == code, (process.returncode, process.stderr)
    assert len(process.stderr.splitlines()) == 1, process.stderr
    for mention in mentions:
        assert str(mention) in process.stderr


class TestFullDisk:
    ADVICE = "No space left on device; make room or write to another disk"

    @pytest.fixture
    def disk(self, tmp_path):
        """Of 64 KiB."""
        folder = tmp_path / "disk"
        folder.mkdir()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=64k") != 0:
            pytest.skip("only an administrator can mount a small disk")
        yield folder
        assert libc.umount(os.fsencode(folder)) == 0

    def test_an_output_that_does_not_fit(self, program, store, disk):
        big = [program, "evaluate", store, "--method", "vd", "--ways", "5", "--queries", "15", "--episodes", "500", "--scores", disk / "scores.npy"]
        assert_one_line(run(big), BAD_DATA, disk / "scores.npy", self.ADVICE)
        assert list(disk.iterdir()) == []

    def test_a_store_that_does_not_fit(self, program, features, disk):
        assert_one_line(run([program, "store", "create", disk / "new", "--novel", features]), BAD_DATA, self.ADVICE)
        assert list(disk.iterdir()) == []

    def test_no_room_for_a_folder(self, program, features, disk):
        (disk / "all").write_bytes(bytes(64 << 10))
        process = run([program, "store", "create", disk / "new", "--novel", features])
        assert_one_line(process, BAD_DATA, self.ADVICE)
        assert [path.name for path in disk.iterdir()] == ["all"]

    def test_a_checkpoint_that_does_not_fit(self, program, store, disk):
        (disk / "all").write_bytes(bytes(64 << 10))
        process = run([program, "tune", store, "--method", "deepvoro", "--shots", "1", *TASK, "--out", disk / "pool.json"])
        assert_one_line(process, BAD_DATA, self.ADVICE)
        assert [path.name for path in disk.iterdir()] == ["all"]


def test_a_device_that_is_full(program, store):
    process = run([program, "evaluate", store, "--method", "vd", *TASK, "--json", "/dev/full"])
    assert_one_line(process, BAD_DATA, "/dev/full", "No space left on device")


class TestReadOnlyFolder:
    @pytest.fixture
    def locked(self):
        """Where there is a real one, nobody may write to /sys, not even an administrator."""
        new = Path("/sys/new")
        try:
            new.touch()
        except OSError:
            return new
        new.unlink()
        pytest.skip("/sys is a folder like any other here")

    def test_store(self, program, features, locked):
        assert_one_line(run([program, "store", "create", locked, "--novel", features]), BAD_DATA, "/sys/new: cannot be created", "; may you write there?")

    def test_result(self, program, store, locked):
        assert_one_line(run([program, "evaluate", store, "--method", "vd", *TASK, "--json", locked]), BAD_DATA, "/sys/new: cannot be created", "; may you write there?")

    def test_pool(self, program, store, locked):
        process = run([program, "tune", store, "--method", "vd", "--shots", "1", *TASK, "--out", locked])
        assert_one_line(process, BAD_DATA, "/sys/new", "; may you write there?")


class TestStandardOutput:
    def test_full(self, program, store, tmp_path):
        classifier = tmp_path / "c.dv"
        assert run([program, "fit", store, "--out", classifier]).returncode == 0
        with open("/dev/full", "w") as full:
            for command in (["store", "info", store], ["evaluate", store, "--method", "vd", *TASK], ["predict", classifier, store],
                            ["predict", classifier, store, "--json"], ["--help"], ["--version"]):
                assert_one_line(run([program, *command], stdout=full), BAD_DATA, "standard output cannot be written")

    def test_closed(self, program, store, tmp_path):
        result = tmp_path / "result.json"
        process = run([program, "evaluate", store, "--method", "vd", *TASK, "--json", result], stdout=None, preexec_fn=lambda: os.close(1))
        assert_one_line(process, BAD_DATA, "standard output cannot be written")
        # Whatever was printed did not end up in a file that took the place of the standard output.
        assert not result.exists() or json.loads(result.read_text())["format"] == "deepvoro-result"

    def test_a_reader_that_goes_away(self, program, store):
        reader, writer = os.pipe()
        os.close(reader)
        process = run([program, "store", "info", store], stdout=writer)
        os.close(writer)
        assert process.returncode in (BAD_DATA, -13) and len(process.stderr.splitlines()) <= 1

    def test_closed_errors(self, program, tmp_path):
        process = run([program, "store", "info", tmp_path / "none"], stderr=None, preexec_fn=lambda: os.close(2))
        assert process.returncode == BAD_DATA


class TestMemory:
    @staticmethod
    def limited(megabytes):
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    def test_of_a_file(self, program, features, tmp_path):
        process = run([program, "store", "create", tmp_path / "new", "--novel", features], preexec_fn=self.limited(140))
        assert_one_line(process, BAD_DATA, features, "needs more memory than is available")
        assert list(tmp_path.iterdir()) == []

    def test_of_episodes(self, program, store):
        command = [program, "evaluate", store, "--method", "vd", "--ways", "5", "--queries", "15", "--episodes", "1000000", "--threads", "1"]
        assert_one_line(run(command, preexec_fn=self.limited(300)), INTERNAL, "out of memory", "--episodes")


class TestVanishingInputs:
    @pytest.mark.parametrize("name", ["store.json", "novel/labels.npy", "novel/s84_r0_f0.npy"])
    def test_a_file_of_a_store(self, program, tmp_path, name):
        store = random_store(tmp_path / "store", 8, classes=(("novel", 5),), class_sizes=(20, 20))
        (store / name).unlink()
        assert_one_line(run([program, "evaluate", store, "--method", "deepvoro", *TASK]), BAD_DATA, store / name)

    def test_the_folder_it_runs_in(self, program, store):
        """Paths that begin with no slash lead nowhere then."""
        with tempfile.TemporaryDirectory() as name:
            gone = Path(name) / "gone"
            gone.mkdir()
            process = run(["sh", "-c", f'cd "{gone}" && rmdir "{gone}" && exec "{program}" evaluate "{store}" --method vd --json result.json --episodes 5'])
        assert_one_line(process, BAD_DATA, "result.json")


class TestOpenFiles:
    def test_ten_thousand_are_open_already(self, program, store, tmp_path):
        most = 10_000
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < most + 100:
            pytest.skip("this system allows fewer open files")
        plain = run([program, "evaluate", store, "--method", "vd", *TASK])

        def open_many():
            resource.setrlimit(resource.RLIMIT_NOFILE, (most + 100, most + 100))
            for _ in range(most):
                os.set_inheritable(os.open("/dev/null", os.O_RDONLY), True)

        crowded = run([program, "evaluate", store, "--method", "vd", *TASK], preexec_fn=open_many, close_fds=False)
        assert (crowded.returncode, crowded.stdout) == (0, plain.stdout), crowded.stderr

    def test_few_are_allowed(self, program, tmp_path):
        store = random_store(tmp_path / "store", 8, views=60, classes=(("novel", 5),), class_sizes=(20, 20))
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))  # noqa: E731
        process = run([program, "evaluate", store, "--method", "deepvoro", *TASK], preexec_fn=few)
        assert process.returncode == 0, process.stderr


class TestLongestNames:
    """A name may have 255 bytes; what is written beside it until it is complete needs a name as well."""

    @staticmethod
    def longest(ending):
        return "n" * (255 - len(ending)) + ending

    def test_results(self, program, store, tmp_path):
        outputs = [tmp_path / self.longest(".json"), tmp_path / self.longest(".npy")]
        process = run([program, "evaluate", store, "--method", "vd", *TASK, "--json", outputs[0], "--scores", outputs[1]])
        assert process.returncode == 0, process.stderr
        assert sorted(tmp_path.iterdir()) == outputs

    def test_pool(self, program, store, tmp_path):
        pool = tmp_path / self.longest(".json")
        command = [program, "tune", store, "--method", "deepvoro", "--shots", "1", *TASK, "--out", pool]
        process = run(command)
        assert process.returncode == 0, process.stderr
        assert list(tmp_path.iterdir()) == [pool]

    def test_classifier_and_store(self, program, store, features, tmp_path):
        classifier, new = tmp_path / self.longest(".dv"), tmp_path / self.longest("")
        for command in (["fit", store, "--out", classifier], ["add", classifier, "val-000", store, "--split", "val"],
                        ["store", "create", new, "--novel", features]):
            process = run([program, *command])
            assert process.returncode == 0, process.stderr
        assert sorted(tmp_path.iterdir()) == sorted([classifier, new])

    def test_a_byte_more(self, program, store, tmp_path):
        name = tmp_path / ("n" + self.longest(".json"))
        assert_one_line(run([program, "evaluate", store, "--method", "vd", *TASK, "--json", name]), BAD_DATA, name, "File name too long")
        assert list(tmp_path.iterdir()) == []


def test_a_clock_that_goes_back(program, store, tmp_path):
    clock = os.environ.get("DEEPVORO_BACKWARD_CLOCK")
    if not clock:
        pytest.skip("DEEPVORO_BACKWARD_CLOCK is not set; ctest sets it")
    outputs = []
    for env in ({}, {"LD_PRELOAD": clock}):
        pool = tmp_path / f"pool{len(outputs)}.json"
        process = run([program, "tune", store, "--method", "deepvoro", "--shots", "1", *TASK, "--out", pool], env={**os.environ, **env})
        assert process.returncode == 0, process.stderr
        outputs.append(json.loads(pool.read_text())["members"])
    assert outputs[0] == outputs[1]
