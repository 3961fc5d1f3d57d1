#!/usr/bin/env python3
"""Runs every harness in turn and tells how many executions each had.

usage: run.py BUILD MINUTES [HARNESS...]     the build folder of the preset fuzz; minutes in all; some harnesses instead of all

Goes on from where the last run of the same build folder stopped: what was found is in BUILD/corpus, the sums of all runs are
in BUILD/executions.json, and inputs that broke something are in BUILD/broken. Ends with 1 if there are any.
"""
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# An input that needs more is a finding.
LONGEST_SECONDS, MOST_MEGABYTES = 10, 2048
LONGEST_INPUT = 4096
DICTIONARIES = {
    "http": ["http_request"],
    "npy": ["npy", "store_rows"],
    "archive": ["npz", "archive", "tfjs"],
    "pickle": ["pickle"],
    "pictures": ["jpeg", "png", "gif", "tiff", "webp", "heif", "bmp", "exif"],
    "json": ["json", "pool", "store", "results", "report_input", "list_json", "safetensors", "model", "classifier", "statistics",
             "checkpoint", "kept_step", "piece", "tfjs_model", "onnx_about", "class_names"],
}


def dictionary(harness):
    return [f"-dict={HERE / 'dictionaries' / name}.dict" for name, users in DICTIONARIES.items() if harness in users]


def kept(harness, folder):
    """The inputs of the repository, unpacked."""
    archive = HERE / "corpus" / f"{harness}.tar.gz"
    if archive.exists():
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                (folder / member.name).write_bytes(tar.extractfile(member).read())


def forget_waiting(program, env, found):
    """Whether all that was found are inputs that waited for a busy machine: those are removed."""
    for file in found:
        before = os.times()
        process = subprocess.run([program, file], env=env, capture_output=True)
        after = os.times()
        needed = after.children_user + after.children_system - before.children_user - before.children_system
        if "-timeout-" not in file.name or process.returncode != 0 or needed > LONGEST_SECONDS:
            return False
    for file in found:
        file.unlink()
    return bool(found)


def fuzz(build, harness, seconds):
    corpus, broken = build / "corpus" / harness, build / "broken"
    corpus.mkdir(parents=True, exist_ok=True)
    broken.mkdir(exist_ok=True)
    kept(harness, corpus)
    command = [build / "bin" / f"fuzz_{harness}", corpus, *dictionary(harness), f"-max_total_time={seconds}", f"-timeout={LONGEST_SECONDS}",
               f"-rss_limit_mb={MOST_MEGABYTES}", f"-max_len={LONGEST_INPUT}", f"-artifact_prefix={broken}/{harness}-", "-print_final_stats=1"]
    # Memory that was given back is kept from reuse for as long as an input takes, not for thousands of them.
    env = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=8:malloc_context_size=8", "LSAN_OPTIONS": f"suppressions={HERE / 'leaks_of_libraries.txt'}:print_suppressions=0"}
    before = set(broken.iterdir())
    process = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace")
    clean = process.returncode == 0
    if not clean:
        clean = forget_waiting(command[0], env, set(broken.iterdir()) - before)
    if not clean:
        print(process.stderr[-6000:], file=sys.stderr)
    runs = re.findall(r"stat::number_of_executed_units: *(\d+)", process.stderr) or re.findall(r"^#(\d+)\t", process.stderr, re.M)
    took = re.findall(r"Done \d+ runs in (\d+) second", process.stderr)
    return int(runs[-1]) if runs else 0, int(took[-1]) if took else seconds, clean


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    harnesses = sys.argv[3:] or sorted(file.stem for file in (HERE / "harnesses").glob("*.cpp"))
    seconds = max(1, round(60 * float(sys.argv[2]) / len(harnesses)))
    sums_file = build / "executions.json"
    sums = {}
    failed = []
    print(f"{'harness':<16}{'executions':>14}{'a second':>10}{'in all runs':>14}")
    for harness in harnesses:
        executions, took, clean = fuzz(build, harness, seconds)
        sums = json.loads(sums_file.read_text()) if sums_file.exists() else {}
        sums[harness] = sums.get(harness, 0) + executions
        sums_file.write_text(json.dumps(sums, indent=1))
        if not clean:
            failed.append(harness)
        print(f"{harness:<16}{executions:>14,}{executions // max(1, took):>10,}{sums[harness]:>14,}{'' if clean else '  BROKEN'}", flush=True)
    print(f"{sum(sums.values()):,} executions in all runs")
    if failed:
        sys.exit(f"broken: {', '.join(failed)}; inputs in {build / 'broken'}")


if __name__ == "__main__":
    main()
