"""--shard mpi: processes of mpirun take pieces from one another, and what they leave merges to the bytes of one process.

DEEPVORO_ALL_RANKS=1 runs everything with 1, 2, 3 and 4 processes (make test-cluster)."""
import os
import signal
import time
from pathlib import Path

import mpirun
import pytest
from test_extract_shards import FLAGS as EXTRACT_FLAGS
from test_extract_shards import drawings  # noqa: F401 (a fixture)
from test_extract_shards import files_of as files_of_store
from test_shards import one_process, store, with_task, without_times  # noqa: F401 (store is a fixture)
from test_study_shards import FLAGS as STUDY_FLAGS
from test_study_shards import files_of as files_of_study
from test_study_shards import stores  # noqa: F401 (a fixture)
from test_tune_shards import FLAGS as TUNE_FLAGS
from test_tune_shards import GRID

mpirun.skip_without_mpi()

ALL_RANKS = [1, 2, 3, 4]


def ranks(*some):
    return pytest.mark.parametrize("ranks", ALL_RANKS if os.environ.get("DEEPVORO_ALL_RANKS") else some)


def made_by(ranks, *arguments):
    process = mpirun.run(ranks, *arguments)
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("\n") == 1
    assert f"the work of {ranks} process{'es' if ranks > 1 else ''} is done" in process.stdout
    return process.stdout


def times_of(pieces):
    return {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in pieces.glob("piece-??????")}


@ranks(1, 4)
def test_evaluate(deepvoro, store, tmp_path, ranks):  # noqa: F811
    arguments = with_task(["--method", "vd,deepvoro,deepvoro++,plda", "--shots", "1,2"])
    expected = one_process(deepvoro, store, tmp_path / "one.json", *arguments)
    shard = ["evaluate", store, *arguments, "--shard", "mpi", "--out", tmp_path / "pieces"]
    assert "960 pieces made, 0 were there" in made_by(ranks, *shard)
    process = deepvoro("merge", tmp_path / "pieces", "--json", tmp_path / "merged.json")
    assert process.returncode == 0, process.stderr
    assert without_times(tmp_path / "merged.json") == expected


@ranks(3)
@pytest.mark.parametrize(
    "arguments",
    [
        ("--method", "deepvoro", *GRID, "--top-k", "2"),
        ("--method", "deepvoro++", *GRID, "--neighbours", "1,3", "--betas", "1,4"),
        ("--method", "plda", "--shrink-within", "0.3,0.6", "--shrink-between", "0.1", "--kappas", "1,2"),
    ],
    ids=["deepvoro", "deepvoro++", "plda"],
)
def test_tune_chooses_twice_in_one_run(deepvoro, store, tmp_path, arguments, ranks):  # noqa: F811
    flags = ["tune", store, *TUNE_FLAGS, *arguments, "--out"]
    assert deepvoro(*flags, tmp_path / "one.json").returncode == 0
    made_by(ranks, *flags, tmp_path / "pieces", "--shard", "mpi")
    process = deepvoro("merge", tmp_path / "pieces", "--out", tmp_path / "merged.json")
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "merged.json").read_bytes() == (tmp_path / "one.json").read_bytes()


@ranks(2)
def test_extract(deepvoro, drawings, tmp_path, ranks):  # noqa: F811
    flags = ["extract", drawings, *EXTRACT_FLAGS, "--out"]
    assert deepvoro(*flags, tmp_path / "one").returncode == 0
    made_by(ranks, *flags, tmp_path / "pieces", "--shard", "mpi")
    process = deepvoro("merge", tmp_path / "pieces", "--out", tmp_path / "merged")
    assert process.returncode == 0, process.stderr
    assert files_of_store(tmp_path / "merged") == files_of_store(tmp_path / "one")


@ranks(4)
def test_study(deepvoro, stores, tmp_path, ranks):  # noqa: F811
    flags = ["study", "shots", *stores, *STUDY_FLAGS, "--out"]
    out = tmp_path / "out"
    assert deepvoro(*flags, out).returncode == 0
    expected = files_of_study(out)
    out.rename(tmp_path / "one")
    made_by(ranks, *flags, tmp_path / "pieces", "--shard", "mpi")
    process = deepvoro("merge", tmp_path / "pieces", "--out", out)
    assert process.returncode == 0, process.stderr
    assert files_of_study(out) == expected


def test_one_process_without_mpirun_says_so(deepvoro, store, tmp_path):  # noqa: F811
    arguments = with_task(["--method", "vd", "--episodes", "3"])
    process = deepvoro("evaluate", store, *arguments, "--shard", "mpi", "--out", tmp_path / "pieces", env=mpirun.ENVIRONMENT)
    assert process.returncode == 0, process.stderr
    assert "the work of 1 process (not started by mpirun) is done" in process.stdout


def test_all_fail_and_one_complains(tmp_path):
    process = mpirun.run(3, "evaluate", tmp_path / "nothing", "--method", "vd", "--shard", "mpi", "--out", tmp_path / "p")
    assert process.returncode == 3
    assert process.stderr.count("deepvoro:") == 1
    assert "nothing" in process.stderr


def test_a_piece_of_other_work_ends_all_processes(store, tmp_path):  # noqa: F811
    shard = ["--method", "vd", "--shard", "mpi", "--out", tmp_path / "pieces"]
    made_by(2, "evaluate", store, *with_task(["--seed", "4"]), *shard)
    process = mpirun.run(2, "evaluate", store, *with_task(["--seed", "5"]), *shard)
    assert process.returncode == 3
    assert process.stderr.count("deepvoro:") == 1
    assert "seed 4, not 5" in process.stderr


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_after_a_killed_rank_the_rest_is_made(deepvoro, store, tmp_path):  # noqa: F811
    arguments = with_task(["--method", "dc,voronoi-lr", "--episodes", "120"])
    expected = one_process(deepvoro, store, tmp_path / "one.json", *arguments)
    pieces = tmp_path / "pieces"
    shard = ["evaluate", store, *arguments, "--shard", "mpi", "--out", pieces]
    process = mpirun.start(3, *shard)
    while process.poll() is None and len(times_of(pieces)) < 20:
        time.sleep(0.001)
    os.kill(children_of(process.pid)[-1], signal.SIGKILL)
    _, stderr = process.communicate()
    assert process.returncode != 0
    assert "signal 9" in stderr
    finished = times_of(pieces)
    assert 20 <= len(finished) < 240
    assert f"{240 - len(finished)} pieces made, {len(finished)} were there" in made_by(2, *shard)
    now = times_of(pieces)
    assert {name: now[name] for name in finished} == finished
    assert deepvoro("merge", pieces, "--json", tmp_path / "merged.json").returncode == 0
    assert without_times(tmp_path / "merged.json") == expected
