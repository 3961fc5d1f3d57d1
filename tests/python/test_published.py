"""Members with published values, and the views of the authors' release."""
import numpy as np
import pytest
import reference
from checks import assert_scores_agree
from reference import Store, Task
from stores import write_store

BETA = {
    "mini": [7, 5.5, 4.5, 4, 4, 3.5, 3.5, 3, 3, 3],
    "cub": [7, 6, 3.5, 3, 3, 3, 3, 2, 2.5, 2],
    "tiered": [4, 4, 5, 6, 6, 6, 7, 7, 7, 7],
}
OF_SURROGATES = {"mini": [(0.75, 0), (0, 0.08)], "cub": [(1, 0), (0, 1)], "tiered": [(0.75, 0), (0, 0.3)]}
B0 = {("mini", 1): 0.02, ("cub", 1): 0.5, ("tiered", 1): 0.1}


def published(method, views, preset, shots):
    if method == "deepvoro":
        b0 = B0.get((preset, shots), 0.02)
        transforms = [(0.5, 0), (0.75, 0), (1, 0), *((0, b0 * step) for step in range(1, 6))]
        return [{"view": v, "w": 1.0, "b": b, "lambda": p, "geometry": "vd"} for v in views for p, b in transforms]
    return [
        {"view": v, "w": 1.0, "b": b, "lambda": p, "geometry": "surrogate", "R": nearest, "beta": beta, "gamma": 1.0}
        for v in views
        for p, b in OF_SURROGATES[preset]
        for nearest, beta in enumerate(BETA[preset], start=1)
    ]


@pytest.mark.parametrize("method", ["deepvoro", "deepvoro++"])
@pytest.mark.parametrize("preset", ["mini", "cub", "tiered"])
@pytest.mark.parametrize("shots", [1, 5])
def test_members_of_a_preset(evaluate, make_store, method, preset, shots):
    store = make_store(dim=20)
    task = Task(shots=shots, queries=5, episodes=4)
    evaluation = evaluate(store, method, "--preset", preset, task=task)
    expected = published(method, Store(store).views, preset, shots)
    actual = evaluation.result["pool"]
    assert len(actual) == len(expected)
    for member, wanted in zip(actual, expected):
        assert member.keys() == wanted.keys()
        assert all(member[key] == pytest.approx(value) for key, value in wanted.items())
    assert_scores_agree(evaluation.scores, reference.ensemble_scores(Store(store), task, expected))


@pytest.fixture
def turned_store(tmp_path):
    """Features of pictures in all eight turns of two sizes, as a network that sums pixels of a quarter would see them."""

    def make(left_out=()):
        random = np.random.RandomState(0)
        splits = {}
        for split, classes in (("base", 6), ("novel", 6)):
            labels = np.repeat(np.arange(classes), 22)
            pictures = np.maximum(random.rand(classes, 6, 6)[labels] + random.normal(scale=0.4, size=(len(labels), 6, 6)), 0)
            views = {}
            for size in (84, 90):
                for turns in range(4):
                    turned = np.rot90(pictures, turns, axes=(1, 2))
                    for flip in (0, 1):
                        name = f"s{size}_r{90 * turns}_f{flip}"
                        picture = turned[:, :, ::-1] if flip else turned
                        if name not in left_out:
                            views[name] = picture[:, :4, : size // 20].reshape(len(labels), -1)[:, :16].astype(np.float32)
            splits[split] = labels, views
        return write_store(tmp_path / "store", splits)

    return make


def test_views_of_the_release(evaluate, turned_store):
    """Its flips are vertical: the flipped view of a rotation is the one whose picture is that, upside down."""
    folder = turned_store()
    release = [
        f"s{size}_{view}"
        for size in (84, 90)
        for view in ("r0_f0", "r0_f0", "r90_f0", "r270_f1", "r180_f0", "r0_f1", "r270_f0", "r90_f1")
    ]
    task = Task(shots=2, queries=5, episodes=4)
    evaluation = evaluate(folder, "deepvoro", "--views", "release", task=task)
    expected = published("deepvoro", release, "mini", 2)
    assert [member["view"] for member in evaluation.result["pool"]] == [member["view"] for member in expected]
    assert_scores_agree(evaluation.scores, reference.ensemble_scores(Store(folder), task, expected))


def test_a_vertical_flip_is_a_horizontal_one_half_a_turn_further():
    picture = np.arange(36).reshape(6, 6)
    for turns in (1, 2, 3):
        release = np.rot90(picture, turns)[::-1]
        np.testing.assert_array_equal(release, np.rot90(picture, turns + 2)[:, ::-1])


def test_a_store_that_lacks_a_view_of_the_release(deepvoro, turned_store):
    done = deepvoro("evaluate", turned_store(["s90_r270_f1"]), "--method", "deepvoro", "--views", "release")
    assert done.returncode == 3 and "s90_r270_f1" in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    "flags, mentions",
    [
        (["--method", "deepvoro", "--preset", "omniglot"], ["--preset omniglot", "mini, cub or tiered"]),
        (["--method", "vd", "--preset", "cub"], ["--preset", "deepvoro++"]),
        (["--method", "vd", "--views", "release"], ["--views", "deepvoro"]),
        (["--method", "deepvoro", "--preset", "cub", "--pool", "pool.json"], ["--preset", "--pool"]),
        (["--method", "deepvoro", "--views", "upright"], ["upright"]),
    ],
)
def test_wrong_usage(deepvoro, make_store, flags, mentions):
    done = deepvoro("evaluate", make_store(dim=5), *flags)
    assert done.returncode == 2, done.stderr
    assert all(mention in done.stderr for mention in mentions), done.stderr


def test_a_preset_is_for_those_methods_that_have_one(deepvoro, make_store):
    flags = ["--method", "vd,deepvoro,plda", "--preset", "cub", "--episodes", 2, "--queries", 5]
    done = deepvoro("evaluate", make_store(dim=5), *flags)
    assert done.returncode == 0, done.stderr
