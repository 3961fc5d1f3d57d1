#!/usr/bin/env python3
"""The benchmark table of networks on the CPU: pictures a second, this library against Debian's PyTorch, eager.

usage: extract.py [--threads N] [--networks NAME...]

Both see the same 64 pictures of 84 x 84 with the same weights, scale bytes and return features in float32. PyTorch runs in
inference mode, in channels-last or contiguous order, whichever is quicker. Features are compared before anything is timed.
Passes of the two alternate, and the median of their ratios counts, so that what else runs on the machine hits both.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

# As the program has it: threads that wait busily make both slower on a machine that does other things too.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
import numpy as np  # noqa: E402
import torch  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))
import models  # noqa: E402
import torch_networks  # noqa: E402

PROGRAM = ROOT / "build/bin/deepvoro_extract_bench"
SCRATCH = ROOT / "build/bench/networks"
NETWORKS = ("conv4", "resnet12", "resnet18")
BATCH, SIZE = 64, 84
ROUNDS = 7
TOLERANCE = 1e-4  # relative to the largest feature


class Peer:
    def __init__(self, network, order):
        self.network = network.to(memory_format=order)
        self.order = order
        self.mean, self.deviation = (torch.tensor(v).view(1, 3, 1, 1) for v in (models.MEAN, models.DEVIATION))

    @torch.inference_mode()
    def __call__(self, pictures):
        x = torch.from_numpy(pictures).permute(0, 3, 1, 2).float().div_(255).sub_(self.mean).div_(self.deviation)
        return self.network(x.contiguous(memory_format=self.order)).numpy()

    def seconds(self, pictures):
        start = time.perf_counter()
        self(pictures)
        return time.perf_counter() - start


class Ours:
    def __init__(self, model, pictures, threads):
        command = [PROGRAM, model, SCRATCH / "pictures.npy", SCRATCH / "features.npy", str(threads)]
        np.save(SCRATCH / "pictures.npy", pictures)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        assert self.process.stdout.readline() == "ready\n", "the program ended early"
        self.features = np.load(SCRATCH / "features.npy")

    def seconds(self):
        self.process.stdin.write("1\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(name, pictures, threads):
    network = torch_networks.with_random_statistics(torch_networks.network(name), seed=1)
    model = models.write_model(SCRATCH / f"{name}.safetensors", network, name=name)
    ours = Ours(model, pictures, threads)
    orders = {"channels last": torch.channels_last, "contiguous": torch.contiguous_format}
    expected = Peer(network, torch.contiguous_format)(pictures)
    error = np.abs(ours.features - expected).max() / np.abs(expected).max()
    assert error < TOLERANCE, f"{name}: features differ by {error:.1e}"
    # The order that suits PyTorch better, by the best of two passes after one to warm up.
    quickest, order = min((min([Peer(network, o).seconds(pictures) for _ in range(3)][1:]), key) for key, o in orders.items())
    peer = Peer(network, orders[order])
    peer(pictures)
    of_peer, of_ours = zip(*[(peer.seconds(pictures), ours.seconds()) for _ in range(ROUNDS)])
    ours.close()
    ratio = statistics.median(a / b for a, b in zip(of_peer, of_ours))
    print(f"| {name} | {BATCH / statistics.median(of_peer):.0f} | {order} | {BATCH / statistics.median(of_ours):.0f} | "
          f"{ratio:.2f} | {error:.0e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--networks", nargs="+", default=NETWORKS, choices=torch_networks.NETWORKS)
    options = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is missing: run `make bench-extract`")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    pictures = np.random.RandomState(0).randint(0, 256, (BATCH, SIZE, SIZE, 3)).astype(np.uint8)
    print(f"\n{BATCH} pictures of {SIZE} x {SIZE}, {options.threads} threads, against PyTorch {torch.__version__}, eager; "
          f"features agree to {TOLERANCE:.0e}\n")
    print("| network | PyTorch, pictures/s | its order | deepvoro, pictures/s | times | largest difference |")
    print("|" + " --- |" * 6, flush=True)
    for name in options.networks:
        measure(name, pictures, options.threads)
    print(f"\nMedians of {ROUNDS} passes each, in turn; times is the median of the ratios.")


if __name__ == "__main__":
    main()
