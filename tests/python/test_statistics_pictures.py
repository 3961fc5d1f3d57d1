"""Pictures classified by plda with the statistics that lie beside their network."""
import hashlib
import json
import shutil
import tarfile

import numpy as np
import pytest
import safetensors
from conftest import REPOSITORY
from test_classifier import rows_of_csv
from test_statistics import read, refused


@pytest.fixture
def sketches(tmp_path, deepvoro):
    """The built-in network with statistics that can be damaged, and two classes of sketches."""
    folder = tmp_path / "net"
    folder.mkdir()
    for name in ("quickdraw-conv4.safetensors", "quickdraw-conv4.statistics"):
        shutil.copy(REPOSITORY / "data/backbones" / name, folder / name)
    with tarfile.open(REPOSITORY / "data/quickdraw/pictures/novel.tar") as archive:
        classes = sorted({member.name.split("/")[0] for member in archive.getmembers() if "/" in member.name})[:2]
        archive.extractall(tmp_path / "pictures", [m for m in archive.getmembers() if m.name.split("/")[0] in classes])

    def fit():
        flags = ["--method", "plda", "--views", "1", "--out", tmp_path / "sketches.dv"]
        return deepvoro("fit", tmp_path / "pictures", "--backbone", folder / "quickdraw-conv4.safetensors", *flags)

    return fit, folder / "quickdraw-conv4.statistics"


def test_pictures_by_plda(sketches, deepvoro, tmp_path):
    fit, statistics = sketches
    done = fit()
    assert done.returncode == 0, done.stderr
    description, tensors = read(tmp_path / "sketches.dv")
    np.testing.assert_array_equal(tensors[".statistics"], safetensors.read(statistics)[0]["plda"])
    assert [member["geometry"] for member in description["members"]] in ([], ["plda"])
    done = deepvoro("predict", tmp_path / "sketches.dv", tmp_path / "pictures")
    _, answers, _ = rows_of_csv(done.stdout)
    right = [answer == file.split("/")[-2] for file, answer in answers]
    assert np.mean(right) > 0.9


def rewritten(path, change):
    tensors, metadata = safetensors.read(path)
    description = json.loads(metadata["deepvoro"])
    values = np.array(tensors["plda"])
    values = change(description, values)
    text = json.dumps(description)
    lines = f"{hashlib.sha256(text.encode()).hexdigest()}  deepvoro\n{hashlib.sha256(values.tobytes()).hexdigest()}  plda\n"
    safetensors.write(path, {"plda": values}, {"deepvoro": text, "sha256": hashlib.sha256(lines.encode()).hexdigest()})


def with_fields(**fields):
    def change(description, values):
        description.update(fields)
        return values

    return change


def with_value(row, column, value):
    def change(description, values):
        values[row, column] = value
        return values

    return change


@pytest.mark.parametrize(
    "change, mention",
    [
        (with_fields(dim=127), "shape"),
        (with_fields(dim=10**12), "shape"),
        (with_fields(format="deepvoro-pool"), "format"),
        (with_fields(version=2), "version"),
        (with_fields(kappa=0), "kappa"),
        (with_fields(shrink_within=1.5), "shrink_within"),
        (with_fields(network="00"), "another network"),
        (with_fields(views=[1]), "views"),
        (lambda description, values: values[:-1], "shape"),
        (lambda description, values: values.astype(np.float32), "float16"),
        (with_value(1, 5, 0), "not above 0"),
        (with_value(3, 5, np.nan), "finite"),
    ],
    ids=range(12),
)
def test_statistics_that_cannot_be_used(sketches, change, mention):
    fit, statistics = sketches
    rewritten(statistics, change)
    refused(fit(), "quickdraw-conv4.statistics", mention)


def test_damaged_or_missing_statistics(sketches):
    fit, statistics = sketches
    whole = statistics.read_bytes()
    for damaged in (whole[:-2], whole[:100], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        statistics.write_bytes(damaged)
        refused(fit(), "quickdraw-conv4.statistics")
    statistics.unlink()
    refused(fit(), "quickdraw-conv4.statistics", "deepvoro backbone statistics")
