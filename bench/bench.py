#!/usr/bin/env python3
"""The benchmark table: this program against NumPy on the same data in the same run.

Answers are compared before times are printed. What takes NumPy too long is timed on fewer episodes or
views and scaled; the table says so.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# One BLAS thread in each of the two worker threads; set before NumPy is loaded.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import numpy_ways  # noqa: E402
from workloads import make_store  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/bin/deepvoro"
FACTS_PROGRAM = ROOT / "build/bin/deepvoro_bench"
DATA = ROOT / "build/bench"

VIEWS, NUMPY_VIEWS = 64, 8
EPISODES = 2000
EIGHT = [(0, 0.5), (0, 0.75), (0, 1)] + [(0.02 * i, 0) for i in range(1, 6)]
TWO = [(0, 0.75), (0.08, 0)]
BETAS = [7, 5.5, 4.5, 4, 4, 3.5, 3.5, 3, 3, 3]
CHECKED_EPISODES = 20
RUNS = 5


def program_seconds(store, *flags):
    """Best wall time of the whole process, file reading and start included."""
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([PROGRAM, "evaluate", store, *map(str, flags)], check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return best


def program_scores(store, pool, *flags):
    with tempfile.TemporaryDirectory() as folder:
        pool_file, scores = Path(folder) / "pool.json", Path(folder) / "scores.npy"
        pool_file.write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": pool}))
        subprocess.run([PROGRAM, "evaluate", store, "--pool", pool_file, "--scores", scores, *map(str, flags)],
                       check=True, stdout=subprocess.DEVNULL)
        return np.load(scores)


def facts(*arguments):
    lines = subprocess.run([FACTS_PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
    return dict(line.split(" ", 1) for line in lines.splitlines())


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def assert_same(scores, exact_sums):
    """The program's scores of the first episodes are those that NumPy finds in float64."""
    few = min(CHECKED_EPISODES, len(scores))
    np.testing.assert_allclose(-scores[:few], exact_sums(few), rtol=1e-5)


def pool_of(views, transforms, betas=()):
    members = []
    for view in views:
        for b, ladder in transforms:
            member = {"view": view, "w": 1.0, "b": b, "lambda": ladder, "geometry": "vd"}
            members += [member] if not betas else [
                {**member, "geometry": "surrogate", "R": r + 1, "beta": beta} for r, beta in enumerate(betas)]
    return members


def mixed(members):
    """The same members in another order, so that every eighth of them are of all kinds."""
    return [members[i] for i in np.random.RandomState(0).permutation(len(members))]


class Workload:
    """One row of the table."""

    def __init__(self, name, seconds, published, quickest, flops, read_bytes, machine):
        self.name, self.seconds = name, seconds
        self.published, self.quickest = published, quickest
        self.flops, self.read_bytes = flops, read_bytes
        self.bounds = flops / machine["peak"] / 1e9, read_bytes / machine["bandwidth"] / 1e9

    def row(self):
        return (f"| {self.name} | {self.seconds:.2f} s | {self.published:.0f} s | {self.published / self.seconds:.0f} | "
                f"{self.quickest:.1f} s | {self.quickest / self.seconds:.1f} | {self.flops / self.seconds / 1e9:.0f} | "
                f"{self.read_bytes / self.seconds / 1e9:.2f} | {self.bounds[0]:.2f} s | {self.bounds[1]:.2f} s | "
                f"{self.seconds / max(self.bounds):.2f} |")


HEADER = ("| workload | deepvoro | as published | times | best NumPy | times | GFLOP/s | GB/s | bound: arithmetic | "
          "bound: bytes | over the larger |\n|" + " --- |" * 11)


def load_views(store, split, count):
    description = json.loads((store / "store.json").read_text())
    return [np.load(store / split / f"{view}.npy") for view in description["views"][:count]]


