#!/usr/bin/env python3
"""Draws docs/idea.svg: one diagram against the sum of many. Needs NumPy.

    python3 scripts/figures/idea.py docs/idea.svg
"""

import sys
from pathlib import Path

import numpy as np

CELLS = 130
PANEL = 390
GAP = 30
COLOURS = ("#8fb8de", "#f2b880", "#a8d5a2", "#d9a5c7", "#cfc27a")
DARK = ("#2f6ea5", "#c2711d", "#3f8a37", "#9a3f7d", "#8a7a1c")
CLASS_CENTERS = np.array([[0.24, 0.28], [0.74, 0.22], [0.5, 0.55], [0.22, 0.78], [0.8, 0.77]])
MEMBERS = 24


def owner_grid(members):
    """The class with the largest influence at each grid point; members: [members, classes, 2]."""
    axis = (np.arange(CELLS) + 0.5) / CELLS
    points = np.stack(np.meshgrid(axis, axis), axis=-1)[..., None, None, :]
    distances = np.linalg.norm(points - members, axis=-1)
    return distances.sum(axis=-2).argmin(axis=-1)


def runs(row):
    edges = np.flatnonzero(np.diff(row)) + 1
    return zip(np.r_[0, edges], np.r_[edges, len(row)])


def panel(left, members, title):
    side = PANEL / CELLS
    owners = owner_grid(members)
    for y, row in enumerate(owners):
        for start, end in runs(row):
            yield (f'<rect x="{left + start * side:.1f}" y="{y * side:.1f}" width="{(end - start) * side + 0.3:.1f}" '
                   f'height="{side + 0.3:.1f}" fill="{COLOURS[row[start]]}"/>')
    for centers in members:
        for k, (x, y) in enumerate(centers):
            yield f'<circle cx="{left + x * PANEL:.1f}" cy="{y * PANEL:.1f}" r="4.5" fill="{DARK[k]}"/>'
    for k, (x, y) in enumerate(CLASS_CENTERS):
        cx, cy = left + x * PANEL, y * PANEL
        yield f'<path d="M{cx - 8:.1f} {cy:.1f}h16M{cx:.1f} {cy - 8:.1f}v16" stroke="#222" stroke-width="2.5"/>'
    yield f'<text x="{left + PANEL / 2}" y="{PANEL + 28}" text-anchor="middle">{title}</text>'


def main(out):
    random = np.random.RandomState(4)
    members = CLASS_CENTERS + random.normal(scale=0.09, size=(MEMBERS, *CLASS_CENTERS.shape))
    parts = [*panel(0, members[:1], "one member: a Voronoi diagram"),
             *panel(PANEL + GAP, members, f"{MEMBERS} members: influence adds up")]
    width = 2 * PANEL + GAP
    out.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {PANEL + 42}" '
                   'font-family="sans-serif" font-size="19" shape-rendering="geometricPrecision">\n'
                   + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
