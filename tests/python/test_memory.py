"""Memory is a few transformed views at most and the influence field, however many members there are, and of a split that
is larger no more than what the episodes draw."""
import json
import os
import resource
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from stores import random_labels, write_store

CLASSES, SAMPLES_PER_CLASS, DIM = 20, 600, 640
DIFFERENT_VIEWS, VIEWS = 8, 64
EPISODES, QUERIES, WAYS = 200, 75, 5
TRANSFORMED_VIEW_BYTES = CLASSES * SAMPLES_PER_CLASS * DIM * 4
FIELD_BYTES = EPISODES * QUERIES * WAYS * 8
TRANSFORMS = [(0.0, 0.5), (0.0, 0.75), (0.0, 1.0)] + [(0.02 * times, 0) for times in range(1, 6)]
POLL_SECONDS = 0.002


def view_name(index):
    return f"view{index:02d}"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """64 views of which every eight are names of one file: the size of a real store at an eighth of its disk."""
    random = np.random.RandomState(0)
    labels = random_labels(random, [SAMPLES_PER_CLASS] * CLASSES)
    rows = np.maximum(random.normal(size=(len(labels), DIM)) + random.normal(size=(CLASSES, DIM))[labels], 0)
    files = {view_name(i): (rows + 0.01 * i).astype(np.float16) for i in range(DIFFERENT_VIEWS)}
    folder = write_store(tmp_path_factory.mktemp("memory") / "store", {"novel": (labels, files)})
    for index in range(DIFFERENT_VIEWS, VIEWS):
        existing = folder / "novel" / f"{view_name(index % DIFFERENT_VIEWS)}.npy"
        os.link(existing, folder / "novel" / f"{view_name(index)}.npy")
    description = json.loads((folder / "store.json").read_text())
    description["views"] = [view_name(index) for index in range(VIEWS)]
    (folder / "store.json").write_text(json.dumps(description))
    return folder


def members(views):
    return [
        {"view": view_name(view), "w": 1.0, "b": b, "lambda": power, "geometry": "vd"}
        for view in range(views)
        for b, power in TRANSFORMS
    ]


def anonymous_bytes(process_id):
    """Memory that is the process's own: what it maps from files can be dropped and is not counted."""
    for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def peak_anonymous_bytes(command):
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        while process.poll() is None:
            peak = max(peak, anonymous_bytes(process.pid))
            time.sleep(POLL_SECONDS)
        assert process.returncode == 0, process.stdout.read()
    return peak


@pytest.fixture
def peak_with(program, store, write_pool):
    def measure(views):
        pool = write_pool(members(views))
        flags = ["--method", "deepvoro", "--pool", pool, "--episodes", EPISODES, "--threads", 2]
        return peak_anonymous_bytes([str(part) for part in (program, "evaluate", store, *flags)])

    return measure


def test_512_members_need_no_more_memory_than_64(peak_with):
    peak_of_512 = peak_with(views=VIEWS)
    peak_of_64 = peak_with(views=VIEWS // 8)
    print(f"512 members: {peak_of_512 / 2**20:.1f} MiB, 64 members: {peak_of_64 / 2**20:.1f} MiB")
    assert peak_of_512 >= FIELD_BYTES, "the peak was missed"
    assert peak_of_512 <= 3 * TRANSFORMED_VIEW_BYTES + FIELD_BYTES
    assert peak_of_64 >= 0.8 * peak_of_512


LARGE_CLASSES, LARGE_SAMPLES, LARGE_DIM = 20, 20_000, 64
LARGE_VIEW_BYTES = LARGE_CLASSES * LARGE_SAMPLES * LARGE_DIM * 4
# Labels, places and norms of 400,000 rows and the program itself, but not half of a view.
DATA_LIMIT = 48 << 20


@pytest.fixture(scope="module")
def large_store(tmp_path_factory):
    """base and novel of 400,000 rows each, the rows of a class one after the other."""
    random = np.random.RandomState(0)
    labels = np.repeat(np.arange(LARGE_CLASSES), LARGE_SAMPLES)
    rows = random.standard_normal(size=(len(labels), LARGE_DIM)).astype(np.float32)
    rows += random.standard_normal(size=(LARGE_CLASSES, LARGE_DIM)).astype(np.float32)[labels]
    view = {"view": np.maximum(rows, 0)}
    return write_store(tmp_path_factory.mktemp("large") / "store", {"base": (labels, view), "novel": (labels, view)})


@pytest.mark.parametrize("method", ["vd", "deepvoro", "deepvoro++", "plda", "simpleshot"])
def test_a_store_larger_than_the_memory_that_is_allowed(program, large_store, method):
    """Pages of mapped files are not limited: the system can take them back."""
    flags = ["--method", method, "--episodes", 50, "--threads", 1]
    process = subprocess.run(
        [str(part) for part in (program, "evaluate", large_store, *flags)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (DATA_LIMIT, DATA_LIMIT)),
        capture_output=True,
        text=True,
    )
    assert DATA_LIMIT < LARGE_VIEW_BYTES / 2
    assert process.returncode == 0, process.stderr
