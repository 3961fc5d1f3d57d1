"""A drawing in ink on paper gets one answer, however it is asked: by HTTP, on the command line, in Python."""
import io
import json

import deepvoro
import numpy as np
import pytest
from PIL import Image
from serving import Serving
from sketches import sketches_of

CLASSES = ("bed", "car", "chair")


@pytest.fixture(scope="module")
def sketches():
    return sketches_of(CLASSES)


def scanned(sketch, seed):
    """A sheet on which the sketch stands somewhere, small, in blue ink, lit unevenly, with the noise of a scanner; a JPEG file."""
    random = np.random.default_rng(seed)
    ink = np.asarray(Image.open(io.BytesIO(sketch)).convert("L").resize((160, 160), Image.BICUBIC)) / 255
    drawn = np.zeros((420, 300))
    left, top = random.integers(8, 132), random.integers(8, 252)
    drawn[top:top + 160, left:left + 160] = ink
    paper = 235 - 50 * np.linspace(0, 1, 300)[None] - 20 * np.linspace(0, 1, 420)[:, None]
    levels = [paper * (1 - share * drawn) + random.normal(0, 3, drawn.shape) for share in (0.9, 0.85, 0.6)]
    file = io.BytesIO()
    Image.fromarray(np.clip(np.stack(levels, -1), 0, 255).astype(np.uint8)).save(file, "JPEG", quality=92)
    return file.getvalue()


@pytest.fixture(scope="module")
def papers(sketches):
    return {name: [scanned(data, seed) for seed, (_, data) in enumerate(sketches[name][10:])] for name in CLASSES}


@pytest.fixture(scope="module")
def served(program, sketches, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with Serving(program, folder / "project", data=folder) as serving:
        for name in CLASSES:
            serving.teach(name, *sketches[name][:10])
        yield serving


def answer_by_http(served, picture):
    (answer,) = served.json("POST", "/api/predict?why=0", picture)["answers"]
    return answer


def test_http_program_and_package_answer_alike(served, request, papers, tmp_path):
    classifier = tmp_path / "classifier.dv"
    classifier.write_bytes(served.ask("GET", "/api/classifier")[1])
    files = []
    for name in CLASSES:
        files.append(tmp_path / f"{name}.jpg")
        files[-1].write_bytes(papers[name][0])
    process = request.getfixturevalue("deepvoro")("predict", classifier, *files, "--json")
    assert process.returncode == 0, process.stderr
    told = deepvoro.Classifier.load(classifier).predict(files)
    for file, row, prediction in zip(files, json.loads(process.stdout), told):
        answer = answer_by_http(served, file.read_bytes())
        assert answer["probabilities"] == row["probabilities"] == prediction.probabilities
        assert answer["distance"] == row["distance"] == prediction.distance


def test_drawings_on_paper_are_understood(served, sketches, papers):
    """About as well as the white drawings that they were made of."""
    def right(pictures):
        return sum(answer_by_http(served, picture)["nearest"] == name for name in CLASSES for picture in pictures[name])

    white = right({name: [data for _, data in sketches[name][10:]] for name in CLASSES})
    assert white >= 24 and right(papers) >= white - 3


def test_what_is_taught_on_paper_is_kept_as_it_is_and_fitted_alike(program, request, papers, tmp_path):
    with Serving(program, tmp_path / "project", data=tmp_path) as serving:
        for name in CLASSES:
            added = serving.teach(name, *((f"{i}.jpg", paper) for i, paper in enumerate(papers[name][:3])))["added"]
            for one, paper in zip(added, papers[name]):
                assert serving.ask("GET", f"/api/pictures/{one['id']}")[1] == paper
        # Thumbnails show paper as paper.
        shown = Image.open(io.BytesIO(serving.ask("GET", f"/api/pictures/{added[0]['id']}/thumbnail")[1])).convert("L")
        assert np.median(np.asarray(shown)) > 150
        exported = serving.ask("GET", "/api/classifier")[1]
    fitted = tmp_path / "fitted.dv"
    process = request.getfixturevalue("deepvoro")("fit", tmp_path / "project/pictures", "--backbone", "quickdraw-conv4", "--out", fitted)
    assert process.returncode == 0, process.stderr
    assert fitted.read_bytes() == exported
