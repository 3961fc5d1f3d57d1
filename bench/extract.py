#!/usr/bin/env python3
"""The benchmark table of networks on the CPU: pictures a second, this library against Debian's PyTorch, eager.

usage: extract.py [--threads N] [--networks NAME...]

All see the same 64 pictures, of 224 x 224 for resnet50 and of 84 x 84 for the others, with the same weights, scale bytes and return
features in float32. PyTorch runs in inference mode, in channels-last or contiguous order, whichever is quicker. Where onnxruntime
is installed or DEEPVORO_ONNXRUNTIME names it, the library also runs the network as PyTorch exports it to ONNX. Features are compared
before anything is timed. Passes alternate, and the median of their ratios counts, so that what else runs on the machine hits all.
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
NETWORKS = ("conv4", "resnet12", "resnet18", "resnet50")
BATCH, SIZE = 64, 84
IMAGENET_SIZE = 224
INSTALLED = Path(os.environ.get("DEEPVORO_DATA", Path.home() / ".local/share/deepvoro")) / "backbones/libonnxruntime.so"
HAS_ONNX = bool(os.environ.get("DEEPVORO_ONNXRUNTIME")) or INSTALLED.exists()
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


def export(network, file, size):
    axes = {"pictures": {0: "n"}, "features": {0: "n"}}
    torch.onnx.export(network, torch.zeros(1, 3, size, size), str(file), input_names=["pictures"], output_names=["features"],
                      dynamic_axes=axes, opset_version=14)
    return file


def measure(name, threads):
    of_imagenet = name == "resnet50"
    size = IMAGENET_SIZE if of_imagenet else SIZE
    flags = {"imagenet_stem": True} if of_imagenet else {}
    pictures = np.random.RandomState(0).randint(0, 256, (BATCH, size, size, 3)).astype(np.uint8)
    network = torch_networks.with_random_statistics(torch_networks.network(name, **flags), seed=1)
    ours = {"deepvoro": Ours(models.write_model(SCRATCH / f"{name}.safetensors", network, name=name, input_size=size, **flags), pictures, threads)}
    if HAS_ONNX:
        ours["ONNX"] = Ours(export(network, SCRATCH / f"{name}.onnx", size), pictures, threads)
    orders = {"channels last": torch.channels_last, "contiguous": torch.contiguous_format}
    expected = Peer(network, torch.contiguous_format)(pictures)
    error = max(np.abs(one.features - expected).max() for one in ours.values()) / np.abs(expected).max()
    assert error < TOLERANCE, f"{name}: features differ by {error:.1e}"
    # The order that suits PyTorch better, by the best of two passes after one to warm up.
    _, order = min((min([Peer(network, o).seconds(pictures) for _ in range(3)][1:]), key) for key, o in orders.items())
    peer = Peer(network, orders[order])
    peer(pictures)
    passes = [(peer.seconds(pictures), *(one.seconds() for one in ours.values())) for _ in range(ROUNDS)]
    for one in ours.values():
        one.close()
    speeds = [BATCH / statistics.median(column) for column in zip(*passes)] + [float("nan")] * (not HAS_ONNX)
    ratio = statistics.median(row[0] / row[1] for row in passes)
    print(f"| {name} | {size} | {speeds[0]:.0f} | {order} | {speeds[1]:.0f} | {ratio:.2f} | {speeds[2]:.0f} | {error:.0e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--networks", nargs="+", default=NETWORKS, choices=torch_networks.NETWORKS)
    options = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is missing: run `make bench-extract`")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    print(f"\n{BATCH} pictures, {options.threads} threads, against PyTorch {torch.__version__}, eager; "
          f"features agree to {TOLERANCE:.0e}\n")
    print("| network | size | PyTorch, pictures/s | its order | deepvoro, pictures/s | times | the same as ONNX | largest difference |")
    print("|" + " --- |" * 8, flush=True)
    for name in options.networks:
        measure(name, options.threads)
    print(f"\nMedians of {ROUNDS} passes each, in turn; times is the median of the ratios.")


if __name__ == "__main__":
    main()
