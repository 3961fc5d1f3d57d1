"""The heads fitted on a support set, against float64 NumPy and scikit-learn.

Power-LR, Voronoi-LR, DeepVoro--, SimpleShot and PT+NCM are compared score by score. S2M2_R and DC draw random
numbers of their own: the program has to be as close to the reference as another seed of the reference is.
"""
from dataclasses import replace
from functools import partial

import heads_reference as heads
import numpy as np
import pytest
from checks import (
    RELATIVE_TOLERANCE,
    assert_like_another_seed,
    assert_result_follows_from_scores,
    assert_scores_agree,
)
from conftest import REPOSITORY
from reference import Store, Task
from sklearn.linear_model import LogisticRegression
from stores import random_labels, random_store, view_names, write_store
from test_determinism import available_instruction_sets

DEFAULT_EPOCHS = 20
NORMALISATIONS = ["un", "l2n", "cl2n"]
METHODS = [
    ("power-lr",),
    ("voronoi-lr",),
    ("deepvoro--", "--lr", "power"),
    ("deepvoro--", "--lr", "voronoi"),
    *(("simpleshot", "--normalisation", normalisation) for normalisation in NORMALISATIONS),
    ("pt-ncm",),
    ("s2m2",),
    ("dc",),
]
BY_ADAM = METHODS[:4]


@pytest.fixture(params=["quickdraw", "cub"])
def real_store(request):
    return REPOSITORY / "data/quickdraw" if request.param == "quickdraw" else request.getfixturevalue("cub_store")


def random_tasks():
    """Shapes around the vector width, and every parameter of a task."""
    yield 3, "float32", Task(ways=2, shots=7, queries=4, episodes=6, seed=3)
    yield 31, "float16", Task(ways=7, shots=1, queries=3, episodes=6, protocol="dc")
    yield 64, "float32", Task(split="val", ways=5, shots=5, episodes=6)
    yield 333, "float16", Task(ways=20, shots=3, queries=2, episodes=6, seed=1)
    yield 40, "float32", Task(ways=11, shots=6, queries=2, episodes=4)
    yield 100, "float32", Task(ways=21, shots=10, queries=2, episodes=2)


# --- logistic regressions ------------------------------------------------------------------------------


def adam_head(method, kind, epochs=DEFAULT_EPOCHS, alpha=1.0, start=heads.diagram_of_prototypes, **options):
    fit = {"kind": kind, "epochs": epochs, "start": start, **options}
    return partial(heads.civd_scores, alpha=alpha, **fit) if method == "deepvoro--" else partial(heads.lr_scores, **fit)


def assert_adam_agrees(evaluation, head, folder, task):
    """Below 64 dimensions as near as float64 is with rows rounded to float32, a digit to spare.

    From there on training is in float32: no further off than float32 NumPy is, or than scores may be anywhere.
    """
    store = Store(folder)
    rows = heads.square_roots(store, task.split)
    expected = heads.scores_of(head, rows, store, task)
    rounded = rows.astype(np.float32)
    if rows.shape[1] < 64:
        tolerance = 10 * abs(heads.scores_of(head, rounded.astype(np.float64), store, task) - expected).max()
    else:
        float32_error = abs(heads.scores_of(head, rounded, store, task) - expected).max()
        tolerance = max(float32_error, RELATIVE_TOLERANCE * abs(expected).max())
    assert tolerance < 0.01 * abs(expected).max()
    np.testing.assert_allclose(evaluation.scores, expected, rtol=0, atol=tolerance)
    assert (evaluation.scores.argmax(axis=2) == expected.argmax(axis=2)).mean() >= 0.995
    assert_result_follows_from_scores(evaluation.result, evaluation.scores)


def kind_of(method):
    return method[2] if len(method) == 3 else method[0].removesuffix("-lr")


@pytest.mark.parametrize("method", BY_ADAM, ids=" ".join)
@pytest.mark.parametrize("shots", [1, 5])
def test_logistic_regression_on_real_features(evaluate, real_store, method, shots):
    task = Task(shots=shots, episodes=40)
    evaluation = evaluate(real_store, *method, task=task)
    assert_adam_agrees(evaluation, adam_head(method[0], kind_of(method)), real_store, task)


@pytest.mark.parametrize("method", BY_ADAM, ids=" ".join)
@pytest.mark.parametrize("dim, dtype, task", random_tasks())
@pytest.mark.parametrize("epochs", [1, 2, 100])
def test_logistic_regression_on_random_features(evaluate, make_store, method, dim, dtype, task, epochs):
    store = make_store(dim=dim, dtype=dtype)
    evaluation = evaluate(store, *method, "--epochs", epochs, task=task)
    assert_adam_agrees(evaluation, adam_head(method[0], kind_of(method), epochs), store, task)


