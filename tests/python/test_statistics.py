"""Statistics of a backbone, and classifiers that are made with them, against NumPy."""
import hashlib
import json

import numpy as np
import pytest
import rule_reference
import safetensors
from conftest import REPOSITORY
from scipy.optimize import minimize_scalar
from stores import write_store
from test_classifier import labels_of, log_probabilities, rows_of_csv

DIM = 20
VIEWS = ("s84_r0_f0", "s84_r0_f1")
UNEQUAL = {"wren": 4, "owl": 1, "jay": 7, "emu": 2}


def rows_of(random, labels, centers):
    rows = np.maximum(centers[labels] + random.normal(scale=0.5, size=(len(labels), centers.shape[1])), 0)
    return {view: np.maximum(rows + random.normal(scale=0.2, size=rows.shape), 0).astype(np.float16) for view in VIEWS}


def make_store(folder, shots=None, dim=DIM, model="", seed=0):
    """Base classes of unequal sizes, and novel ones with so many samples each."""
    random = np.random.RandomState(seed)
    shots = shots or UNEQUAL
    splits = {}
    for split, sizes in (("base", [3 + c % 9 for c in range(40)]), ("novel", list(shots.values()))):
        labels = np.repeat(np.arange(len(sizes)), sizes)
        splits[split] = labels, rows_of(random, labels, random.gamma(0.5, size=(len(sizes), dim)))
    write_store(folder, splits, {"novel": list(shots)})
    description = json.loads((folder / "store.json").read_text())
    description["provenance"] = {"model": model} if model else {}
    (folder / "store.json").write_text(json.dumps(description))
    return folder


def transformed(rows):
    rows = rows.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.sqrt(rows / np.where(norms > 0, norms, 1))


def base_covariances(store, within=0.5, between=0.4):
    labels = np.load(store / "base/labels.npy")
    rows = np.concatenate([transformed(np.load(store / f"base/{view}.npy")) for view in VIEWS])
    labels = np.tile(labels, len(VIEWS))
    means = np.stack([rows[labels == c].mean(axis=0) for c in np.unique(labels)])
    J, n, dim = len(means), len(rows), rows.shape[1]
    residuals = rows - means[labels]
    S_w = residuals.T @ residuals / (n - J)
    S_b = np.cov(means.T) - S_w * J / n
    shrunk = [(1 - share) * S + share * np.trace(S) / dim * np.eye(dim) for S, share in ((S_w, within), (S_b, between))]
    return means.mean(axis=0), *shrunk


class Model:
    """Mean, psi and axes as files have them."""

    def __init__(self, array):
        array = array.astype(np.float64)
        self.mean, self.psi, self.axes = array[0], array[1], array[2:]

    def points(self, rows):
        y = (transformed(rows) - self.mean) @ self.axes.T
        return y * np.sqrt((1 + self.psi).sum()) / np.linalg.norm(y, axis=1, keepdims=True)

    def squared_distance(self, points, support, unequal):
        N = len(support)
        m, v = self.psi / (self.psi + 1 / N), 1 + self.psi / (N * self.psi + 1)
        squares = (((points - m * support.mean(axis=0)) ** 2) / v).sum(axis=1)
        return squares + np.log(v).sum() * unequal


def mean_influence(model, support, labels, queries):
    sizes = np.bincount(labels)
    total = 0
    for view in VIEWS:
        points, asked = model.points(support[view]), model.points(queries[view])
        squares = [model.squared_distance(asked, points[labels == k], len(set(sizes)) > 1) for k in range(len(sizes))]
        total = total - np.sqrt(np.stack(squares, axis=1))
    return total / len(VIEWS)


def views_in(tensors):
    return {view: tensors[view] for view in VIEWS}


def read(file):
    tensors, metadata = safetensors.read(file)
    return json.loads(metadata["deepvoro"]), tensors


@pytest.fixture
def backbone(tmp_path):
    """A file that stands for a network: statistics need its hash alone."""
    model = tmp_path / "models" / "net.safetensors"
    model.parent.mkdir()
    safetensors.write(model, {"weight": np.zeros((2, 2), np.float32)}, {})
    return model, hashlib.sha256(model.read_bytes()).hexdigest()


