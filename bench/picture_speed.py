#!/usr/bin/env python3
"""The benchmark tables of pictures: decode plus resize, this library against Pillow, one thread each.

usage: picture_speed.py

Both decode files that are in memory and resize them with the antialiased bilinear filter. All pixels are compared
before times are printed: they must be equal. Runs of the two alternate, and the best of each counts. Times are those
of the processor, so that what else runs on the machine matters little.
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
SIDES = (96, 172)  # of the smallest and the largest view: int(1.15 * 84), int(1.15 * 150)
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


def pillow(blobs, side):
    return [Image.open(io.BytesIO(blob)).convert("RGB").resize((side, side), Image.BILINEAR) for blob in blobs]


def ours(files, side):
    answers = SCRATCH / "answers"
    output = subprocess.run([PROGRAM, str(side), "1", answers, *files], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in output.splitlines()), answers


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
    assert answers.read_bytes() == b"".join(picture.tobytes() for picture in pictures), f"{name}: other pixels"
    width, height = Image.open(files[0]).size
    scale = 1e3 / len(files)
    print(f"| {name} | {width} x {height} | {sum(map(len, blobs)) / len(blobs) / 1024:.0f} KiB | {side} | {min(of_pillow) * scale:.3f} ms | "
          f"{min(of_ours) * scale:.3f} ms | {min(decode) * scale:.3f} ms | {min(of_pillow) / min(of_ours):.2f} |", flush=True)


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
    print(f"\nProcessor time a picture, best of {ROUNDS} runs each, in turn.")


if __name__ == "__main__":
    main()
