#!/usr/bin/env python3
"""Makes the picture collections of bench/answers.py of what collections.sh has fetched: a folder per class.

usage: make_collections.py FETCHED COLLECTIONS [NAME...]

Nothing is drawn at random but the place and turn of letters, which a fixed seed decides: every run writes the same pictures.
"""
import gzip
import io
import random
import re
import struct
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quickdraw"))
import make_pictures as quickdraw  # noqa: E402

LARGEST_SIDE = 256  # more than any network here sees
SKETCH_CLASSES, SKETCHES = 48, 60
CLOTHES, MANY_CLOTHES = 80, 220
SURFACES, CROPS_PER_SIDE, SURFACES_PER_KIND = 60, 4, 4
CLIPART_MOST = 30
CLIPART_LEAST_BYTES, CLIPART_MOST_PIXELS = 1024, 16_000_000  # smaller files are empty sheets, larger ones posters
LETTER_FONTS, LETTER_SIDE = 60, 96
BIRDS_OF_OTHER_SPECIES = 22

FASHION = ("t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle-boot")
# Capitals, digits, and those small letters whose form is not that of the capital.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abdefghijlmnqrty"
# Folders that are one kind of thing, unlike those of a theme of icons or of a continent's flags.
CLIPART = """
animals/birds animals/bugs animals/fish animals/mammals buildings buildings/homes computer/buttons computer/hardware decorations
education/books electronics food/beverages food/breads_and_carbs food/desserts food/fruit food/meats_and_eggs geography geography/astronomy
office people people/bodypart people/clothing people/clothing/hats people/smilies people/stickmen plants plants/flowers
recreation/games/cards/simple recreation/holiday recreation/music recreation/party recreation/sports recreation/toys shapes/arrows
shapes/callouts shapes/flowchart shapes/jigsaw shapes/stars signs_and_symbols/clocks signs_and_symbols/flags/america
signs_and_symbols/flags/semaphore signs_and_symbols/led signs_and_symbols/map_symbols signs_and_symbols/weather special/patterns
tools tools/weapons transportation/boating transportation/roadsigns transportation/vehicles
""".split()


