"""The default rule, ridge-vd, in every step, against the plain NumPy computation of rule_reference.py."""
import json

import deepvoro as package
import numpy as np
import pytest
import rule_reference
import safetensors
from rule_reference import EXPONENTS, Rule
from sklearn.datasets import load_digits
from stores import write_store

RELATIVE = 1e-5
VIEWS = ("s84_r0_f0", "s84_r0_f1", "s78_r0_f0")


def features(sizes, dim=48, views=1, seed=0, signed=False, spread=0.6):
    """Rows by class with so many rows each, in several views, as [views] of [samples, dim]; and their labels."""
    random = np.random.RandomState(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    centers = np.random.RandomState(17).normal(size=(60, dim))[: len(sizes)]
    rows = centers[labels] + random.normal(scale=spread, size=(len(labels), dim))
    found = [rows + random.normal(scale=0.3, size=rows.shape) for _ in range(views)]
    return [(view if signed else np.maximum(view, 0)).astype(np.float16).astype(np.float32) for view in found], labels


DEVIATIONS = {0.75: 0.17, 0.5: 0.08}


def write_statistics(path, dim, seed=3, directions=7, version=3):
    """A statistics file with any numbers, and what the reference takes for it."""
    random = np.random.RandomState(seed)
    tensors, spaces, statistics = {}, [], {}
    for exponent in EXPONENTS:
        mean = (0.05 * random.rand(dim)).astype(np.float16)
        axes = np.linalg.qr(random.normal(size=(dim, directions)))[0].T.astype(np.float16)
        shrinkage = np.sort(random.uniform(0.1, 0.7, directions))[::-1]
        tensors[f"points-{exponent}"] = np.vstack([mean[None], axes])
        spaces.append({"exponent": exponent, "shrinkage": shrinkage.tolist()})
        if version > 2:
            spaces[-1]["likeness_deviation"] = DEVIATIONS[exponent]
        statistics[exponent] = mean, axes.T, shrinkage
    description = {"format": "deepvoro-statistics", "version": version, "dim": dim, "network": "", "spaces": spaces,
                   "classes": 5, "samples": 50, "views": ["any"]}
    safetensors.write_hashed(path, tensors, description)
    return path, statistics


CASES = {
    "five shots": dict(sizes=(5,) * 6),
    "unequal numbers": dict(sizes=(1, 12, 3, 7, 1, 2)),
    "one shot": dict(sizes=(1,) * 7),
    "one class": dict(sizes=(6,)),
    "one picture": dict(sizes=(1,)),
    "two classes, one of them alone": dict(sizes=(1, 4)),
    "several views": dict(sizes=(3, 4, 2, 5), views=3),
    "signed features": dict(sizes=(3, 4, 2, 5), views=2, signed=True),
    "three dimensions": dict(sizes=(3, 6, 2), dim=3, signed=True),
    "more rows than dimensions": dict(sizes=(30, 9, 20), dim=20),
    "hard": dict(sizes=(6,) * 10, spread=2.0),
    "very hard": dict(sizes=(9,) * 5, spread=4.0),
    "near-duplicates": dict(sizes=(1, 3, 6, 5), spread=0.02),
    "many of a class": dict(sizes=(25, 40, 31), spread=1.0),
}


@pytest.fixture(params=[False, True], ids=["plain", "with statistics"])
def statistics(request, tmp_path):
    def make(dim):
        return write_statistics(tmp_path / "net.statistics", dim, directions=min(7, dim)) if request.param else (None, None)

    return make


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_number_of_the_rule(case, statistics):
    views, labels = features(**case)
    queries, _ = features(**{**case, "sizes": (8,) * 5}, seed=1)
    file, known = statistics(views[0].shape[1])
    model = package.DeepVoroClassifier(views=len(views), statistics=file).fit(np.hstack(views), labels)
    wanted = Rule(views, labels, known, DEVIATIONS if known else None)
    X = np.hstack(queries)
    assert (model.exponent_, model.is_logistic_, model.strength_) == (wanted.exponent, wanted.is_logistic, wanted.strength or 1)
    scores, distances = wanted.scores(queries), wanted.distances(queries)
    if len(set(labels)) == 2:
        scores = np.diff(scores, axis=1)[:, 0]
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=RELATIVE, atol=1e-9)
    np.testing.assert_allclose(model.temperature_, wanted.temperature, rtol=RELATIVE)
    np.testing.assert_allclose(model.predict_proba(X), wanted.probabilities(queries), rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(model.distances(X), distances, rtol=RELATIVE)
    np.testing.assert_allclose(model.threshold_, wanted.kappa, rtol=RELATIVE)
    thresholds = [wanted.threshold(strictness) for strictness in ("low", "normal", "high")]
    np.testing.assert_allclose(model._fitted.thresholds, thresholds, rtol=RELATIVE)
    left_out = [None] * len(labels)
    for row, answer in zip(wanted.left_out, wanted.left_out_scores.argmax(axis=1)):
        left_out[row] = answer
    assert model._fitted.left_out == left_out


def test_every_exponent_and_strength_is_chosen_somewhere():
    """Or the tests above would not show that the others than the usual ones are right."""
    chosen = set()
    for seed, (tail, nuisance) in enumerate([(0, 0), (0, 3), (1, 0), (1, 3), (0, 0), (0, 3), (1, 0), (1, 3)]):
        random = np.random.RandomState(seed)
        views, labels = features((6,) * 8, spread=1.0, seed=seed, signed=True)
        shared = random.normal(size=(len(labels), 3)) @ np.random.RandomState(5).normal(size=(3, 48))
        X = ((views[0] + nuisance * shared) * np.exp(random.normal(scale=tail, size=shared.shape))).astype(np.float32)
        model = package.DeepVoroClassifier().fit(X, labels)
        wanted = Rule([X], labels)
        assert (model.exponent_, model.strength_) == (wanted.exponent, wanted.strength)
        np.testing.assert_allclose(model.temperature_, wanted.temperature, rtol=RELATIVE)
        np.testing.assert_allclose(model.decision_function(X), wanted.scores([X]), rtol=RELATIVE, atol=1e-9)
        chosen.add((model.exponent_, model.strength_))
    assert chosen == {(0.5, 1), (0.75, 1), (0.75, 0.1), (0.5, 0.1)}


def digits(each, after=0):
    """Pictures of digits by their pixels, so many of each class, and their labels."""
    pixels, labels = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(labels == k)[after:after + each] for k in range(10)])
    return pixels[rows, 1:63].astype(np.float32), labels[rows]


