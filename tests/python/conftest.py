import json
import os
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pytest
from stores import random_store

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("DEEPVORO_BIN", REPOSITORY / "build/bin/deepvoro"))
SHARED = Path(os.environ.get("DEEPVORO_SHARED", REPOSITORY.parent / "shared"))


@dataclass(frozen=True)
class Evaluation:
    result: dict
    scores: np.ndarray
    scores_bytes: bytes
    stdout: str
    stderr: str


def task_flags(task):
    return [part for name, value in asdict(task).items() for part in (f"--{name}", str(value))]


@pytest.fixture(scope="session")
def program():
    if not PROGRAM.is_file():
        pytest.fail(f"{PROGRAM} is missing: run `make build` or set DEEPVORO_BIN", pytrace=False)
    return PROGRAM.resolve()


@pytest.fixture(scope="session")
def deepvoro(program):
    def run(*arguments, env=None):
        return subprocess.run(
            [program, *map(str, arguments)],
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
        )

    return run


@pytest.fixture
def evaluate(deepvoro, tmp_path):
    def run(store, method, *flags, task=None, env=None):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        result, scores = folder / "result.json", folder / "scores.npy"
        outputs = ["--json", result, "--scores", scores]
        task_arguments = task_flags(task) if task else []
        process = deepvoro("evaluate", store, "--method", method, *task_arguments, *flags, *outputs, env=env)
        assert process.returncode == 0, process.stderr
        return Evaluation(
            json.loads(result.read_text(encoding="utf-8")),
            np.load(scores),
            scores.read_bytes(),
            process.stdout,
            process.stderr,
        )

    return run


@pytest.fixture(scope="session")
def make_store(tmp_path_factory):
    """Random stores, one for each set of parameters. Tests that damage a store make their own."""
    made = {}

    def make(**parameters):
        key = tuple(sorted(parameters.items()))
        if key not in made:
            made[key] = random_store(tmp_path_factory.mktemp("store") / "store", **parameters)
        return made[key]

    return make


@pytest.fixture
def write_pool(tmp_path):
    def write(members):
        path = tmp_path / "pool.json"
        path.write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": members}))
        return path

    return write


@pytest.fixture(scope="session")
def cub_store():
    path = SHARED / "stores/cub-wrn28-10"
    if not (path / "store.json").is_file():
        pytest.skip(f"no CUB features at {path}: set DEEPVORO_SHARED to the folder that holds stores/cub-wrn28-10")
    return path