RELEASE = ["--weight-decay", 0.01, "--start", "random", "--sigmoid"]


@pytest.mark.parametrize("method", BY_ADAM, ids=" ".join)
@pytest.mark.parametrize("dim", [20, 100])
@pytest.mark.parametrize("flags", [RELEASE, RELEASE[:2], RELEASE[2:4], RELEASE[4:]], ids=lambda flags: str(len(flags)) + flags[0])
def test_logistic_regression_as_the_release_trains_it(evaluate, make_store, method, dim, flags):
    store, task = make_store(dim=dim), Task(shots=5, episodes=30)
    evaluation = evaluate(store, *method, *flags, task=task)
    options = {"weight_decay": 0.01 if "--weight-decay" in flags else 0.0, "sigmoid": "--sigmoid" in flags}

    class Restarted:
        """The random start counts episodes, so each run over them begins anew."""

        def __init__(self):
            self.episodes = 0

        def __call__(self, support, query):
            if self.episodes % task.episodes == 0:
                start = heads.RandomStart() if "--start" in flags else heads.diagram_of_prototypes
                self.head = adam_head(method[0], kind_of(method), start=start, **options)
            self.episodes += len(support)
            return self.head(support, query)

    assert_adam_agrees(evaluation, Restarted(), store, task)
    (said,) = evaluation.result["pool"]
    assert (said["weight_decay"], said["sigmoid"]) == (options["weight_decay"], options["sigmoid"])
    assert said["start"] == ("random" if "--start" in flags else "prototypes")


@pytest.mark.parametrize("kind", ["power", "voronoi"])
@pytest.mark.parametrize("alpha", [0.5, 2.0, -1.0])
def test_exponent_of_the_integrated_diagram(evaluate, make_store, kind, alpha):
    store, task = make_store(dim=64), Task(shots=5, episodes=10)
    evaluation = evaluate(store, "deepvoro--", "--lr", kind, "--alpha", alpha, task=task)
    assert_adam_agrees(evaluation, adam_head("deepvoro--", kind, alpha=alpha), store, task)


def test_power_lr_comes_to_the_optimum_where_there_is_one(evaluate, tmp_path):
    """Classes that overlap altogether: the loss has a finite minimum, close to the start, on 64 rows of few dimensions."""
    random = np.random.RandomState(0)
    labels = random_labels(random, [80] * 6)
    rows = random.dirichlet([0.15] * 5, size=len(labels)).astype(np.float32)
    folder = write_store(tmp_path / "store", {"novel": (labels, {view_names(1)[0]: rows})})
    task = Task(ways=2, shots=32, queries=40, episodes=50)
    store = Store(folder)
    evaluation = evaluate(folder, "power-lr", "--epochs", 500, task=task)
    optimum = heads.scores_of(unpenalised_scores, heads.square_roots(store, "novel"), store, task)
    assert len(np.unique(optimum.argmax(axis=2))) == 2
    assert (evaluation.scores.argmax(axis=2) == optimum.argmax(axis=2)).mean() >= 0.995


def unpenalised_scores(support, query):
    _, ways, shots, dim = support.shape
    model = LogisticRegression(penalty=None, multi_class="multinomial", max_iter=100_000, tol=1e-10)
    labels = np.repeat(np.arange(ways), shots)
    return np.stack([
        model.fit(rows.reshape(-1, dim), labels).predict_log_proba(queries) for rows, queries in zip(support, query)
    ])  # fmt: skip


# --- nearest class means ---------------------------------------------------------------------------------


def nearest_mean_rows(method, store, split):
    if method[0] == "pt-ncm":
        return heads.power_transformed_rows(store, split)
    return heads.simpleshot_rows(store, split, method[2])


def assert_nearest_mean_agrees(evaluation, method, folder, task):
    store = Store(folder)
    rows = nearest_mean_rows(method, store, task.split)
    assert_scores_agree(evaluation.scores, heads.scores_of(heads.nearest_mean_scores, rows, store, task))
    assert_result_follows_from_scores(evaluation.result, evaluation.scores)


NEAREST_MEAN = [method for method in METHODS if method[0] in ("simpleshot", "pt-ncm")]


@pytest.mark.parametrize("method", NEAREST_MEAN, ids=" ".join)
@pytest.mark.parametrize("shots", [1, 5])
def test_nearest_mean_on_real_features(evaluate, real_store, method, shots):
    task = Task(shots=shots, episodes=60)
    assert_nearest_mean_agrees(evaluate(real_store, *method, task=task), method, real_store, task)


@pytest.mark.parametrize("method", NEAREST_MEAN, ids=" ".join)
@pytest.mark.parametrize("dim, dtype, task", random_tasks())
def test_nearest_mean_on_random_features(evaluate, make_store, method, dim, dtype, task):
    store = make_store(dim=dim, dtype=dtype)
    assert_nearest_mean_agrees(evaluate(store, *method, task=task), method, store, task)