def test_with_many_rows_of_each_class_logistic_regression_may_decide():
    X, labels = digits(30)
    queries, truth = digits(50, after=30)
    model, wanted = package.DeepVoroClassifier().fit(X, labels), Rule([X], labels)
    assert model.is_logistic_ and wanted.is_logistic and model.exponent_ == wanted.exponent
    np.testing.assert_allclose(model.decision_function(queries), wanted.scores([queries]), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.temperature_, wanted.temperature, rtol=RELATIVE)
    np.testing.assert_allclose(model.predict_proba(queries), wanted.probabilities([queries]), rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(model.distances(queries), wanted.distances([queries]), rtol=RELATIVE)
    left_out = [None] * len(labels)
    for row, answer in zip(wanted.left_out, wanted.left_out_scores.argmax(axis=1)):
        left_out[row] = answer
    assert model._fitted.left_out == left_out
    few = package.DeepVoroClassifier().fit(*digits(19))
    assert not few.is_logistic_ and model.score(queries, truth) > few.score(queries, truth)


def test_fit_says_that_logistic_regression_decides(deepvoro, tmp_path):
    X, labels = digits(30)
    store = write_store(tmp_path / "store", {"novel": (labels, {VIEWS[0]: X})}, {"novel": [f"digit-{k}" for k in range(10)]})
    done = deepvoro("fit", store, "--out", tmp_path / "digits.dv")
    assert done.returncode == 0 and "logistic regression decides" in done.stdout
    assert json.loads(deepvoro("info", tmp_path / "digits.dv", "--json").stdout)["decides"] == "logistic regression"
    answers = json.loads(deepvoro("predict", tmp_path / "digits.dv", store, "--json").stdout)
    tensors, metadata = safetensors.read(tmp_path / "digits.dv")
    assert json.loads(metadata["deepvoro"])["calibration"]["ridge_vd"]["logistic"]
    wanted = Rule([tensors[VIEWS[0]].astype(np.float32)], labels).probabilities([X])  # in the order of the file, as are folds
    np.testing.assert_allclose([list(answer["probabilities"].values()) for answer in answers], wanted, rtol=1e-4, atol=1e-12)


def test_statistics_of_the_second_version_say_nothing_of_the_likeness_of_classes(tmp_path):
    views, labels = features((1, 3, 1))
    file, known = write_statistics(tmp_path / "net.statistics", 48, version=2)
    model = package.DeepVoroClassifier(statistics=file).fit(views[0], labels)
    np.testing.assert_allclose(model.temperature_, Rule(views, labels, known).temperature, rtol=RELATIVE)
    assert model.temperature_ != pytest.approx(Rule(views, labels, known, DEVIATIONS).temperature, rel=1e-3)


@pytest.mark.parametrize("threads", [1, 3])
def test_bits_do_not_depend_on_threads_or_order_of_classes(threads):
    views, labels = features((5, 2, 7), views=2)
    X = np.hstack(views)
    model = package.DeepVoroClassifier(views=2, n_jobs=threads).fit(X, labels)
    one = package.DeepVoroClassifier(views=2).fit(X, labels)
    np.testing.assert_array_equal(model.decision_function(X), one.decision_function(X))


def test_large_classes_are_fitted_by_their_covariance_and_small_ones_by_their_products():
    """The two ways to solve the ridge regression, on both sides of as many rows as dimensions."""
    for sizes in ((24, 24), (25, 25)):
        views, labels = features(sizes, dim=48, signed=True)
        queries, _ = features((20,), dim=48, signed=True, seed=5)
        wanted = rule_reference.Rule(views, labels).scores(queries)
        model = package.DeepVoroClassifier().fit(views[0], labels)
        np.testing.assert_allclose(model.decision_function(queries[0]), wanted[:, 1] - wanted[:, 0], rtol=RELATIVE, atol=1e-9)


def test_small_classes_are_not_lost_beside_large_ones():
    views, labels = features((20, 20, 20, 1, 1, 1), spread=1.0)
    queries, truth = features((30,) * 6, spread=1.0, seed=8)
    small = truth >= 3
    right = package.DeepVoroClassifier().fit(views[0], labels).predict(queries[0]) == truth
    assert right[small].mean() > 0.75 and right[~small].mean() > 0.75


def test_identical_rows_of_two_classes_are_equally_likely():
    X = np.ones((4, 5), dtype=np.float32)
    model = package.DeepVoroClassifier().fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


class TestProgram:
    """The same numbers from the program, by way of a classifier file."""

    @pytest.fixture
    def store(self, tmp_path):
        views, labels = features((4, 1, 6, 2), views=3)
        queries, _ = features((7,) * 4, views=3, seed=2)
        names = ["jay", "owl", "tit", "wren"]
        make = lambda rows: {name: view.astype(np.float16) for name, view in zip(VIEWS, rows)}
        folder = write_store(tmp_path / "store", {"novel": (labels, make(views))}, {"novel": names})
        asked = write_store(tmp_path / "queries", {"novel": (np.zeros(28, int), make(queries))}, {"novel": ["any"]})
        return folder, asked, Rule(views, labels), queries, names

    def fit(self, deepvoro, store, file, *flags):
        done = deepvoro("fit", store, "--out", file, *flags)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def predict(self, deepvoro, *arguments):
        done = deepvoro("predict", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def test_answers(self, deepvoro, store, tmp_path):
        folder, asked, wanted, queries, names = store
        file = tmp_path / "birds.dv"
        text = self.fit(deepvoro, folder, file)
        assert "ridge-vd" in text and "left out in turn" in text and "without statistics" in text
        answers = self.predict(deepvoro, file, asked)
        probabilities = np.array([[answer["probabilities"][name] for name in names] for answer in answers])
        np.testing.assert_allclose(probabilities, wanted.probabilities(queries), rtol=1e-4, atol=1e-12)
        smallest = wanted.distances(queries).min(axis=1)
        np.testing.assert_allclose([answer["distance"] for answer in answers], smallest, rtol=RELATIVE)
        np.testing.assert_allclose([answer["threshold"] for answer in answers], wanted.kappa, rtol=RELATIVE)
        assert [answer["nearest"] for answer in answers] == [names[k] for k in wanted.predict(queries)]
        assert [answer["class"] for answer in answers] == [answer["nearest"] for answer in answers]

    @pytest.mark.parametrize("flags, strictness", [(["--reject"], "normal"), (["--strictness", "low"], "low"),
                                             (["--strictness", "normal"], "normal"), (["--strictness", "high"], "high")])
    def test_unknown_by_strictness(self, deepvoro, store, tmp_path, flags, strictness):
        folder, asked, wanted, queries, names = store
        self.fit(deepvoro, folder, tmp_path / "birds.dv")
        answers = self.predict(deepvoro, tmp_path / "birds.dv", asked, *flags)
        unknown = wanted.distances(queries).min(axis=1) > wanted.threshold(strictness)
        assert [answer["class"] == "unknown" for answer in answers] == unknown.tolist()

    def test_unknown_by_threshold(self, deepvoro, store, tmp_path):
        folder, asked, wanted, queries, names = store
        self.fit(deepvoro, folder, tmp_path / "birds.dv")
        smallest = np.sort(wanted.distances(queries).min(axis=1))
        middle = (smallest[9] + smallest[10]) / 2
        answers = self.predict(deepvoro, tmp_path / "birds.dv", asked, "--threshold", middle)
        assert sum(answer["class"] == "unknown" for answer in answers) == len(smallest) - 10
        assert {answer["threshold"] for answer in answers} == {middle}

    def test_csv_has_the_nearest_class(self, deepvoro, store, tmp_path):
        folder, asked, wanted, queries, names = store
        self.fit(deepvoro, folder, tmp_path / "birds.dv")
        done = deepvoro("predict", tmp_path / "birds.dv", asked, "--threshold", 0)
        header, *rows = [line.split(",") for line in done.stdout.splitlines()]
        assert header == ["file", "class", "nearest", *names, "error"]
        assert {row[1] for row in rows} == {"unknown"}
        assert [row[2] for row in rows] == [names[k] for k in wanted.predict(queries)]

    def test_csv_has_six_digits_of_what_json_and_the_package_have(self, deepvoro, store, tmp_path):
        folder, asked, wanted, queries, names = store
        self.fit(deepvoro, folder, tmp_path / "birds.dv")
        rows = [line.split(",")[3:-1] for line in deepvoro("predict", tmp_path / "birds.dv", asked).stdout.splitlines()[1:]]
        json_rows = [answer["probabilities"] for answer in self.predict(deepvoro, tmp_path / "birds.dv", asked)]
        package_rows = [answer.probabilities for answer in package.Classifier.load(tmp_path / "birds.dv").predict(asked)]
        for same in (json_rows, package_rows):
            assert rows == [[f"{row[name]:.6g}" for name in names] for row in same]

    def test_both_ways_to_say_what_is_unknown_are_one_too_many(self, deepvoro, store, tmp_path):
        self.fit(deepvoro, store[0], tmp_path / "birds.dv")
        done = deepvoro("predict", tmp_path / "birds.dv", store[1], "--threshold", 1, "--strictness", "low")
        assert done.returncode == 2 and "--threshold" in done.stderr

    def test_added_and_removed_classes_give_the_same_bytes(self, deepvoro, store, tmp_path):
        folder = store[0]
        whole, grown = tmp_path / "whole.dv", tmp_path / "grown.dv"
        for file in (whole, grown):
            self.fit(deepvoro, folder, file)
        for command in (["remove", grown, "tit"], ["remove", grown, "owl"], ["add", grown, "owl", folder],
                        ["add", grown, "tit", folder]):
            done = deepvoro(*command)
            assert done.returncode == 0, done.stderr
        assert grown.read_bytes() == whole.read_bytes()

    def test_the_package_answers_with_the_same_bits(self, deepvoro, store, tmp_path):
        folder, asked, *_ = store
        self.fit(deepvoro, folder, tmp_path / "birds.dv")
        fitted = package.Classifier.fit(folder)
        fitted.save(tmp_path / "package.dv")
        assert (tmp_path / "package.dv").read_bytes() == (tmp_path / "birds.dv").read_bytes()
        program = self.predict(deepvoro, tmp_path / "birds.dv", asked, "--strictness", "high")
        for one, other in zip(program, fitted.predict(asked, reject=True, strictness="high")):
            assert one["probabilities"] == other.probabilities and one["distance"] == other.distance
            assert (one["class"], one["nearest"]) == (other.label, other.nearest)

    def test_explain(self, deepvoro, store, tmp_path):
        folder, asked, wanted, queries, names = store
        picked = write_store(tmp_path / "one", {"novel": (np.zeros(1, int), {
            name: view[:1].astype(np.float16) for name, view in zip(VIEWS, queries)})}, {"novel": ["any"]})
        self.fit(deepvoro, folder, tmp_path / "birds.dv")
        fitted = package.Classifier.load(tmp_path / "birds.dv")
        assert fitted.method == "ridge-vd" and fitted.members == []
        assert len(fitted.left_out) == 12 and set(fitted.left_out.values()) <= set(names)
        answer = fitted.predict(picked)[0]
        np.testing.assert_allclose(list(answer.influence.values()), wanted.scores(queries)[0], rtol=RELATIVE, atol=1e-9)


class TestFilesOfTheFirstVersion:
    """Classifiers of the paper's ensemble, whose calibration had one threshold."""

    @pytest.fixture
    def first(self, deepvoro, tmp_path):
        views, labels = features((4, 1, 6, 2), views=2)
        rows = {name: view.astype(np.float16) for name, view in zip(VIEWS, views)}
        names = ["jay", "owl", "tit", "wren"]
        store = write_store(tmp_path / "store", {"novel": (labels, rows)}, {"novel": names})
        file = tmp_path / "new.dv"
        assert deepvoro("fit", store, "--method", "deepvoro", "--out", file).returncode == 0
        tensors, metadata = safetensors.read(file)
        description = json.loads(metadata["deepvoro"])
        calibration = description["calibration"]
        description.update(version=1, calibration={
            "source": "leave-one-out", "temperature": calibration["temperature"],
            "threshold": -calibration["thresholds"][1], "samples": 12, "correct": 12})
        del description["method"]

        def write(**changes):
            safetensors.write_hashed(tmp_path / "old.dv", tensors, {**description, **changes})
            return tmp_path / "old.dv"

        return store, file, write

    def test_answer_as_before(self, deepvoro, first):
        store, file, write = first
        old = deepvoro("predict", write(), store, "--json", "--reject")
        assert old.returncode == 0, old.stderr
        assert old.stdout == deepvoro("predict", file, store, "--json", "--reject").stdout

    def test_can_be_added_to(self, deepvoro, first):
        store, file, write = first
        old = write()
        for command in (["remove", old, "tit"], ["add", old, "tit", store]):
            assert deepvoro(*command).returncode == 0
        assert old.read_bytes() == file.read_bytes()

    def test_by_plda_have_to_be_fitted_again(self, deepvoro, first):
        store, _, write = first
        done = deepvoro("predict", write(statistics={"version": 1}), store)
        assert done.returncode == 3 and "fit it again" in done.stderr and done.stderr.count("\n") == 1

    def test_of_no_known_version_are_refused(self, deepvoro, first):
        store, _, write = first
        for version in (0, 4):
            done = deepvoro("predict", write(version=version), store)
            assert done.returncode == 3 and "version" in done.stderr


class TestFilesOfTheSecondVersion:
    """Whose ridge-vd had other constants: it is fitted again on the features in them."""

    def write(self, deepvoro, tmp_path, method):
        views, labels = features((4, 1, 6, 2), views=2)
        rows = {name: view.astype(np.float16) for name, view in zip(VIEWS, views)}
        store = write_store(tmp_path / "store", {"novel": (labels, rows)}, {"novel": ["jay", "owl", "tit", "wren"]})
        file = tmp_path / "new.dv"
        assert deepvoro("fit", store, "--method", method, "--out", file).returncode == 0
        tensors, metadata = safetensors.read(file)
        description = json.loads(metadata["deepvoro"])
        calibration = description["calibration"]
        if calibration.pop("ridge_vd", None):
            calibration.update(temperature=0.5, thresholds=[3, 2, 1], exponent=0.5, gain_of_smaller_exponent=7.0)
        safetensors.write_hashed(tmp_path / "old.dv", tensors, {**description, "version": 2, "calibration": calibration})
        return store, file, tmp_path / "old.dv"

    @pytest.mark.parametrize("method", ["ridge-vd", "deepvoro"])
    def test_answer_as_files_of_today(self, deepvoro, tmp_path, method):
        store, new, old = self.write(deepvoro, tmp_path, method)
        found = deepvoro("predict", old, store, "--json", "--reject")
        assert found.returncode == 0, found.stderr
        assert found.stdout == deepvoro("predict", new, store, "--json", "--reject").stdout


def test_on_the_birds_of_cub_it_is_better_than_the_sum_of_distances(cub_store):
    """Twenty ways, one and five shots, ten draws of the validation classes; without statistics."""
    store = package.FeatureStore(str(cub_store))
    labels = store.labels("val")
    X = np.hstack([np.asarray(store.features("val", view), dtype=np.float32) for view in store.views])
    for shots, least in ((1, 0.0), (5, 0.0)):
        support, query = package.episodes(labels, ways=20, shots=shots, queries=10, episodes=10)
        gains = []
        for s, q in zip(support, query):
            s, q = s.ravel(), q.ravel()
            rule = package.DeepVoroClassifier(views=4).fit(X[s], labels[s]).score(X[q], labels[q])
            sums = package.DeepVoroClassifier(views=4, geometry="vd").fit(X[s], labels[s]).score(X[q], labels[q])
            gains.append(rule - sums)
        assert np.mean(gains) > least
