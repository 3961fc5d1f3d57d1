# %% [markdown]
# # Pictures of your own
# A classifier after a few pictures of each class, from files and from memory.

# %% A folder of pictures for each class. These drawings stand in for your photographs.
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import deepvoro

random = np.random.default_rng(0)


def drawing(kind: str) -> np.ndarray:
    """A box or a bar, black on white: uint8 [height, width, 3], as cameras and libraries give pictures."""
    pixels = np.full((64, 64, 3), 255, np.uint8)
    x, y = random.integers(4, 12, size=2)
    width, height = (8, 48) if kind == "bar" else (44, 44)
    pixels[y : y + height, x : x + width] = 0
    pixels[y + 3 : y + height - 3, x + 3 : x + width - 3] = 255
    return pixels


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for kind in ("bar", "box"):
        (folder / "shapes" / kind).mkdir(parents=True)
        for i in range(3):
            Image.fromarray(drawing(kind)).save(folder / "shapes" / kind / f"{i}.png")

    # %% One call makes a classifier, one keeps it. The network that suits the pictures is taken.
    model = deepvoro.Classifier.fit(folder / "shapes")
    model.save(folder / "shapes.dv")
    print(model, "by", model.backbone)

    # %% Later: load it and ask it. Pictures are files, folders, bytes of files or arrays.
    model = deepvoro.Classifier.load(folder / "shapes.dv")
    pixels = drawing("bar")
    Image.fromarray(pixels).save(folder / "asked.png")
    answers = model.predict([folder / "asked.png", (folder / "asked.png").read_bytes(), ("from the camera", pixels)])
    for answer in answers:
        print(f"{answer.picture}: {answer.label}, probability {answer.probability:.2f}")
    assert [answer.label for answer in answers] == ["bar"] * 3

    # %% A class that comes later, made of arrays. The earlier pictures are not needed.
    model.add("blank", [np.full((64, 64, 3), 250 + i, np.uint8) for i in range(2)])
    print(model.predict(np.full((64, 64, 3), 255, np.uint8))[0].label)

    # %% Why? Views and transformations vote; the nearest pictures are named.
    explanation = model.explain(pixels)
    print(explanation.prediction, "nearest:", explanation.neighbours[0])
