"""evaluate() and tune() of the Python package give what the program gives, bit for bit, and say what it says."""
import json
import pickle
import re
import subprocess
import sys
import threading

import deepvoro
import numpy as np
import pytest
import reference
from reference import Task

TASK = Task(ways=4, shots=2, queries=6, episodes=20, seed=3)
ARGUMENTS = {"ways": 4, "shots": 2, "queries": 6, "episodes": 20, "seed": 3}
METHODS = ["vd", "power-lr", "voronoi-lr", "deepvoro--", "deepvoro", "deepvoro++", "simpleshot", "pt-ncm", "s2m2", "dc"]


@pytest.fixture
def store(make_store):
    return make_store(dim=12, views=2, class_sizes=(20, 24))


def without_times(result):
    return {key: value for key, value in result.items() if key != "seconds"}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_the_bits_of_the_program(store, evaluate, method, tmp_path):
    by_program = evaluate(store, method, task=TASK)
    results = deepvoro.evaluate(store, method, **ARGUMENTS, scores=True)
    np.testing.assert_array_equal(results[0].scores, by_program.scores)
    np.testing.assert_array_equal(results[0].episode_accuracy, by_program.result["episode_accuracy"])
    results.save(tmp_path / "result.json")
    assert without_times(json.loads((tmp_path / "result.json").read_text())) == without_times(by_program.result)


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        ({"method": "deepvoro", "scheme": "guided", "oracle": True}, ["--scheme", "guided", "--oracle"]),
        ({"method": "deepvoro", "scheme": "random", "size": 5}, ["--scheme", "random", "--size", 5]),
        ({"method": "deepvoro", "protocol": "dc", "alpha": -2.0}, ["--protocol", "dc", "--alpha", -2]),
        ({"method": "vd", "split": "val", "signed": True}, ["--split", "val", "--signed"]),
        ({"method": "deepvoro--", "lr": "power", "epochs": 7}, ["--lr", "power", "--epochs", 7]),
        ({"method": "simpleshot", "normalisation": "un"}, ["--normalisation", "un"]),
        ({"method": "deepvoro", "calibration": True, "open_set": True}, ["--calibration", "--open-set"]),
    ],
)
def test_every_flag_arrives(store, evaluate, arguments, flags, tmp_path):
    task = Task(**{**ARGUMENTS, "protocol": arguments.get("protocol", "deepvoro"), "split": arguments.get("split", "novel")})
    by_program = evaluate(store, arguments["method"], *[f for f in flags if f not in ("--protocol", "dc", "--split", "val")], task=task)
    results = deepvoro.evaluate(store, **arguments, **ARGUMENTS)
    results.save(tmp_path / "result.json")
    assert without_times(json.loads((tmp_path / "result.json").read_text())) == without_times(by_program.result)


def test_results_are_plain_dicts_and_a_table(store):
    results = deepvoro.evaluate(deepvoro.FeatureStore(store), ["vd", "deepvoro"], **{**ARGUMENTS, "shots": [1, 2]})
    rows = results.to_dicts()
    assert [(row["method"], row["shots"]) for row in rows] == [("vd", 1), ("deepvoro", 1), ("vd", 2), ("deepvoro", 2)]
    assert all(isinstance(value, (str, int, float, type(None))) for row in rows for value in row.values())
    difference = results[3].episode_accuracy - results[2].episode_accuracy
    assert rows[2]["difference"] is None
    assert rows[3]["difference"] == pytest.approx(difference.mean())
    assert rows[3]["difference_ci95"] == pytest.approx(reference.ci95(difference))
    assert str(results).splitlines()[2].startswith("deepvoro        1       16  ")
    assert [member["view"] for member in results[1].members] == ["s84_r0_f0"] * 8 + ["s84_r0_f1"] * 8
    assert repr(results[0]).startswith("<vd, 1-shot: ")
    assert results[0].scores is None


def test_arrays_of_a_result_are_not_copied(store):
    result = deepvoro.evaluate(store, "vd", **ARGUMENTS, scores=True)[0]
    for first, second in ((result.scores, result.scores), (result.episode_accuracy, result.episode_accuracy)):
        assert np.shares_memory(first, second) and not first.flags.writeable
    scores, copy = result.scores, result.scores.copy()
    del result
    np.testing.assert_array_equal(scores, copy)


