#!/usr/bin/env python3
"""Pictures a second of PyTorch on CUDA, to set beside those that `deepvoro train` and `deepvoro extract` report.

usage: gpu_throughput.py [--backbone wrn-28-10] [--size 84] [--batch 128] [--steps 50] [--no-augmentation] [--no-compile]

Needs PyTorch 2 with CUDA. Everything is as a careful program has it: bfloat16 by autocast, channels-last order, cuDNN's
benchmark mode, SGD with Nesterov's momentum over all tensors at once, nothing in a step that waits for the device.

training     softmax on 64 classes. Pictures lie on the device as bytes, 1.15 times as large as the network sees them. A
             batch is drawn from them and augmented as `deepvoro train` does: a random crop, a flip, and jitter
             of brightness, contrast and saturation. Random numbers are drawn on the device.
inference    bytes in pinned memory are sent to the device and scaled there, features come back to the host. By
             autocast, and with weights that were converted to bfloat16 once.

Each is measured as it is and after torch.compile. The median of several rounds counts; the first ones, in which kernels are
chosen and compiled, do not. What belongs beside it:

  deepvoro train PICTURES --backbone wrn-28-10 --procedure softmax --batch 128 --epochs 3 --device cuda --out model.safetensors
  deepvoro extract PICTURES --model model.safetensors --views 8 --batch 128 --device cuda --out features

The first ends with the speed of its last epoch, and MODEL.log.csv has that of all; the second leaves out its first batch.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))
import torch_networks  # noqa: E402

CLASSES = 64
SET_SIZE = 8192
ROUNDS = 5
WARM_UP_STEPS = 15
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
CUDA = torch.device("cuda")


def channels(values):
    return torch.tensor(values, device=CUDA).view(1, 3, 1, 1)


def uniform(low, high, count):
    return torch.rand(count, device=CUDA) * (high - low) + low


def grey(x):
    return 0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:]


def augmented(x, size):
    """Random crops of 40% of the area or more, flips and jitter of 0.4, as in src/backbone/torch/augmentation.cpp."""
    count = len(x)
    side, aspect = uniform(0.4, 1, count).sqrt(), uniform(-0.1438, 0.1438, count).exp()
    width, height = (side * aspect).clamp_max(1), (side / aspect).clamp_max(1)
    right, down = (1 - width) * uniform(-1, 1, count), (1 - height) * uniform(-1, 1, count)
    turn, zero = 1 - 2 * torch.randint(2, (count,), device=CUDA), torch.zeros(count, device=CUDA)
    places = torch.stack([width * turn, zero, right, zero, height, down], 1).view(count, 2, 3)
    grid = F.affine_grid(places, (count, 3, size, size), align_corners=False)
    x = F.grid_sample(x, grid, padding_mode="border", align_corners=False)
    factors = uniform(0.6, 1.4, 3 * count).view(3, count, 1, 1, 1)
    x = (x * factors[0]).clamp_(0, 1)
    x = torch.lerp(grey(x).mean((1, 2, 3), True).expand_as(x), x, factors[1]).clamp_(0, 1)
    return torch.lerp(grey(x).expand_as(x), x, factors[2]).clamp_(0, 1)


def images_per_second(step, batch, steps):
    for _ in range(WARM_UP_STEPS):
        step()
    speeds = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
        speeds.append(batch * steps / (time.perf_counter() - start))
    return statistics.median(speeds)


def training_step(options, compiled):
    network = torch_networks.network(options.backbone)
    model = torch.nn.Sequential(network, torch.nn.Linear(network.out_dim, CLASSES))
    model = model.to(CUDA, memory_format=torch.channels_last).train()
    forward = torch.compile(model) if compiled else model
    # Shifts and scales of normalisations are not pulled towards 0, as in `deepvoro train`.
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 5e-4},
        {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.SGD(groups, lr=0.05, momentum=0.9, nesterov=True, foreach=True)
    side = options.size * 115 // 100 if options.augmentation else options.size
    pictures = torch.randint(256, (SET_SIZE, side, side, 3), dtype=torch.uint8, device=CUDA)
    labels = torch.randint(CLASSES, (SET_SIZE,), device=CUDA)
    mean, deviation = channels(MEAN), channels(DEVIATION)

    def step():
        rows = torch.randint(SET_SIZE, (options.batch,), device=CUDA)
        x = pictures[rows].permute(0, 3, 1, 2).float().div_(255)
        if options.augmentation:
            x = augmented(x, options.size)
        x = x.sub_(mean).div_(deviation).contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(forward(x), labels[rows])
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def inference_step(options, converted, compiled):
    network = torch_networks.network(options.backbone).to(CUDA, memory_format=torch.channels_last).eval()
    if converted:
        network = network.to(torch.bfloat16)
    forward = torch.compile(network) if compiled else network
    shape = (options.batch, options.size, options.size, 3)
    pictures = torch.randint(256, shape, dtype=torch.uint8).pin_memory()
    mean, deviation = channels(MEAN), channels(DEVIATION)

    @torch.inference_mode()
    def step():
        x = pictures.to(CUDA, non_blocking=True).permute(0, 3, 1, 2)
        x = x.float().div_(255).sub_(mean).div_(deviation)
        if converted:
            return forward(x.to(torch.bfloat16)).float().cpu()
        with torch.autocast("cuda", torch.bfloat16):
            return forward(x).float().cpu()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbone", default="wrn-28-10", choices=torch_networks.NETWORKS)
    parser.add_argument("--size", type=int, default=84)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=50, help="steps in a round")
    parser.add_argument("--no-augmentation", dest="augmentation", action="store_false", help="train on pictures as they are")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("gpu_throughput.py: PyTorch sees no CUDA device")
    torch.backends.cudnn.benchmark = True
    print(f"{options.backbone}, {options.size} x {options.size}, batch {options.batch}, "
          f"{'with' if options.augmentation else 'without'} augmentation in training; "
          f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}\n")
    print("| PyTorch | images/s |\n| --- | --- |", flush=True)
    for compiled in (False, True) if options.compile else (False,):
        way = "torch.compile" if compiled else "eager"
        cases = {
            f"training, {way}": lambda: training_step(options, compiled),
            f"inference, autocast, {way}": lambda: inference_step(options, False, compiled),
            f"inference, bfloat16 weights, {way}": lambda: inference_step(options, True, compiled),
        }
        for name, make in cases.items():
            print(f"| {name} | {images_per_second(make(), options.batch, options.steps):.0f} |", flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