@pytest.mark.parametrize("shrinkage", [(), ("--shrink-within", 0.3, "--shrink-between", 0.1, "--kappa", 2)])
def test_statistics_are_the_covariances_of_base_classes(deepvoro, backbone, tmp_path, shrinkage):
    model, sha256 = backbone
    store = make_store(tmp_path / "store", model=sha256)
    done = deepvoro("backbone", "statistics", model, "--plda", "--from", store, *shrinkage)
    assert done.returncode == 0, done.stderr
    description, tensors = read(model.with_suffix(".statistics"))
    assert description["network"] == sha256 and description["views"] == list(VIEWS)
    assert (description["classes"], description["samples"]) == (40, len(np.load(store / "base/labels.npy")))
    shares = (0.3, 0.1) if shrinkage else (0.5, 0.4)
    assert (description["plda"]["shrink_within"], description["plda"]["shrink_between"]) == shares
    assert description["plda"]["kappa"] == (2 if shrinkage else 1)
    assert tensors["plda"].dtype == np.float16 and tensors["plda"].shape == (DIM + 2, DIM)
    found = Model(tensors["plda"])
    mean, S_w, S_b = base_covariances(store, *shares)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-3)
    within, between = found.axes @ S_w @ found.axes.T, found.axes @ S_b @ found.axes.T
    scale = np.trace(within) / DIM  # the axes are known up to a factor
    assert 0.5 < abs(found.axes).max() <= 1
    np.testing.assert_allclose(within / scale, np.eye(DIM), atol=5e-3)
    np.testing.assert_allclose(between / scale, np.diag(found.psi), atol=5e-3 * found.psi.max())


def test_the_space_of_points_is_that_of_base_classes(deepvoro, backbone, tmp_path):
    model, sha256 = backbone
    dim = 150  # more than there are directions
    store = make_store(tmp_path / "store", dim=dim, model=sha256)
    done = deepvoro("backbone", "statistics", model, "--from", store)
    assert done.returncode == 0, done.stderr
    description, tensors = read(model.with_suffix(".statistics"))
    assert "plda" not in description and set(tensors) == {"points-0.75", "points-0.5"}
    labels = np.load(store / "base/labels.npy")
    rows = [np.load(store / f"base/{view}.npy") for view in VIEWS]
    for space in description["spaces"]:
        points = rule_reference.represent(rows, space["exponent"])
        means = rule_reference.class_means(points, labels, 40)
        residuals = points - means[labels]
        covariance = residuals.T @ residuals / (len(points) - 40)
        variances = np.linalg.eigvalsh(covariance)[::-1]
        mean_variance = np.trace(covariance) / dim
        found = tensors[f"points-{space['exponent']}"].astype(float)
        assert found.shape == (129, dim)
        np.testing.assert_allclose(found[0], means.mean(axis=0), rtol=1e-3, atol=1e-6)
        wanted = 1 - np.sqrt(0.8 * mean_variance / (0.2 * variances[:128] + 0.8 * mean_variance))
        np.testing.assert_allclose(space["shrinkage"], wanted, rtol=1e-9, atol=1e-9)
        directions = found[1:]
        np.testing.assert_allclose(directions @ directions.T, np.eye(128), atol=2e-3)
        np.testing.assert_allclose(directions @ covariance @ directions.T, np.diag(variances[:128]), atol=2e-3 * variances[0])


def known_spaces(description, tensors, prefix=""):
    """As the reference takes them."""
    arrays = {space["exponent"]: tensors[f"{prefix}points-{space['exponent']}"] for space in description["spaces"]}
    return {space["exponent"]: (arrays[space["exponent"]][0], arrays[space["exponent"]][1:].T, space["shrinkage"])
            for space in description["spaces"]}


def deviations_of(description):
    return {space["exponent"]: space["likeness_deviation"] for space in description["spaces"]}


def test_the_likeness_of_classes_is_measured_on_base_classes(deepvoro, backbone, tmp_path):
    model, _ = backbone
    found = []
    for dim in (5, 60):
        store = make_store(tmp_path / f"store{dim}", dim=dim)
        assert deepvoro("backbone", "statistics", model, "--from", store).returncode == 0
        description, tensors = read(model.with_suffix(".statistics"))
        rows = [np.load(store / f"base/{view}.npy") for view in VIEWS]
        labels, known = np.load(store / "base/labels.npy"), known_spaces(description, tensors)
        for exponent, deviation in deviations_of(description).items():
            wanted = rule_reference.measured_deviation(rows, labels, known, exponent)
            np.testing.assert_allclose(deviation, wanted, rtol=1e-5)
            found.append(deviation)
    assert min(found[:2]) > 2 * max(found[2:])  # many dimensions make classes differ more evenly


