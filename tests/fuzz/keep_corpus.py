#!/usr/bin/env python3
"""Keeps of all inputs that fuzzing found the few that reach everything they reach together, as corpus/HARNESS.tar.gz.

usage: keep_corpus.py BUILD SEEDS [HARNESS...]     the build folder of the preset fuzz, and what make_seeds.py made
"""
import gzip
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_BYTES, MOST_INPUTS = 60_000, 200  # of a harness, before they are packed
LEAKING = {"heif"}  # a library loses memory on damaged files, which the tests would report


def archive(files):
    """The same bytes for the same files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for file in files:
            info = tarfile.TarInfo(file.name)
            info.size = file.stat().st_size
            tar.addfile(info, io.BytesIO(file.read_bytes()))
    return gzip.compress(out.getvalue(), mtime=0)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, seeds = Path(sys.argv[1]), Path(sys.argv[2])
    (HERE / "corpus").mkdir(exist_ok=True)
    for harness in sys.argv[3:] or sorted(file.stem for file in (HERE / "harnesses").glob("*.cpp")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for seed in (seeds / harness).iterdir():
                (folder / seed.name).write_bytes(seed.read_bytes())
            program = build / "bin" / f"fuzz_{harness}"
            if harness not in LEAKING and program.exists() and (build / "corpus" / harness).is_dir():
                subprocess.run([program, "-merge=1", folder, build / "corpus" / harness], check=True, capture_output=True)
            # The shortest first, all seeds before them.
            files = sorted(folder.iterdir(), key=lambda file: (not file.name.startswith("seed"), file.stat().st_size, file.name))
            kept, room = [], MOST_BYTES
            for file in files:
                room -= file.stat().st_size
                if (room >= 0 and len(kept) < MOST_INPUTS) or file.name.startswith("seed"):
                    kept.append(file)
            packed = archive(kept)
            (HERE / "corpus" / f"{harness}.tar.gz").write_bytes(packed)
            print(f"{harness}: {len(kept)} of {len(files)} inputs, {len(packed)} bytes")


if __name__ == "__main__":
    main()
