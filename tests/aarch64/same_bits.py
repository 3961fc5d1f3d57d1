#!/usr/bin/env python3
"""Compares the scores of two programs on the built-in sketches, byte by byte: this processor's and another's.

usage: same_bits.py PROGRAM OTHER_COMMAND...
"""
import subprocess
import sys
import tempfile
from pathlib import Path

STORE = Path(__file__).resolve().parents[2] / "data/quickdraw"
CASES = [
    ("vd",), ("vd", "--alpha", "2.5"), ("deepvoro",), ("deepvoro++",), ("plda",), ("power-lr",), ("voronoi-lr",),
    ("deepvoro--", "--lr", "power"), ("simpleshot", "--normalisation", "cl2n"), ("pt-ncm",), ("s2m2",), ("dc",),
]


def scores(command, case, shots, folder):
    out = Path(folder) / "scores.npy"
    out.unlink(missing_ok=True)
    subprocess.run([*command, "evaluate", STORE, "--method", *case, "--shots", str(shots), "--episodes", "5", "--scores", out],
                   check=True, stdout=subprocess.DEVNULL)
    return out.read_bytes()


def main():
    program, *other = sys.argv[1:]
    different = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            for shots in (1, 5):
                is_same = scores([program], case, shots, folder) == scores(other, case, shots, folder)
                print(f"{' '.join(case)}, {shots} shots: {'the same' if is_same else 'DIFFERENT'}", flush=True)
                if not is_same:
                    different.append((case, shots))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
