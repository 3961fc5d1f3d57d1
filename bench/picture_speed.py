#!/usr/bin/env python3
"""The benchmark tables of pictures: decode plus resize, this library against Pillow, one thread each.

usage: picture_speed.py

Both decode files that are in memory and resize them with the antialiased bilinear filter. All pixels are compared
before times are printed: they must be equal. Runs of the two alternate, and the best of each counts. Times are those
of the processor, so that what else runs on the machine matters little.

The second table has large JPEG files, decoded with all pixels and as --fast-decode does. There pixels must be those of
Pillow's draft(), and not far from those of the whole.
"""

import io
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import PIL
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/bin/deepvoro_picture_bench"
SCRATCH = ROOT / "build/bench/pictures"
CUB = Path(os.environ.get("DEEPVORO_SHARED", ROOT.parent / "shared")) / "data/cub/novel.tar"
MOST_CHANGE = (0.5, 5)  # grey levels by which a fast decoding may differ from the whole, on average and at most
SIDES = (96, 172)  # of the smallest and the largest view: int(1.15 * 84), int(1.15 * 150)
FAST_SIDES = (96, 257)  # of the largest of four views of networks for 84 and 224 pixels
ROUNDS = 7


def made_picture(random, width, height):
    """Noise whose amplitude falls with frequency, as in photographs, in slowly changing colours."""
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None]) + 1 / width

    def field(exponent):
        spectrum = np.fft.rfft2(random.standard_normal((height, width))) / frequency**exponent
        values = np.fft.irfft2(spectrum, (height, width))
        return values / values.std()

    pixels = 120 + 45 * field(1.2)[..., None] + 20 * np.stack([field(1.8) for _ in range(3)], axis=-1)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def made_files(name, width, height, count, ending="jpg", **options):
    random = np.random.RandomState(0)
    folder = SCRATCH / name
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{i}.{ending}" for i in range(count)]
    for file in files:
        made_picture(random, width, height).save(file, **options)
    return files


def cub_files(count):
    folder = SCRATCH / "cub"
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with tarfile.open(CUB) as archive:
        members = [member for member in archive if member.isfile()]
        for member in members[::len(members) // count][:count]:
            files.append(folder / f"{len(files)}.jpg")
            files[-1].write_bytes(archive.extractfile(member).read())
    return files


def opened(blob, least_side):
    image = Image.open(io.BytesIO(blob))
    if least_side:
        image.draft("RGB", (least_side, least_side))
    return image.convert("RGB")


def pillow(blobs, side, least_side=0):
    return [opened(blob, least_side).resize((side, side), Image.BILINEAR) for blob in blobs]


def ours(files, side, least_side=0):
    answers = SCRATCH / "answers"
    command = [PROGRAM, str(side), str(least_side), "1", answers, *files]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in output.splitlines()), answers.read_bytes()


def bytes_of(pictures):
    return b"".join(picture.tobytes() for picture in pictures)


def described(name, files, side):
    width, height = Image.open(files[0]).size
    size = sum(file.stat().st_size for file in files) / len(files)
    return f"| {name} | {width} x {height} | {size / 1024:.0f} KiB | {side} |"


def measure(name, files, side):
    blobs = [file.read_bytes() for file in files]
    of_pillow, of_ours, decode = [], [], []
    for _ in range(ROUNDS):
        start = time.thread_time()
        pictures = pillow(blobs, side)
        of_pillow.append(time.thread_time() - start)
        printed, answers = ours(files, side)
        of_ours.append(float(printed["seconds"]))
        decode.append(float(printed["decode_seconds"]))
    assert answers == bytes_of(pictures), f"{name}: other pixels"
    scale = 1e3 / len(files)
    print(f"{described(name, files, side)} {min(of_pillow) * scale:.3f} ms | "
          f"{min(of_ours) * scale:.3f} ms | {min(decode) * scale:.3f} ms | {min(of_pillow) / min(of_ours):.2f} |", flush=True)


def measure_fast(name, files, side):
    least_side = 4 * side  # what --fast-decode leaves of a picture for its largest view
    blobs = [file.read_bytes() for file in files]
    times = {"Pillow": [], "draft": [], "whole": [], "fast": []}
    for _ in range(ROUNDS):
        for kind, least in (("Pillow", 0), ("draft", least_side)):
            start = time.thread_time()
            pictures = pillow(blobs, side, least)
            times[kind].append(time.thread_time() - start)
        printed, whole = ours(files, side)
        times["whole"].append(float(printed["seconds"]))
        printed, fast = ours(files, side, least_side)
        times["fast"].append(float(printed["seconds"]))
    assert fast == bytes_of(pictures), f"{name}: pixels are not those of Pillow's draft"
    change = np.abs(np.frombuffer(fast, np.uint8).astype(int) - np.frombuffer(whole, np.uint8))
    assert change.mean() <= MOST_CHANGE[0] and change.max() <= MOST_CHANGE[1], f"{name}: {change.mean()}, {change.max()}"
    best = {kind: min(seconds) * 1e3 / len(files) for kind, seconds in times.items()}
    print(f"{described(name, files, side)} {' | '.join(f'{ms:.1f} ms' for ms in best.values())} | {best['whole'] / best['fast']:.2f} | "
          f"{best['draft'] / best['fast']:.2f} | {change.mean():.2f} | {change.max()} |", flush=True)


def main():
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is missing: run `make bench-pictures`")
    shapes = {"small": (176, 176, 200), "middle": (500, 375, 60), "large": (1024, 768, 20)}
    sets = [(f"JPEG, quality {quality}", made_files(f"{shape}{quality}", *shapes[shape], quality=quality))
            for quality in (75, 90) for shape in shapes]
    sets += [(name, made_files(name, *shapes["middle"], ending, **options)) for name, ending, options in (
        ("PNG", "png", {}), ("WebP", "webp", {"quality": 85}), ("WebP, lossless", "webp", {"lossless": True}), ("GIF", "gif", {}),
        ("TIFF, LZW", "tif", {"compression": "tiff_lzw"}), ("BMP", "bmp", {}))]
    if CUB.exists():
        sets.append(("CUB", cub_files(400)))
    print(f"\nDecode plus bilinear resize, one thread, against Pillow {PIL.__version__}; all pixels are equal\n")
    print("| pictures | size | file | to | Pillow | deepvoro | of which decode | times |\n|" + " --- |" * 8, flush=True)
    for name, files in sets:
        for side in SIDES:
            measure(name, files, side)
    print("\nLarge JPEG files, with all pixels and with --fast-decode\n")
    print("| pictures | size | file | to | Pillow | its draft | deepvoro | fast | whole / fast | draft / fast | off, mean | most |\n|"
          + " --- |" * 12, flush=True)
    for name, files in ((f"JPEG, quality {quality}", made_files(f"{width}at{quality}", width, height, 3, quality=quality))
                        for quality in (75, 90) for width, height in ((2048, 1536), (4000, 3000))):
        for side in FAST_SIDES:
            measure_fast(name, files, side)
    print(f"\nProcessor time a picture, best of {ROUNDS} runs each, in turn.")


if __name__ == "__main__":
    main()
