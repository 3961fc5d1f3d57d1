"""examples/slurm under a real Slurm: an array job and a dependent job that merges give the bytes of one process.

Takes a minute, and is run by make test-cluster."""
import os

import one_node_slurm
import pytest
from conftest import REPOSITORY
from test_shards import without_times

if reason := one_node_slurm.why_not():
    pytest.skip(reason, allow_module_level=True)

STORE = REPOSITORY / "data/quickdraw"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with one_node_slurm.one_node_slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture(scope="module")
def one_process(deepvoro, tmp_path_factory):
    result = tmp_path_factory.mktemp("one") / "one.json"
    process = deepvoro("evaluate", STORE, "--method", "vd,deepvoro", "--shots", "1,5", "--threads", "4", "--json", result)
    assert process.returncode == 0, process.stderr
    return without_times(result)


@pytest.mark.parametrize("tasks", [1, 3])
def test_an_array_and_its_merge(slurm, program, one_process, tmp_path, tasks):
    result = tmp_path / "result.json"
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}", "SBATCH_OUTPUT": str(tmp_path / "%A-%a.log")}
    slurm.run(REPOSITORY / "examples/slurm/submit.sh", STORE, tmp_path / "pieces", result, tasks, env=path)
    slurm.wait_for_jobs()
    logs = [log.read_text() for log in sorted(tmp_path.glob("*.log"))]
    assert sum("is done" in log for log in logs) == tasks, logs
    assert without_times(result) == one_process


def test_any_tasks_of_an_array_can_be_sent_later(slurm, deepvoro, program, one_process, tmp_path):
    pieces, result = tmp_path / "pieces", tmp_path / "result.json"
    env = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "SBATCH_OUTPUT": str(tmp_path / "%A-%a.log"),
        **{"STORE": str(STORE), "PIECES": str(pieces), "SHARES": "5"},
    }
    for tasks in ("0,2-3", "1,4"):
        slurm.run("sbatch", f"--array={tasks}", REPOSITORY / "examples/slurm/evaluate.sbatch", env=env)
        slurm.wait_for_jobs()
    logs = "".join(log.read_text() for log in tmp_path.glob("*.log"))
    assert logs.count("pieces made, 0 were there") == 5, logs
    assert deepvoro("merge", pieces, "--json", result).returncode == 0
    assert without_times(result) == one_process
