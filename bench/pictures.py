#!/usr/bin/env python3
"""What more views are worth: accuracy of `deepvoro fit` and `deepvoro predict` on pictures with 1, 4 and 16 views.

usage: pictures.py PICTURES [--classes 10] [--shots 3] [--queries 10] [--views 1,4,16] [--backbone NAME]

PICTURES is a folder with a folder per class, or a .tar of one. The first classes by name are taken, of each the first
pictures by name as support and those after them as queries (0: all the others).
"""

import argparse
import csv
import io
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/bin/deepvoro"


def pictures_by_class(source):
    """{class: {file name: bytes}}, sorted; the class is the folder a picture lies in."""
    found = {}
    if source.is_dir():
        for path in source.glob("*/*.*"):
            found.setdefault(path.parent.name, {})[path.name] = path.read_bytes()
    else:
        with tarfile.open(source) as archive:
            for member in archive:
                if member.isfile():
                    path = Path(member.name)
                    found.setdefault(path.parent.name, {})[path.name] = archive.extractfile(member).read()
    return {name: dict(sorted(found[name].items())) for name in sorted(found)}


def lay_out(pictures, folder, options):
    for name, files in list(pictures.items())[: options.classes]:
        last = options.shots + options.queries if options.queries else len(files)
        for i, (file, data) in enumerate(list(files.items())[:last]):
            target = folder / ("support" if i < options.shots else "query") / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


def run(*arguments):
    start = time.perf_counter()
    process = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if process.returncode != 0:
        raise SystemExit(process.stderr.strip())
    return time.perf_counter() - start, process.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--shots", type=int, default=3)
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--views", default="1,4,16")
    parser.add_argument("--backbone")
    options = parser.parse_args()
    backbone = ["--backbone", options.backbone] if options.backbone else []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        lay_out(pictures_by_class(options.pictures), folder, options)
        print("| views | accuracy % | queries | fit | predict | pictures/s |\n|" + " --- |" * 6)
        for views in options.views.split(","):
            fitting, _ = run("fit", folder / "support", "--views", views, "--out", folder / "fitted.dv", *backbone)
            predicting, text = run("predict", folder / "fitted.dv", folder / "query")
            rows = list(csv.DictReader(io.StringIO(text)))
            right = sum(Path(row["file"]).parent.name == row["class"] for row in rows)
            print(f"| {views} | {100 * right / len(rows):.1f} | {len(rows)} | {fitting:.1f} s | {predicting:.1f} s | "
                  f"{len(rows) / predicting:.1f} |", flush=True)


if __name__ == "__main__":
    main()