@pytest.mark.parametrize("method", NEAREST_MEAN[:3], ids=" ".join)
def test_simpleshot_takes_negative_features(evaluate, make_store, method):
    store, task = make_store(dim=64, relu=False), Task(shots=2, episodes=5)
    assert_nearest_mean_agrees(evaluate(store, *method, task=task), method, store, task)


# --- heads with random numbers of their own --------------------------------------------------------------


def s2m2_seed(folder, task, seed):
    store = Store(folder)
    generators = [np.random.RandomState((seed, episode)) for episode in range(task.episodes)]
    return heads.s2m2_scores(heads.first_view(store, task.split), store, task, generators)


@pytest.mark.parametrize("shots", [1, 5])
def test_s2m2_is_one_of_many_seeds(evaluate, shots):
    task, folder = Task(shots=shots, episodes=30), REPOSITORY / "data/quickdraw"
    evaluation = evaluate(folder, "s2m2", task=task)
    assert_like_another_seed(evaluation.scores, [s2m2_seed(folder, task, seed) for seed in (1, 2, 3, 4)])


def assert_s2m2_agrees(evaluation, folder, task):
    """With the documented generator of each episode; tolerance as for Adam."""

    def expected_of(rows):
        generators = [np.random.RandomState(episode) for episode in range(task.episodes)]
        return heads.s2m2_scores(rows, Store(folder), task, generators)

    rows = heads.first_view(Store(folder), task.split)
    expected = expected_of(rows)
    rounded = expected_of(heads.unit(rows).astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(evaluation.scores, expected, rtol=0, atol=10 * abs(rounded - expected).max())
    assert_result_follows_from_scores(evaluation.result, evaluation.scores)


@pytest.mark.parametrize("shots", [1, 5])
def test_s2m2_on_real_features(evaluate, real_store, shots):
    task = Task(shots=shots, episodes=15)
    assert_s2m2_agrees(evaluate(real_store, "s2m2", task=task), real_store, task)


@pytest.mark.parametrize("dim, dtype, task", [*random_tasks()][:5])
def test_s2m2_on_random_features(evaluate, make_store, dim, dtype, task):
    store = make_store(dim=dim, dtype=dtype)
    assert_s2m2_agrees(evaluate(store, "s2m2", task=task), store, task)


def assert_dc_like_another_seed(evaluation, folder, task, seeds):
    reference = [heads.dc_scores(Store(folder), task, np.random.default_rng(seed)) for seed in range(seeds)]
    assert_result_follows_from_scores(evaluation.result, evaluation.scores)
    assert_like_another_seed(evaluation.scores, reference)


@pytest.mark.parametrize("shots", [1, 5])
def test_dc_on_sketches(evaluate, shots):
    task, folder = Task(shots=shots, episodes=5), REPOSITORY / "data/quickdraw"
    assert_dc_like_another_seed(evaluate(folder, "dc", task=task), folder, task, seeds=3)


@pytest.mark.parametrize("shots", [1, 5])
def test_dc_on_birds(evaluate, cub_store, shots):
    """Few episodes with many queries: nearly all the time goes into fitting."""
    task = Task(ways=3, shots=shots, queries=40, episodes=4)
    assert_dc_like_another_seed(evaluate(cub_store, "dc", task=task), cub_store, task, seeds=3)


def test_dc_with_base_classes_of_equal_rows(evaluate, tmp_path):
    """Samples differ from the calibrated mean along one direction only, so that little is left to chance."""
    folder = random_store(tmp_path / "store", 31, views=1, class_sizes=(40, 44))
    base = folder / "base" / f"{view_names(1)[0]}.npy"
    rows, labels = np.load(base), np.load(folder / "base/labels.npy")
    first_of_class = np.unique(labels, return_index=True)[1]
    np.save(base, rows[first_of_class][labels])
    task = Task(shots=3, episodes=10)
    assert_dc_like_another_seed(evaluate(folder, "dc", task=task), folder, task, seeds=3)


def test_dc_without_samples_is_logistic_regression(evaluate, tmp_path):
    """More than 750 shots leave no sample to draw and nothing to chance."""
    folder = random_store(tmp_path / "store", 20, views=1, classes=(("base", 5), ("novel", 4)), class_sizes=(780, 790))
    task = Task(ways=3, shots=751, queries=20, episodes=3)
    actual = evaluate(folder, "dc", task=task).scores
    expected = heads.dc_scores(Store(folder), task, random=np.random.default_rng(0))
    centred = [scores - scores.mean(axis=2, keepdims=True) for scores in (actual, expected)]
    np.testing.assert_allclose(*centred, rtol=0, atol=1e-3 * abs(expected).max())
    assert (actual.argmax(axis=2) == expected.argmax(axis=2)).mean() >= 0.98


# --- what holds for all of them ---------------------------------------------------------------------------

BITWISE = Task(ways=4, shots=3, queries=7, episodes=5, seed=1)


@pytest.mark.parametrize("method", METHODS, ids=" ".join)
@pytest.mark.parametrize("dim, dtype", [(31, "float32"), (100, "float16")])
def test_same_bits_at_any_thread_count_and_instruction_set(evaluate, make_store, method, dim, dtype):
    store = make_store(dim=dim, dtype=dtype)
    first = evaluate(store, *method, "--threads", 1, task=BITWISE)
    assert evaluate(store, *method, "--threads", 2, task=BITWISE).scores_bytes == first.scores_bytes
    for name in available_instruction_sets():
        other = evaluate(store, *method, task=BITWISE, env={"DEEPVORO_ISA": name})
        assert other.result["program"]["isa"] == name
        assert other.scores_bytes == first.scores_bytes, name


@pytest.mark.parametrize("method", METHODS, ids=" ".join)
def test_an_episode_does_not_depend_on_those_after_it(evaluate, make_store, method):
    store = make_store(dim=31)
    few = evaluate(store, *method, task=BITWISE).scores
    more = evaluate(store, *method, task=replace(BITWISE, episodes=8)).scores
    np.testing.assert_array_equal(more[: BITWISE.episodes], few)


@pytest.mark.parametrize("method", METHODS, ids=" ".join)
def test_only_the_first_view_counts(evaluate, tmp_path, method):
    folder = random_store(tmp_path / "store", 16)
    before = evaluate(folder, *method, task=BITWISE).scores
    for split in ("base", "novel"):
        path = folder / split / f"{view_names(2)[1]}.npy"
        np.save(path, np.load(path)[::-1])
    np.testing.assert_array_equal(evaluate(folder, *method, task=BITWISE).scores, before)


@pytest.fixture
def refusal(deepvoro, tmp_path):
    def refused(code, store, *arguments):
        outputs = [tmp_path / "result.json", tmp_path / "scores.npy"]
        flags = ["--json", outputs[0], "--scores", outputs[1], "--episodes", 2]
        process = deepvoro("evaluate", store, "--method", *arguments, *flags)
        assert process.returncode == code, process.stderr
        assert len(process.stderr.splitlines()) == 1, process.stderr
        assert process.stdout == ""
        assert not any(path.exists() for path in outputs)
        return process.stderr

    return refused


@pytest.mark.parametrize("method", METHODS, ids=" ".join)
def test_heads_have_no_pool(refusal, make_store, write_pool, method):
    pool = write_pool([{"view": view_names(1)[0], "w": 1.0, "b": 0.0, "lambda": 0.5, "geometry": "vd"}])
    assert "pool" in refusal(2, make_store(dim=16), *method, "--pool", pool)


@pytest.mark.parametrize("method", METHODS, ids=" ".join)
@pytest.mark.parametrize("scheme", [("guided",), ("random", "--size", "1")], ids=" ".join)
def test_heads_have_no_scheme(refusal, make_store, method, scheme):
    assert "scheme" in refusal(2, make_store(dim=16), *method, "--scheme", *scheme)


@pytest.mark.parametrize("method, value", [("simpleshot", "l3n"), ("deepvoro--", "linear")])
def test_unknown_kind_of_a_head(refusal, make_store, method, value):
    flag = {"simpleshot": "--normalisation", "deepvoro--": "--lr"}[method]
    message = refusal(2, make_store(dim=16), method, flag, value)
    assert flag in message and value in message


@pytest.mark.parametrize("method", [("simpleshot", "--normalisation", "cl2n"), ("dc",)], ids=" ".join)
def test_missing_base_classes(refusal, make_store, method):
    assert "base" in refusal(3, make_store(dim=16, classes=(("novel", 22),)), *method)


@pytest.mark.parametrize("method", [m for m in METHODS if m[0] not in ("simpleshot", "s2m2")], ids=" ".join)
def test_negative_features_have_no_root(refusal, make_store, method):
    message = refusal(3, make_store(dim=16, relu=False), *method)
    assert view_names(1)[0] in message


@pytest.mark.parametrize("method", [m for m in METHODS if m[0] not in ("simpleshot", "s2m2", "dc")], ids=" ".join)
def test_negative_base_features_do_not_matter_to_others(evaluate, tmp_path, method):
    folder = random_store(tmp_path / "store", 16)
    path = folder / "base" / f"{view_names(1)[0]}.npy"
    before = evaluate(folder, *method, task=BITWISE).scores
    np.save(path, -np.load(path))
    np.testing.assert_array_equal(evaluate(folder, *method, task=BITWISE).scores, before)
