"""A hundred workers killed at random times: what is finished stays, the rest is made, and the result is that of one process.

Takes minutes, and is run by make test-cluster. DEEPVORO_KILLS is how many, 100 unless told."""
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from test_extract_shards import FLAGS as EXTRACT_FLAGS
from test_extract_shards import drawings  # noqa: F401 (a fixture)
from test_shards import store, with_task, without_times  # noqa: F401 (store is a fixture)
from test_study_shards import FLAGS as STUDY_FLAGS
from test_study_shards import files_of, stores  # noqa: F401 (stores is a fixture)
from test_tune_shards import FLAGS as TUNE_FLAGS
from test_tune_shards import GRID

KILLS = int(os.environ.get("DEEPVORO_KILLS", 100))
WORKERS = 2


class Campaign:
    """Work of one command: how it is divided, and what one process makes of it."""

    def __init__(self, program, folder, command, output, read):
        self.program, self.folder, self.command, self.output, self.read = program, folder, command, output, read
        self.pieces, self.out = folder / "pieces", folder / "out"
        self.finished, self.results = {}, 0
        began = time.monotonic()
        self.run(*command, output, self.out)
        self.longest = time.monotonic() - began
        self.expected = self.read_and_remove()

    def run(self, *arguments):
        subprocess.run([self.program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    def read_and_remove(self):
        found = self.read(self.out)
        shutil.rmtree(self.out) if self.out.is_dir() else self.out.unlink()
        return found

    def start(self, share):
        shard = ["--shard", f"{share}/{WORKERS}", "--out", self.pieces]
        return subprocess.Popen([self.program, *map(str, [*self.command, *shard])], stdout=subprocess.DEVNULL)

    def check_finished(self):
        """What was there is the same file."""
        now = {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in self.pieces.glob("piece-??????")}
        assert {name: now.get(name) for name in self.finished} == self.finished
        self.finished = now

    def kill_one(self, chance):
        """Starts all workers and kills one of them; whether it was still at work."""
        workers = [self.start(share) for share in range(WORKERS)]
        time.sleep(chance.uniform(0, self.longest))
        victim = chance.choice(workers)
        victim.send_signal(signal.SIGKILL)
        codes = [worker.wait() for worker in workers]
        assert all(code in (0, -signal.SIGKILL) for code in codes)
        self.check_finished()
        return -signal.SIGKILL in codes

    def finish(self):
        for _ in range(2):  # tune chooses twice
            for share in range(WORKERS):
                assert self.start(share).wait() == 0
                self.check_finished()
        self.run("merge", self.pieces, self.output, self.out)
        assert self.read_and_remove() == self.expected
        shutil.rmtree(self.pieces)
        self.finished = {}
        self.results += 1


@pytest.fixture
def campaigns(program, store, stores, drawings, tmp_path):  # noqa: F811
    evaluation = with_task(["--method", "vd,deepvoro,deepvoro++,plda,voronoi-lr,dc", "--episodes", "120"])
    tuning = ["--method", "deepvoro++", *GRID, "--neighbours", "1,3", "--betas", "1,4"]

    def campaign(name, command, output, read):
        (tmp_path / name).mkdir()
        return Campaign(program, tmp_path / name, command, output, read)

    return [
        campaign("evaluate", ["evaluate", store, *evaluation], "--json", without_times),
        campaign("tune", ["tune", store, *TUNE_FLAGS, *tuning], "--out", lambda file: file.read_bytes()),
        campaign("extract", ["extract", drawings, *EXTRACT_FLAGS], "--out", files_of),
        campaign("study", ["study", "shots", *stores, *STUDY_FLAGS], "--out", files_of),
    ]


def test_killed_workers(campaigns):
    chance = random.Random(22)
    kills = 0
    while kills < KILLS:
        campaign = campaigns[kills % len(campaigns)]
        kills += campaign.kill_one(chance)
        if chance.random() < 0.3:
            campaign.finish()
    for campaign in campaigns:
        campaign.finish()
    print(f"{kills} kills, {sum(campaign.results for campaign in campaigns)} results")
    assert all(campaign.results > 0 for campaign in campaigns)