def test_results_do_not_depend_on_threads(store):
    first, second = (deepvoro.evaluate(store, ["deepvoro", "s2m2"], **ARGUMENTS, threads=n, scores=True) for n in (1, 3))
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize("method", ["vd", "deepvoro", "deepvoro++"])
def test_tune_chooses_what_the_program_chooses(store, deepvoro, method, tmp_path):
    import deepvoro as package

    by_program, by_package = tmp_path / "program.json", tmp_path / "package.json"
    done = deepvoro("tune", store, "--method", method, "--ways", 4, "--shots", 2, "--queries", 6, "--episodes", 20, "--seed", 3,
                    "--lambdas", "0,0.5,1.7", "--biases", "0.02,0.3", "--neighbours", "1,3", "--betas", "0.5,4", "--out", by_program)
    assert done.returncode == 0, done.stderr
    grid = {"lambdas": [0, 0.5, 1.7], "biases": [0.02, 0.3], "neighbours": [1, 3], "betas": [0.5, 4]}
    tuned = package.tune(store, method, **ARGUMENTS, **grid, out=by_package)
    pool = json.loads(by_program.read_text())
    assert json.loads(by_package.read_text()) == pool
    assert tuned.members == pool["members"] == tuned.to_dicts()
    assert package.tune(store, method, **ARGUMENTS, **grid).members == tuned.members
    tried = [{key: t[key] for key in ("b", "lambda", "val_accuracy", "chosen")} for t in tuned.tried_transforms]
    assert tried == pool["tuning"]["transformations"]
    assert len(tuned.transforms) == sum(t["chosen"] for t in tried)
    assert len(tuned.surrogates) == (2 if method == "deepvoro++" else 0)


def test_a_pool_is_a_file_a_list_or_what_tune_returned(store, tmp_path):
    tuned = deepvoro.tune(store, "deepvoro", **ARGUMENTS, top_k=2, out=tmp_path / "pool.json")
    pools = [tuned, tmp_path / "pool.json", str(tmp_path / "pool.json"), tuned.members]
    results = [deepvoro.evaluate(store, "deepvoro", **ARGUMENTS, pool=pool)[0] for pool in pools]
    for result in results:
        assert len(result.members) == 4
        np.testing.assert_array_equal(result.episode_accuracy, results[0].episode_accuracy)


def test_what_tune_chose_goes_into_the_classifier(store):
    tuned = deepvoro.tune(store, "deepvoro++", **ARGUMENTS, neighbours=[1, 2], betas=[2, 4])
    opened = deepvoro.FeatureStore(store)
    base = opened.features("base"), opened.labels("base")
    model = deepvoro.DeepVoroClassifier(tuned.transforms, geometry=tuned.surrogates, base=base)
    model.fit(opened.features("novel")[:50], opened.labels("novel")[:50])
    assert len(model.members_) == 4


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        ({"method": "nearest"}, ["--method", "nearest"]),
        ({"method": "vd", "ways": 1}, ["--method", "vd", "--ways", 1]),
        ({"method": "vd", "ways": 200}, ["--method", "vd", "--ways", 200]),
        ({"method": "vd", "alpha": 0.0}, ["--method", "vd", "--alpha", 0]),
        ({"method": "vd", "view": "other"}, ["--method", "vd", "--view", "other"]),
        ({"method": "vd", "lr": "power"}, ["--method", "vd", "--lr", "power"]),
        ({"method": "vd", "split": "train"}, ["--method", "vd", "--split", "train"]),
        ({"method": "deepvoro", "scheme": "random"}, ["--method", "deepvoro", "--scheme", "random"]),
        ({"method": "deepvoro", "pool": "none.json"}, ["--method", "deepvoro", "--pool", "none.json"]),
        ({"method": "vd", "protocol": "coin"}, ["--method", "vd", "--protocol", "coin"]),
    ],
)
def test_errors_are_the_line_that_the_program_prints(store, deepvoro, arguments, flags):
    import deepvoro as package

    printed = deepvoro("evaluate", store, *flags)
    assert printed.returncode in (2, 3)
    with pytest.raises(ValueError) as failure:
        package.evaluate(store, **arguments)
    # An argument in backquotes here is a flag there.
    with_flags = re.sub("`([a-z_]+)`", lambda name: "--" + name[1].replace("_", "-"), str(failure.value))
    assert f"deepvoro: {with_flags}\n" == printed.stderr


def test_a_store_that_is_missing_is_named(tmp_path):
    for ask in (deepvoro.FeatureStore, lambda path: deepvoro.evaluate(path, "vd")):
        with pytest.raises(ValueError, match="absent"):
            ask(tmp_path / "absent")


def test_results_are_not_written_into_the_store(store):
    with pytest.raises(ValueError, match="inside"):
        deepvoro.evaluate(store, "vd", **ARGUMENTS).save(store / "novel" / "labels.npy")