def test_a_store_with_base_classes_has_its_own_statistics(deepvoro, tmp_path):
    store, file = make_store(tmp_path / "store"), tmp_path / "fitted.dv"
    done = deepvoro("fit", store, "--split", "novel", "--out", file)
    assert done.returncode == 0 and "with statistics" in done.stdout, done
    description, tensors = read(file)
    known = known_spaces(description["statistics"], tensors, ".")
    wanted = rule_reference.Rule([tensors[view] for view in VIEWS], labels_of(description), known, deviations_of(description["statistics"]))
    queries = make_store(tmp_path / "queries", {"any": 30}, seed=7)
    asked = [np.load(queries / f"novel/{view}.npy") for view in VIEWS]
    _, _, actual = rows_of_csv(deepvoro("predict", file, queries, "--split", "novel").stdout)
    np.testing.assert_allclose(actual, wanted.probabilities(asked), rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(description["calibration"]["thresholds"][1], wanted.kappa, rtol=1e-5)


def test_several_stores_are_one(deepvoro, backbone, tmp_path):
    """Halves of a base split in two stores, classes in both, give what the whole gives."""
    model, _ = backbone
    whole = make_store(tmp_path / "whole")
    labels = np.load(whole / "base/labels.npy")
    views = {view: np.load(whole / f"base/{view}.npy") for view in VIEWS}
    halves = []
    for part in (0, 1):
        kept = np.arange(len(labels)) % 2 == part
        names = [f"base-{c:03d}" for c in range(40)]
        splits = {"base": (labels[kept], {view: rows[kept] for view, rows in views.items()})}
        halves.append(write_store(tmp_path / f"half{part}", splits, {"base": names}))
    files = []
    for stores in ([whole], halves):
        assert deepvoro("backbone", "statistics", model, "--plda", "--from", *stores).returncode == 0
        files.append(read(model.with_suffix(".statistics")))
    (first, first_tensors), (second, second_tensors) = files
    for ours, theirs in zip(first.pop("spaces"), second.pop("spaces")):
        np.testing.assert_allclose(ours["shrinkage"], theirs["shrinkage"], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours["likeness_deviation"], theirs["likeness_deviation"], rtol=0.3)  # other samples come first
    assert first == second
    np.testing.assert_allclose(
        np.sort(first_tensors["plda"][1].astype(float)), np.sort(second_tensors["plda"][1].astype(float)), rtol=5e-3, atol=5e-3
    )


@pytest.mark.parametrize("shots", [UNEQUAL, {"a": 3, "b": 3, "c": 3}, {"a": 1, "b": 1, "c": 1}])
def test_answers_of_a_classifier_by_plda(deepvoro, tmp_path, shots):
    store, file = make_store(tmp_path / "store", shots), tmp_path / "fitted.dv"
    done = deepvoro("fit", store, "--split", "novel", "--method", "plda", "--out", file)
    assert done.returncode == 0, done.stderr
    description, tensors = read(file)
    model = Model(tensors.pop(".plda"))
    queries = make_store(tmp_path / "queries", {"any": 30}, seed=7)
    asked = {view: np.load(queries / f"novel/{view}.npy") for view in VIEWS}
    influence = mean_influence(model, views_in(tensors), labels_of(description), asked)
    done = deepvoro("predict", file, queries, "--split", "novel")
    assert done.returncode == 0, done.stderr
    _, _, actual = rows_of_csv(done.stdout)
    expected = np.exp(log_probabilities(influence, description["calibration"]["temperature"]))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("shots", [UNEQUAL, {"a": 3, "b": 3, "c": 3}, {f"c{i}": 5 for i in range(9)}])
def test_calibration_leaves_each_sample_out_of_its_class(deepvoro, tmp_path, shots):
    store, file = make_store(tmp_path / "store", shots), tmp_path / "fitted.dv"
    assert deepvoro("fit", store, "--split", "novel", "--method", "plda", "--out", file).returncode == 0
    description, tensors = read(file)
    model, labels = Model(tensors.pop(".plda")), labels_of(description)
    tensors = views_in(tensors)
    several = np.flatnonzero(np.bincount(labels)[labels] > 1)
    influence = []
    for i in several:
        rest = np.arange(len(labels)) != i
        support = {view: rows[rest] for view, rows in tensors.items()}
        influence.append(mean_influence(model, support, labels[rest], {view: rows[i : i + 1] for view, rows in tensors.items()})[0])
    influence = np.array(influence)
    own = np.eye(labels.max() + 1, dtype=bool)[labels]
    strangers = np.where(own, np.nan, mean_influence(model, tensors, labels, tensors))
    prior = -0.08 * np.nanmean(strangers)

    def cost(log_temperature):
        likelihood = log_probabilities(influence, np.exp(log_temperature))[np.arange(len(several)), labels[several]]
        return -likelihood.sum() + 4 * (log_temperature - np.log(prior)) ** 2

    bounds = (np.log(prior / 100), np.log(prior * 100))
    best = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    calibration = description["calibration"]
    left_out = [None] * len(labels)
    for i, answer in zip(several, influence.argmax(axis=1)):
        left_out[i] = answer
    assert calibration["left_out"] == left_out
    assert abs(calibration["temperature"] / np.exp(best.x) - 1) < 1e-4
    threshold = (influence.max(axis=1).mean() + np.nanmax(strangers, axis=1).mean()) / 2
    assert abs(-calibration["thresholds"][1] / threshold - 1) < 1e-4


def test_adding_and_removing_keep_the_statistics(deepvoro, tmp_path):
    store = make_store(tmp_path / "store")
    whole, grown = tmp_path / "whole.dv", tmp_path / "grown.dv"
    for file in (whole, grown):
        assert deepvoro("fit", store, "--split", "novel", "--method", "plda", "--out", file).returncode == 0
    for command in (["remove", grown, "jay"], ["add", grown, "jay", store, "--split", "novel"]):
        done = deepvoro(*command)
        assert done.returncode == 0, done.stderr
    assert grown.read_bytes() == whole.read_bytes()


def test_the_built_in_network_of_sketches_has_its_statistics():
    folder = REPOSITORY / "data/backbones"
    description, tensors = read(folder / "quickdraw-conv4.statistics")
    model = (folder / "quickdraw-conv4.safetensors").read_bytes()
    assert description["network"] == hashlib.sha256(model).hexdigest()
    assert description["classes"] == 200 and tensors["plda"].shape == (130, 128)
    assert tensors["points-0.75"].shape == tensors["points-0.5"].shape == (129, 128)


def test_resnet50_has_its_statistics():
    file = REPOSITORY / "data/backbones/resnet50.statistics"
    description, tensors = read(file)
    assert description["dim"] == 2048 and file.stat().st_size < 2_000_000
    assert {name: tensor.shape for name, tensor in tensors.items()} == {"points-0.75": (129, 2048), "points-0.5": (129, 2048)}
    about = json.loads((REPOSITORY / "data/backbones/resnet50.about.json").read_text())
    assert "statistics" in about


def refused(done, *mentions, code=3):
    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert all(mention in done.stderr for mention in mentions), done.stderr


def test_stores_that_teach_nothing(deepvoro, backbone, tmp_path):
    model, _ = backbone

    def statistics(*stores):
        return deepvoro("backbone", "statistics", model, "--from", *stores)

    without = write_store(tmp_path / "without", {"novel": (np.arange(4), {"a": np.ones((4, 3), np.float32)})})
    refused(statistics(without), "without", "'base'")
    one = write_store(tmp_path / "one", {"base": (np.zeros(4, int), {"a": np.eye(4, dtype=np.float32)})})
    refused(statistics(one, "--plda"), "1 base class")
    alone = write_store(tmp_path / "alone", {"base": (np.arange(4), {"a": np.eye(4, dtype=np.float32)})})
    refused(statistics(alone), "alone", "2 different samples")
    equal = write_store(tmp_path / "equal", {"base": (np.arange(4) // 2, {"a": np.repeat(np.eye(2, 4, dtype=np.float32), 2, 0)})})
    refused(statistics(equal), "equal", "2 different samples")
    other_dim = make_store(tmp_path / "other", dim=DIM + 1)
    refused(statistics(make_store(tmp_path / "store"), other_dim), "dimensions")
    refused(statistics(make_store(tmp_path / "another", model="00")), "another model")
    refused(deepvoro("fit", without, "--method", "plda", "--out", tmp_path / "x.dv"), "'base'")
    assert not model.with_suffix(".statistics").exists()


def test_wrong_usage(deepvoro, tmp_path, write_pool):
    store = make_store(tmp_path / "store")

    def fit(*flags):
        return deepvoro("fit", store, *flags, "--out", tmp_path / "x.dv")

    refused(fit("--method", "dc"), "--method dc", "plda", code=2)
    member = {"view": VIEWS[0], "w": 1.0, "b": 0.0, "lambda": 0.5}
    pool = write_pool([{**member, "geometry": "vd"}])
    refused(fit("--method", "plda", "--pool", pool), "--pool", "--method plda", code=2)
    pool = write_pool([{**member, "geometry": "plda", "shrink_within": 0.5, "shrink_between": 0.4}])
    refused(fit("--pool", pool), "base classes", "--method plda", code=2)
    assert not (tmp_path / "x.dv").exists()
