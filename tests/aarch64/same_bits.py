#!/usr/bin/env python3
"""Compares the scores of two programs on the built-in sketches, this processor's and another's: byte by byte, but for plda.

Eigen, which estimates the spaces of plda, adds and multiplies in one step on aarch64, and in two in what is compiled for any x86-64.

usage: same_bits.py PROGRAM OTHER_COMMAND...
"""
import array
import subprocess
import sys
import tempfile
from pathlib import Path

STORE = Path(__file__).resolve().parents[2] / "data/quickdraw"
CASES = [
    ("vd",), ("vd", "--alpha", "2.5"), ("deepvoro",), ("deepvoro++",), ("plda",), ("power-lr",), ("voronoi-lr",),
    ("deepvoro--", "--lr", "power"), ("simpleshot", "--normalisation", "cl2n"), ("pt-ncm",), ("s2m2",), ("dc",),
]
MADE_BY_EIGEN = {"plda"}
LARGEST_DIFFERENCE = 1e-6  # relative: scores are sums of float32 distances
NPY_HEADER_BYTES = 128


def scores(command, case, shots, folder):
    out = Path(folder) / "scores.npy"
    out.unlink(missing_ok=True)
    subprocess.run([*command, "evaluate", STORE, "--method", *case, "--shots", str(shots), "--episodes", "5", "--scores", out],
                   check=True, stdout=subprocess.DEVNULL)
    return out.read_bytes()


def largest_difference(one, other):
    first, second = (array.array("d", scores[NPY_HEADER_BYTES:]) for scores in (one, other))
    if len(first) != len(second):
        return float("inf")
    return max(abs(a - b) / max(abs(a), abs(b)) for a, b in zip(first, second) if a != b) if first != second else 0.0


def verdict(case, one, other):
    if one == other:
        return True, "the same"
    difference = largest_difference(one, other)
    return case[0] in MADE_BY_EIGEN and difference <= LARGEST_DIFFERENCE, f"differ by {difference:.1e}"


def main():
    program, *other = sys.argv[1:]
    different = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            for shots in (1, 5):
                is_right, found = verdict(case, scores([program], case, shots, folder), scores(other, case, shots, folder))
                print(f"{' '.join(case)}, {shots} shots: {found}{'' if is_right else ' - WRONG'}", flush=True)
                if not is_right:
                    different.append((case, shots))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