LONG = """
import sys, threading, _thread
import deepvoro

def press_ctrl_c():
    total = 0
    for i in range(1_000_000):  # Python code, which runs only while the main thread has let go of the GIL
        total += i
    _thread.interrupt_main()

try:
    threading.Thread(target=press_ctrl_c, daemon=True).start()
    {call}
    print("came to its end")
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize(
    "call",
    [
        "deepvoro.evaluate(sys.argv[1], 'deepvoro', episodes=30_000, ways=10)",
        "deepvoro.evaluate(sys.argv[1], 's2m2', episodes=30_000, ways=10)",
        "deepvoro.tune(sys.argv[1], 'deepvoro++', shots=1, episodes=30_000, ways=10)",
    ],
)
def test_other_threads_run_meanwhile_and_ctrl_c_stops_it(store, call):
    """The call takes long; it is stopped because a thread of Python runs beside it and presses Ctrl-C."""
    done = subprocess.run([sys.executable, "-c", LONG.format(call=call), str(store)], capture_output=True, text=True)
    assert done.stdout == "stopped\n", done.stderr


def test_two_threads_evaluate_at_the_same_time(store):
    alone = deepvoro.evaluate(store, ["vd", "voronoi-lr"], **ARGUMENTS, scores=True)
    found = [None, None]

    def run(place):
        found[place] = deepvoro.evaluate(store, ["vd", "voronoi-lr"], **ARGUMENTS, scores=True)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in found:
        for one, other in zip(results, alone):
            np.testing.assert_array_equal(one.scores, other.scores)


def test_two_threads_fit_and_predict_at_the_same_time(store):
    opened = deepvoro.FeatureStore(store)
    X, y = opened.features("novel").astype(np.float32), opened.labels("novel")
    estimators = [deepvoro.DeepVoroClassifier(n_jobs=2), deepvoro.VoronoiLogisticRegression(n_jobs=2)]
    wanted = [pickle.loads(pickle.dumps(estimator)).fit(X, y).decision_function(X) for estimator in estimators]
    found = [None, None]

    def run(place):
        found[place] = estimators[place].fit(X, y).decision_function(X)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one, other)


class TestEpisodes:
    @pytest.mark.parametrize("protocol", ["deepvoro", "dc"])
    def test_are_those_of_the_evaluation(self, store, protocol):
        labels = deepvoro.FeatureStore(store).labels("novel")
        task = Task(**ARGUMENTS, protocol=protocol)
        support, query = deepvoro.episodes(labels, **ARGUMENTS, protocol=protocol)
        for drawn, s, q in zip(reference.draw_episodes(reference.rows_by_class(labels), task), support, query):
            np.testing.assert_array_equal(drawn.support, s)
            np.testing.assert_array_equal(drawn.query, q)
        assert support.dtype == query.dtype == np.int64 and support.shape == (20, 4, 2) and query.shape == (20, 4, 6)

    def test_labels_of_any_type_mean_the_same(self):
        labels = np.repeat([3, 1, 2], 20)
        drawn = deepvoro.episodes(labels, ways=2, episodes=5)
        for others in (labels.astype(str), labels.astype(float), list(labels)):
            for one, other in zip(drawn, deepvoro.episodes(others, ways=2, episodes=5)):
                np.testing.assert_array_equal(one, other)

    def test_what_is_wrong_is_said(self):
        with pytest.raises(ValueError, match="'b'.*1"):
            deepvoro.episodes(["a"] * 20 + ["b"], ways=2)
        with pytest.raises(ValueError, match="one dimension"):
            deepvoro.episodes([[1, 2]])
        with pytest.raises(ValueError, match="`ways` must be at least 2"):
            deepvoro.episodes(["a"] * 20, ways=1)


class TestCompare:
    def expected(self, deepvoro, tmp_path, *arguments):
        process = deepvoro("compare", *arguments, "--json", tmp_path / "compared.json")
        assert process.returncode == 0, process.stderr
        return json.loads((tmp_path / "compared.json").read_text())["comparisons"]

    def test_results_in_memory_are_compared_as_their_files(self, store, deepvoro, tmp_path):
        import deepvoro as package

        first = package.evaluate(store, ["vd", "deepvoro"], **ARGUMENTS)
        second = package.evaluate(store, ["simpleshot"], **ARGUMENTS)
        first.save(tmp_path / "a.json")
        second.save(tmp_path / "b.json")
        for given, files in (((first,), ["a.json"]), ((first, second), ["a.json", "b.json"])):
            wanted = self.expected(deepvoro, tmp_path, *(tmp_path / file for file in files), "--by-class")
            for found in (package.compare(*given, by_class=True), package.compare(*(tmp_path / file for file in files), by_class=True)):
                assert [c.difference for c in found] == [c["difference"] for c in wanted]
                assert [c.p for c in found] == [c["t_test"]["p"] for c in wanted]
                assert [c.by_class for c in found] == [c["by_class"] for c in wanted]
                assert [(c.b["method"], c.verdict) for c in found] == [(c["b"]["method"], c["verdict"]) for c in wanted]
        assert package.compare(first)[0].by_class is None

    def test_other_episodes_are_refused(self, store):
        import deepvoro as package

        a = package.evaluate(store, "vd", **ARGUMENTS)
        b = package.evaluate(store, "vd", **{**ARGUMENTS, "seed": 4})
        with pytest.raises(package.Error, match="seed"):
            package.compare(a, b)