def published_seconds(store, members, ways, shots, episodes, sampled_episodes=400):
    """Processes of single members, one after the other, timed with few episodes and without any, and scaled."""
    program = Path(__file__).with_name("numpy_ways.py")

    def run(member, count):
        surrogate = [member["R"], member["beta"]] if "R" in member else []
        numbers = [member["b"], member["lambda"], ways, shots, count, *surrogate]
        seconds, _ = timed(lambda: subprocess.run([sys.executable, program, store, member["view"], *map(str, numbers)],
                                                  check=True, stdout=subprocess.DEVNULL))
        return seconds

    sample = members[:: max(1, len(members) // 8)][:8]
    start = min(run(member, 0) for member in sample)
    of_episodes = np.mean([run(member, sampled_episodes) - start for member in sample])
    return len(members) * (start + max(of_episodes, 0) / sampled_episodes * episodes)


def ensemble(store, shots, machine):
    """W1: 512 Voronoi members."""
    views = load_views(store, "novel", NUMPY_VIEWS)
    labels = np.load(store / "novel/labels.npy")
    support, query = numpy_ways.draw_episodes(labels, 5, shots, 15, EPISODES)
    names = json.loads((store / "store.json").read_text())["views"]

    seconds_numpy, _ = timed(lambda: numpy_ways.quickest(views, EIGHT, support, query))
    scores = program_scores(store, pool_of(names[:NUMPY_VIEWS], EIGHT), "--method", "deepvoro", "--shots", shots)
    assert_same(scores, lambda few: numpy_ways.quickest(views, EIGHT, support[:few], query[:few], dtype=np.float64))
    published = published_seconds(store, mixed(pool_of(names, EIGHT)), 5, shots, EPISODES)
    flops = 2 * 512 * EPISODES * 75 * 5 * 640
    return Workload(f"W1, {shots}-shot", program_seconds(store, "--method", "deepvoro", "--shots", shots), published,
                    seconds_numpy * VIEWS / NUMPY_VIEWS, flops, VIEWS * views[0].nbytes, machine)


def surrogates(store, shots, machine):
    """W2: 1280 surrogate members."""
    views, base = load_views(store, "novel", NUMPY_VIEWS), load_views(store, "base", NUMPY_VIEWS)
    labels = np.load(store / "novel/labels.npy")
    support, query = numpy_ways.draw_episodes(labels, 5, shots, 15, EPISODES)
    names = json.loads((store / "store.json").read_text())["views"]
    bases = 64

    seconds_numpy, _ = timed(lambda: numpy_ways.quickest(views, TWO, support, query, base, bases, BETAS))
    scores = program_scores(store, pool_of(names[:NUMPY_VIEWS], TWO, BETAS), "--method", "deepvoro++", "--shots", shots)
    assert_same(scores, lambda few: numpy_ways.quickest(views, TWO, support[:few], query[:few], base, bases, BETAS,
                                                        dtype=np.float64))

    published = published_seconds(store, mixed(pool_of(names, TWO, BETAS)), 5, shots, EPISODES)
    flops = 2 * 128 * (EPISODES * 75 * 5 * 640 + len(labels) * bases * 640)
    seconds = program_seconds(store, "--method", "deepvoro++", "--shots", shots)
    return Workload(f"W2, {shots}-shot", seconds, published, seconds_numpy * VIEWS / NUMPY_VIEWS, flops,
                    VIEWS * (views[0].nbytes + base[0].nbytes), machine)


def one_member(store, ways, episodes, machine):
    """W3: one member, very many episodes or ways."""
    rows = load_views(store, "novel", 1)[0]
    labels = np.load(store / "novel/labels.npy")

    def quickest():
        support, query = numpy_ways.draw_episodes(labels, ways, 1, 15, episodes)
        numpy_ways.quickest([rows], [(0, 0.5)], support, query)
        return support, query

    seconds_numpy, (support, query) = timed(quickest)
    flags = ["--method", "vd", "--ways", ways, "--episodes", episodes]
    names = json.loads((store / "store.json").read_text())["views"]
    assert_same(program_scores(store, pool_of(names[:1], [(0, 0.5)]), *flags),
                lambda few: numpy_ways.quickest([rows], [(0, 0.5)], support[:few], query[:few], dtype=np.float64))
    published = published_seconds(store, pool_of(names[:1], [(0, 0.5)]), ways, 1, episodes,
                                  sampled_episodes=400 if ways == 5 else 1)
    flops = 2 * episodes * ways * 15 * ways * rows.shape[1]
    return Workload(f"W3, {ways}-way, {episodes} episodes", program_seconds(store, *flags), published, seconds_numpy, flops,
                    rows.nbytes, machine)


def seconds_of_surrogates(store, pairs):
    """Time of all (R, beta) pairs, R ascending, on 16 views and two transformations."""
    names = json.loads((store / "store.json").read_text())["views"][:16]
    members = [{"view": view, "w": 1.0, "b": b, "lambda": ladder, "geometry": "surrogate", "R": r, "beta": beta}
               for view in names for b, ladder in TWO for r, beta in pairs]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pool.json"
        file.write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": members}))
        return program_seconds(store, "--method", "deepvoro++", "--pool", file)


def main():
    for program in (PROGRAM, FACTS_PROGRAM):
        if not program.exists():
            sys.exit(f"{program} is missing: run `make bench`")
    main_store = make_store(DATA / "20x600", {"novel": (20, 600), "base": (64, 60)}, view_count=VIEWS)
    many_classes = make_store(DATA / "300x20", {"novel": (300, 20)})

    machine_facts = facts("machine")
    machine = {"peak": float(machine_facts["peak_gflops"]), "bandwidth": float(machine_facts["bandwidth_gbytes"])}
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    print(f"{processor}, {machine_facts['threads']} cores, {machine_facts['isa']}; measured: fused multiply-add "
          f"{machine['peak']:.0f} GFLOP/s, reading memory {machine['bandwidth']:.1f} GB/s; NumPy {np.__version__}, "
          f"Python {platform.python_version()}\n", flush=True)
    print(HEADER, flush=True)
    for measure in (lambda: ensemble(main_store, 1, machine), lambda: ensemble(main_store, 5, machine),
                    lambda: surrogates(main_store, 1, machine), lambda: surrogates(main_store, 5, machine),
                    lambda: one_member(main_store, 5, 10000, machine), lambda: one_member(many_classes, 200, 200, machine)):
        print(measure().row(), flush=True)
    one_pair = seconds_of_surrogates(main_store, [(1, BETAS[0])])
    ten_pairs = seconds_of_surrogates(main_store, list(enumerate(BETAS, 1)))
    grid = seconds_of_surrogates(main_store, [(r, 0.5 * step) for r in range(1, 11) for step in range(1, 21)])
    print(f"\nTen values of R cost {ten_pairs / one_pair:.2f} times one value; a grid of 200 pairs (R, beta) "
          f"{grid / one_pair:.2f} times one pair.")
    latency = facts("latency", main_store)
    print(f"W4, one query, features given: {float(latency['deepvoro_median_ms']):.2f} ms median with 512 members, "
          f"{float(latency['deepvoro++_median_ms']):.2f} ms with 1280.")
    print("\nAs published: a process for each member, one after the other, one episode at a time; eight members timed with few "
          f"episodes and scaled. Best NumPy: {NUMPY_VIEWS} of {VIEWS} views timed and scaled (W3: all). deepvoro: "
          f"everything, best of {RUNS} runs of the whole process.")


if __name__ == "__main__":
    main()
