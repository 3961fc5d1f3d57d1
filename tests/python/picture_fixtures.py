"""Pictures, a small network, and classifiers made of both."""
import csv
import io
import shutil

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch", reason="apt-get install python3-torch")
from test_extract import make_model  # noqa: E402

SHOTS = {"ant": 1, "bee": 4, "cat": 2}


def coloured(random, hue):
    pixels = random.randint(0, 256, (45, 50, 3)) * 0.5
    pixels[:, :, hue] += 127
    return Image.fromarray(pixels.astype(np.uint8))


def drawing(random):
    pixels = np.full((40, 40), 255, np.uint8)
    for x, y in random.randint(2, 30, (3, 2)):
        pixels[y, x : x + 8] = 0
    return Image.fromarray(pixels)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.RandomState(0)
    for part, numbers in (("support", SHOTS), ("query", dict.fromkeys(SHOTS, 3))):
        for hue, (name, count) in enumerate(numbers.items()):
            (folder / part / name).mkdir(parents=True)
            for i in range(count):
                coloured(random, hue).save(folder / part / name / f"{i}.png")
    return folder


def only(class_folder, folder):
    """A folder with this class alone."""
    shutil.copytree(class_folder, folder / class_folder.name)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("model") / "model.safetensors", seed=1)[0]


@pytest.fixture(scope="module")
def fitted(deepvoro, pictures, model, tmp_path_factory):
    """A classifier of the common pictures, for each set of flags; most tests want the same."""
    made = {}

    def fit_once(flags):
        if flags not in made:
            made[flags] = tmp_path_factory.mktemp("fitted") / "fitted.dv"
            process = deepvoro("fit", pictures / "support", "--backbone", model, "--out", made[flags], *flags)
            assert process.returncode == 0, process.stderr
        return made[flags]

    return fit_once


@pytest.fixture
def fit(deepvoro, fitted, pictures, model, tmp_path):
    def run(*flags, support=pictures / "support", backbone=model, name="fitted"):
        file = tmp_path / f"{name}.dv"
        if (support, backbone) == (pictures / "support", model):
            return shutil.copy(fitted(flags), file)
        process = deepvoro("fit", support, "--backbone", backbone, "--out", file, "--force", *flags)
        assert process.returncode == 0, process.stderr
        return file

    return run


def answers(process):
    assert process.returncode == 0, process.stderr
    return [row[:2] for row in csv.reader(io.StringIO(process.stdout))][1:]
