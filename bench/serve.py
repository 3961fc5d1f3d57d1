#!/usr/bin/env python3
"""How quickly `deepvoro serve` answers: one client that draws, and a thousand at once (wrk), with the built-in network.

usage: serve.py [SECONDS]     of the thousand [60]; DEEPVORO_BIN is the program
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))
from conftest import PROGRAM  # noqa: E402
from serving import Serving  # noqa: E402
from sketches import sketches_of  # noqa: E402

CLASSES = ("bed", "car", "chair")
ASKED = 200
CLIENTS = 1000


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure_one_client(serving, pictures):
    connection = serving.connect()
    seconds = []
    for i in range(ASKED):
        start = time.perf_counter()
        connection.request("POST", "/api/predict", pictures[i % len(pictures)])
        response = connection.getresponse()
        response.read()
        assert response.status == 200
        seconds.append(time.perf_counter() - start)
    connection.close()
    return seconds


def measure_teaching(serving, pictures):
    seconds = []
    for picture in pictures:
        start = time.perf_counter()
        serving.teach("bed", ("x.png", picture))
        seconds.append(time.perf_counter() - start)
    return seconds


def measure_many(serving, picture, seconds, folder):
    body, script = folder / "picture.png", folder / "ask.lua"
    body.write_bytes(picture)
    script.write_text(f"""
wrk.method = "POST"
wrk.body = io.open("{body}", "rb"):read("*a")
wrk.headers["Content-Type"] = "image/png"
""")
    peak = serving.resident_bytes()
    url = f"http://127.0.0.1:{serving.port}/api/predict?why=0"
    wrk = subprocess.Popen(["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "--timeout", "60s", "--latency", "-s", script, url],
                           stdout=subprocess.PIPE, text=True)
    while wrk.poll() is None:
        peak = max(peak, serving.resident_bytes())
        time.sleep(0.5)
    text = wrk.stdout.read()
    print(text, file=sys.stderr)
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return {
        "requests": int(re.search(r"(\d+) requests in", text)[1]),
        "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),
        "p99": re.search(r"99%\s+(\S+)", text)[1],
        "errors": (sum(map(int, errors.groups())) if errors else 0) + (int(refused[1]) if refused else 0),
        "peak": peak,
    }


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    pictures = {name: [data for _, data in drawn] for name, drawn in sketches_of(CLASSES).items()}
    with tempfile.TemporaryDirectory() as folder, Serving(PROGRAM, Path(folder) / "project", data=folder) as serving:
        for name in CLASSES:
            serving.teach(name, *((f"{i}.png", data) for i, data in enumerate(pictures[name][:5])))
        asked = [data for name in CLASSES for data in pictures[name][5:]]
        measure_one_client(serving, asked)  # networks of all threads are loaded then
        idle = serving.resident_bytes()
        one, taught = measure_one_client(serving, asked), measure_teaching(serving, asked[:20])
        many = measure_many(serving, asked[0], seconds, Path(folder))
    print(f"{os.cpu_count()} cores, network quickdraw-conv4, {len(CLASSES)} classes")
    print("| | median | 95% | 99% |\n| --- | --- | --- | --- |")
    for what, values in (("one picture, with why", one), ("teach one picture", taught)):
        print(f"| {what} | {1e3 * statistics.median(values):.1f} ms | {1e3 * percentile(values, 0.95):.1f} ms | {1e3 * percentile(values, 0.99):.1f} ms |")
    print(f"{CLIENTS} clients for {seconds} s: {many['requests']} answers, {many['rate']:.0f} per second, errors {many['errors']}, "
          f"99% within {many['p99']}; memory {idle / 2**20:.0f} MiB with one client, {many['peak'] / 2**20:.0f} MiB at most")


if __name__ == "__main__":
    main()