def save(picture, path):
    """PNG where it is small or drawn, JPEG for photographs, the shorter side at most LARGEST_SIDE."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scale = LARGEST_SIDE / min(picture.size)
    if scale < 1:
        picture = picture.resize([max(1, round(side * scale)) for side in picture.size], Image.Resampling.LANCZOS)
    picture.save(path, quality=90) if path.suffix == ".jpg" else picture.save(path)


def evenly(items, count):
    """count of the items, spread over their order."""
    return [items[i * len(items) // count] for i in range(min(count, len(items)))] if len(items) > count else list(items)


def birds(fetched, folder, split, most=None):
    with tarfile.open(fetched / "cub" / f"{split}.tar") as tar:
        kept = Counter()
        for member in sorted((m for m in tar if m.isfile()), key=lambda m: m.name):
            name, file = member.name.split("/")[-2:]
            if most and kept[name] == most:
                continue
            kept[name] += 1
            target = folder / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tar.extractfile(member).read())


def sketches(fetched, folder, split):
    package = fetched / "quickdraw" / "package"
    names = [name for i, name in enumerate(quickdraw.class_names(package)) if quickdraw.split_of_class(i) == split]
    for name in names[:SKETCH_CLASSES]:
        for number, grey in enumerate(quickdraw.grey_values(quickdraw.read_class(package, name))[:SKETCHES]):
            target = folder / name / f"{number:03}.png"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(quickdraw.png(grey))


def idx_values(path):
    data = gzip.open(path).read()
    sides = struct.unpack(f">{data[3]}I", data[4:4 + 4 * data[3]])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(sides)


def clothes(fetched, folder, count):
    source = fetched / "dataset-fashion-mnist" / "usr/share/datasets/fashion-mnist"
    pictures, labels = idx_values(source / "t10k-images-idx3-ubyte.gz"), idx_values(source / "t10k-labels-idx1-ubyte.gz")
    for label, name in enumerate(FASHION):
        for number, grey in enumerate(pictures[labels == label][:count]):
            save(Image.fromarray(np.pad(grey, 2)), folder / name / f"{number:03}.png")  # views cut off the outer eighth


def surfaces(fetched, folder):
    """A class is one photograph of a surface, a picture one of its 16 parts, which do not overlap; grey, as colour alone would tell them apart."""
    archive = zipfile.ZipFile(fetched / "ufoai-textures/usr/share/games/ufoai/base/0textures.pk3")
    kinds = Counter()
    for name in sorted(archive.namelist()):
        kind = re.match(r"textures/tex_(?:ctp1|nature)/([a-z]+)[^/]*\.(?:jpg|png)$", name)
        if not kind or re.search(r"_(nm|gm|sm|way)[_.]", name) or kinds[kind[1]] == SURFACES_PER_KIND:
            continue
        picture = Image.open(io.BytesIO(archive.read(name)))
        if picture.mode not in ("RGB", "P") or min(picture.size) < 512:
            continue
        kinds[kind[1]] += 1
        side = min(picture.size) // CROPS_PER_SIDE
        for place in range(CROPS_PER_SIDE ** 2):
            left, top = place % CROPS_PER_SIDE * side, place // CROPS_PER_SIDE * side
            part = picture.convert("L").crop((left, top, left + side, top + side))
            save(part, folder / Path(name).stem / f"{place:02}.jpg")
        if sum(kinds.values()) == SURFACES:
            return


def png_pixels(path):
    with path.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return width * height


def clipart(fetched, folder):
    source = fetched / "openclipart-png" / "usr/share/openclipart/png"
    for name in CLIPART:
        files = [path for path in sorted((source / name).glob("*.png"))
                 if path.stat().st_size > CLIPART_LEAST_BYTES and png_pixels(path) < CLIPART_MOST_PIXELS]
        for number, path in enumerate(evenly(files, CLIPART_MOST)):
            drawing = Image.open(path).convert("RGBA")
            paper = Image.new("RGBA", drawing.size, "white")
            save(Image.alpha_composite(paper, drawing).convert("RGB"), folder / name.replace("/", "-") / f"{number:02}.jpg")


def has_letters(font):
    """A face that draws every letter, each in its own way."""
    drawn = {bytes(font.getmask(letter)) for letter in LETTERS}
    return len(drawn) == len(LETTERS)


def letters(fetched, folder):
    kept, families = [], Counter()
    for path in sorted((fetched / "fonts").rglob("*.[ot]tf")):
        try:
            font = ImageFont.truetype(str(path), LETTER_SIDE * 5 // 8)
            family = font.getname()[0]
            if families[family] < 1 and has_letters(font):
                kept.append(font)
                families[family] += 1
        except OSError:  # a face without an outline
            continue
    random_place = random.Random(0)
    for number, font in enumerate(evenly(kept, LETTER_FONTS)):
        for letter in LETTERS:
            picture = Image.new("L", (LETTER_SIDE, LETTER_SIDE), 255)
            place = [LETTER_SIDE / 2 + random_place.uniform(-6, 6) for _ in range(2)]
            ImageDraw.Draw(picture).text(place, letter, fill=0, font=font, anchor="mm")
            turned = picture.rotate(random_place.uniform(-12, 12), Image.Resampling.BICUBIC, fillcolor=255)
            name = f"small-{letter}" if letter.islower() else letter
            save(turned, folder / name / f"{number:02}.png")


MAKERS = {
    "birds": lambda fetched, folder: birds(fetched, folder, "val"),
    "birds-others": lambda fetched, folder: birds(fetched, folder, "novel", BIRDS_OF_OTHER_SPECIES),
    "sketches": lambda fetched, folder: sketches(fetched, folder, "val"),
    "sketches-others": lambda fetched, folder: sketches(fetched, folder, "novel"),
    "clothes": lambda fetched, folder: clothes(fetched, folder, CLOTHES),
    "clothes-many": lambda fetched, folder: clothes(fetched, folder, MANY_CLOTHES),
    "surfaces": surfaces,
    "clipart": clipart,
    "letters": letters,
}


def main():
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(MAKERS):
        sys.exit(f"usage: make_collections.py FETCHED COLLECTIONS [{'|'.join(MAKERS)}]...")
    fetched, collections = Path(sys.argv[1]), Path(sys.argv[2])
    for name in sys.argv[3:] or MAKERS:
        folder = collections / name
        if folder.exists():
            continue
        part = collections / f"{name}.part"
        MAKERS[name](fetched, part)
        part.rename(folder)
        counts = [len(list(of_class.iterdir())) for of_class in folder.iterdir()]
        print(f"{folder}: {len(counts)} classes of {min(counts)} to {max(counts)} pictures", flush=True)


if __name__ == "__main__":
    main()
