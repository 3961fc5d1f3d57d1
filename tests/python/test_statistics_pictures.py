"""Pictures classified by plda with the statistics that lie beside their network."""
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
    np.testing.assert_array_equal(tensors[".plda"], safetensors.read(statistics)[0]["plda"])
    assert [member["geometry"] for member in description["members"]] in ([], ["plda"])
    done = deepvoro("predict", tmp_path / "sketches.dv", tmp_path / "pictures")
    _, answers, _ = rows_of_csv(done.stdout)
    right = [answer == file.split("/")[-2] for file, answer in answers]
    assert np.mean(right) > 0.9


def rewritten(path, change):
    tensors, metadata = safetensors.read(path)
    description = json.loads(metadata["deepvoro"])
    tensors = {name: np.array(tensors[name]) for name in ("points-0.75", "points-0.5", "plda")}
    change(description, tensors)
    safetensors.write_hashed(path, tensors, description)


def with_fields(**fields):
    return lambda description, tensors: description.update(fields)


def with_plda(**fields):
    return lambda description, tensors: description["plda"].update(fields)


def with_space(**fields):
    return lambda description, tensors: description["spaces"][1].update(fields)


def with_value(name, row, column, value):
    def change(description, tensors):
        tensors[name][row, column] = value

    return change


def with_array(name, make):
    return lambda description, tensors: tensors.update({name: make(tensors[name])})


@pytest.mark.parametrize(
    "change, mention",
    [
        (with_fields(dim=127), "shrinkage"),
        (with_fields(dim=10**12), "shape"),
        (with_fields(format="deepvoro-pool"), "another kind"),
        (with_fields(version=1), "version"),
        (with_fields(views=[1]), "views"),
        (with_fields(spaces=[]), "spaces"),
        (with_space(exponent=0.6), "exponent"),
        (with_space(shrinkage=[2]), "shrinkage"),
        (with_space(shrinkage=[0.5]), "shape"),
        (with_plda(kappa=0), "kappa"),
        (with_plda(shrink_within=1.5), "shrink_within"),
        (with_array("plda", lambda values: values[:-1]), "shape"),
        (with_array("points-0.5", lambda values: values[:-1]), "shape"),
        (with_array("plda", lambda values: values.astype(np.float32)), "float16"),
        (with_value("plda", 1, 5, 0), "not above 0"),
        (with_value("plda", 3, 5, np.nan), "finite"),
        (with_value("points-0.75", 3, 5, np.inf), "finite"),
    ],
    ids=range(17),
)
def test_statistics_that_cannot_be_used(sketches, change, mention):
    fit, statistics = sketches
    rewritten(statistics, change)
    refused(fit(), "quickdraw-conv4.statistics", mention)


def test_statistics_of_another_network_are_not_used(sketches):
    fit, statistics = sketches
    rewritten(statistics, with_fields(network="00"))
    done = fit()  # those that come with the program fit
    assert done.returncode == 0, done.stderr


def test_statistics_without_plda(sketches):
    fit, statistics = sketches
    rewritten(statistics, lambda description, tensors: (description.pop("plda"), tensors.pop("plda")))
    refused(fit(), "were not made for it", "--plda")


def test_damaged_or_missing_statistics(sketches):
    fit, statistics = sketches
    whole = statistics.read_bytes()
    for damaged in (whole[:-2], whole[:100], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        statistics.write_bytes(damaged)
        refused(fit(), "quickdraw-conv4.statistics")
    statistics.unlink()
    done = fit()  # those that come with the program are left
    assert done.returncode == 0, done.stderr
