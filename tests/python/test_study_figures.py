"""Studies that draw: maps against scikit-learn, diagrams in the plane and patterns of distances against NumPy."""
import base64
import json

import heads_reference
import numpy as np
import pytest
import reference
import scipy.spatial.distance
from reference import Store, Task
from study_runs import SEED, STORE, StudyFolder


@pytest.fixture(scope="module")
def store(make_store):
    return Store(make_store(**STORE))


@pytest.fixture(scope="module")
def study(deepvoro, store, tmp_path_factory):
    return StudyFolder(deepvoro, store.folder, tmp_path_factory.mktemp("paper"))


def shown_classes(store):
    """The rows of the classes of the first episode, way by way."""
    class_rows = reference.rows_by_class(store.labels("novel"))
    (episode,) = reference.draw_episodes(class_rows, Task(episodes=1, seed=SEED))
    labels = store.labels("novel")
    return [np.flatnonzero(labels == labels[rows[0]]) for rows in episode.support]


@pytest.mark.parametrize("panel", ["raw", "l2", "tukey", "composed"])
def test_embedding_against_scikit_learn(study, store, panel):
    from sklearn.manifold import TSNE, _t_sne

    found = study("embedding")
    rows = found.rows("points", panel=panel)
    about = found.row("panels", panel=panel)
    wanted = np.concatenate([rows[:100] for rows in shown_classes(store)])
    assert [row["sample"] for row in rows] == list(wanted)
    raw = store.features("novel", store.views[0])[wanted]
    features = {
        "raw": lambda: raw,
        "l2": lambda: reference.transform(raw, 1, 0, 1),
        "tukey": lambda: np.sqrt(raw),
        "composed": lambda: reference.transform(raw, 1, 0.04, 0),
    }[panel]()
    points = np.array([[row["x"], row["y"]] for row in rows])
    # The divergence that is told is scikit-learn's of our points and its own probabilities.
    squared = scipy.spatial.distance.pdist(features, "sqeuclidean")
    probabilities = _t_sne._joint_probabilities(
        scipy.spatial.distance.squareform(squared).astype(np.float32), about["perplexity"], 0)
    divergence, gradient = _t_sne._kl_divergence(points.ravel(), probabilities, 1, len(points), 2)
    assert about["divergence"] == pytest.approx(divergence, rel=1e-5)
    # We are where its gradient is all but gone.
    start = _t_sne._kl_divergence(1e-4 * np.random.RandomState(0).randn(points.size), probabilities, 1, len(points), 2)[0]
    assert divergence < start / 2
    assert np.linalg.norm(gradient) < 1e-5
    if panel == "composed":  # as near to the probabilities as it gets itself; it takes seconds
        theirs = TSNE(perplexity=about["perplexity"], method="exact", init="pca", learning_rate="auto", random_state=0).fit(features)
        assert divergence <= 1.15 * theirs.kl_divergence_  # another local minimum, perhaps


def plane_of(means):
    _, _, axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    axes = axes[:2] * np.sign(axes[[0, 1], np.abs(axes[:2]).argmax(axis=1)])[:, None]
    return lambda rows: (rows - means.mean(axis=0)) @ axes.T


def square_rooted(store, split):
    return reference.transform(store.features(split, store.views[0]), 1, 0, 0.5)


def first_episode(store, shots):
    class_rows = reference.rows_by_class(store.labels("novel"))
    (episode,) = reference.draw_episodes(class_rows, Task(episodes=1, seed=SEED, shots=shots))
    return episode


def pixels(panel):
    across, up = ((np.arange(400) + 0.5) / 400 for _ in range(2))
    x = panel["x0"] + (panel["x1"] - panel["x0"]) * across
    y = panel["y0"] + (panel["y1"] - panel["y0"]) * up[::-1]
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def ladder(points, power):
    return np.sign(points) * np.abs(points) ** power


def plda_scores(points, support, base, labels):
    covariances = reference.BaseCovariances(base, labels, 0.5, 0.4)
    within, between = covariances.within, covariances.between
    shots = support.shape[1]
    gain = between @ np.linalg.inv(between + within / shots)
    spread = np.linalg.inv(within + between - gain @ between)
    centered = points - covariances.mean
    scores = []
    for of_class in support:
        away = centered - gain @ (of_class.mean(axis=0) - covariances.mean)
        scores.append(-np.einsum("ni,ij,nj->n", away, spread, away))
    return np.stack(scores, axis=1)


@pytest.mark.parametrize("geometry", ["vd", "power", "civd", "ccvd", "plda"])
@pytest.mark.parametrize("shots", [1, 3])
def test_diagram(study, store, geometry, shots):
    found = study("diagram", "--shots", "1,3")
    base, labels = square_rooted(store, "base"), store.labels("base")
    means = np.stack([base[labels == label].mean(axis=0) for label in range(labels.max() + 1)])
    plane = plane_of(means)
    episode = first_episode(store, shots)
    novel = square_rooted(store, "novel")
    support, query = plane(novel[episode.support]), plane(novel[episode.query]).reshape(-1, 2)
    prototypes = support.mean(axis=1)
    start = heads_reference.diagram_of_prototypes

    def scores(points):
        if geometry == "vd":
            return -reference.distances(points, prototypes)
        if geometry == "power":
            return heads_reference.lr_scores(support[None], points[None], "power", 20, start)[0]
        if geometry == "civd":
            return heads_reference.civd_scores(support[None], points[None], "voronoi", 20, 1, start)[0]
        if geometry == "plda":
            return plda_scores(points, support, plane(base), labels)
        return -sum(reference.distances(ladder(points, power), ladder(support, power).mean(axis=1)) for power in (0.5, 0.75, 1))

    panel = found.row("panels", geometry=geometry, split="novel", shots=shots)
    cells = np.frombuffer(base64.b64decode(panel["cells"]), np.uint8)
    assert cells.shape == (400 * 400,)
    assert (cells != scores(pixels(panel)).argmax(axis=1)).sum() <= 8  # on a border
    decided = scores(query).argmax(axis=1) == np.repeat(np.arange(5), 15)
    points = [row for row in found.rows("points", panel=panel["panel"], shots=shots) if row["role"].startswith("query")]
    np.testing.assert_allclose([[row["x"], row["y"]] for row in points], query, atol=1e-9)
    assert [row["role"] == "query" for row in points] == list(decided)
    assert [row["class"] for row in points] == list(np.repeat(np.arange(5), 15))


def test_diagram_of_base_classes(study):
    found = study("diagram", "--shots", "1,3")
    panel = found.row("panels", split="base", shots=1)
    centers = found.rows("points", panel=panel["panel"], shots=1)
    assert 2 <= len(centers) <= 10
    places = np.array([[row["x"], row["y"]] for row in centers])
    cells = np.frombuffer(base64.b64decode(panel["cells"]), np.uint8)
    assert (cells != reference.distances(pixels(panel), places).argmin(axis=1)).sum() <= 8


def test_surrogate_pattern(study, store):
    found = study("surrogate-pattern")
    means = store.base_prototypes({"view": store.views[0], "w": 1, "b": 0, "lambda": 0.5})
    novel = square_rooted(store, "novel")
    episode = first_episode(store, 1)
    support = reference.distances(novel[episode.support].mean(axis=1), means)
    query = reference.distances(novel[episode.query].reshape(-1, means.shape[1]), means)
    for role, expected in (("support", support), ("query", query)):
        written = [row["distance"] for row in found.rows("pattern", row=role)]
        np.testing.assert_allclose(np.reshape(written, expected.shape), expected, rtol=1e-9)
    classes = json.loads((store.folder / "store.json").read_text())["splits"]["base"]["classes"]
    assert [row["base_class"] for row in found.rows("pattern")[: len(classes)]] == classes
