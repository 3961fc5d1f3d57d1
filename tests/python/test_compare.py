"""Paired comparisons of result files, against SciPy."""
import json

import numpy as np
import pytest
from reference import Store, Task, ci95, draw_episodes, rows_by_class

stats = pytest.importorskip("scipy.stats", reason="no SciPy to compare with: apt-get install python3-scipy")

TASK = Task(ways=4, shots=2, queries=6, episodes=40, seed=2)


def result(accuracy, **changes):
    fields = {"format": "deepvoro-result", "version": 1, "method": "vd", "split": "novel", "ways": 5, "shots": 1}
    fields |= {"queries": 15, "episodes": len(accuracy), "seed": 0, "protocol": "deepvoro", "scheme": "full"}
    fields |= {"members": 1, "episode_accuracy": list(accuracy), "store": {"path": "store", "sha256": "0f"}}
    return fields | changes


@pytest.fixture
def write(tmp_path):
    def write_json(name, document):
        (tmp_path / name).write_text(json.dumps(document))
        return tmp_path / name

    return write_json


@pytest.fixture
def compare(deepvoro, tmp_path):
    def run(*files):
        process = deepvoro("compare", *files, "--json", tmp_path / "comparison.json")
        assert process.returncode == 0, process.stderr
        assert process.stderr == ""
        return json.loads((tmp_path / "comparison.json").read_text())["comparisons"], process.stdout

    return run


def accuracies(random, episodes, shift=0.0):
    return np.round(np.clip(random.normal(45 + shift, 8, size=episodes), 0, 75)) * 100 / 75


def sign_test(differences):
    won, lost = int((differences > 0).sum()), int((differences < 0).sum())
    return won, lost, stats.binomtest(won, won + lost).pvalue if won + lost else 1.0


def assert_agrees(comparison, a, b):
    differences = b - a
    assert comparison["a"]["accuracy"] == pytest.approx(a.mean(), rel=1e-12)
    assert comparison["b"]["ci95"] == pytest.approx(ci95(b), rel=1e-12)
    assert comparison["difference"] == pytest.approx(differences.mean(), rel=1e-12)
    assert comparison["ci95"] == pytest.approx(ci95(differences), rel=1e-12)
    expected = stats.ttest_rel(b, a)
    assert comparison["t_test"]["t"] == pytest.approx(expected.statistic, rel=1e-9)
    assert comparison["t_test"]["p"] == pytest.approx(expected.pvalue, rel=1e-9, abs=0)
    won, lost, p = sign_test(differences)
    sign = comparison["sign_test"]
    assert (sign["won"], sign["lost"], sign["tied"]) == (won, lost, len(a) - won - lost)
    assert sign["p"] == pytest.approx(p, rel=1e-9, abs=0)


@pytest.mark.parametrize("episodes", [2, 3, 10, 999, 2000, 20000])
@pytest.mark.parametrize("shift", [-0.1, 0.0, 0.3, 2.0])
def test_statistics_are_those_of_scipy(compare, write, episodes, shift):
    random = np.random.RandomState(episodes)
    a, b = accuracies(random, episodes), accuracies(random, episodes, shift)
    comparisons, _ = compare(write("a.json", result(a)), write("b.json", result(b)))
    assert_agrees(comparisons[0], a, b)


def test_probabilities_near_the_smallest_double(compare, write):
    random = np.random.RandomState(0)
    a = np.round(random.uniform(10, 30, size=980))
    b = a + 1 + random.randint(0, 60, size=980)
    comparisons, stdout = compare(write("a.json", result(a)), write("b.json", result(b)))
    assert 0 < comparisons[0]["t_test"]["p"] < 1e-290
    assert 0 < comparisons[0]["sign_test"]["p"] < 1e-290
    assert_agrees(comparisons[0], a, b)
    assert stdout.splitlines()[-1] == "B is better, p < 0.001"


def test_equal_results(compare, write):
    a = accuracies(np.random.RandomState(1), 50)
    comparisons, stdout = compare(write("a.json", result(a)), write("b.json", result(a)))
    assert comparisons[0]["t_test"] == {"t": 0, "degrees_of_freedom": 49, "p": 1}
    assert comparisons[0]["sign_test"] == {"won": 0, "lost": 0, "tied": 50, "p": 1}
    assert stdout.splitlines()[-1].startswith("no difference can be claimed")


def test_one_episode(compare, write):
    comparisons, stdout = compare(write("a.json", result([20.0])), write("b.json", result([80.0])))
    assert comparisons[0]["t_test"] is None
    assert comparisons[0]["difference"] == 60
    assert stdout.splitlines()[-1].startswith("no difference can be claimed")


def test_evaluations_of_one_call(deepvoro, compare, make_store, tmp_path):
    store, file = make_store(dim=8), tmp_path / "results.json"
    flags = ["--ways", 4, "--queries", 6, "--episodes", 40, "--shots", "1,3", "--method", "vd,deepvoro,deepvoro++"]
    table = deepvoro("evaluate", store, *flags, "--json", file)
    assert table.returncode == 0, table.stderr
    comparisons, stdout = compare(file)
    results = json.loads(file.read_text())
    assert [(c["shots"], c["a"]["method"], c["b"]["method"]) for c in comparisons] == [
        (shots, "vd", method) for shots in (1, 3) for method in ("deepvoro", "deepvoro++")
    ]
    for comparison, (a, b) in zip(comparisons, [(0, 1), (0, 2), (3, 4), (3, 5)]):
        assert_agrees(comparison, *(np.array(results[i]["episode_accuracy"]) for i in (a, b)))
        difference = f"{comparison['difference']:+.2f} ± {comparison['ci95']:.2f}"
        assert difference in table.stdout and f"{difference} " in stdout
        assert f"{comparison['t_test']['p']:.2g}" in stdout
    heading, columns, *rows = stdout.splitlines()
    assert "4-way, 6 queries" in heading and columns.startswith("method")
    assert [row.split()[:2] for row in rows] == [[r["method"], str(r["shots"])] for r in results]
    assert [f"{r['accuracy']:.2f} ± {r['ci95']:.2f}" in row for r, row in zip(results, rows)] == [True] * 6
    assert ["+" in row or "-0" in row or "-1" in row for row in (rows[0], rows[3])] == [False, False]


def test_table_of_one_file_has_a_heading_for_each_kind_of_episode(compare, write):
    one = [result([50.0, 60.0], method=method) for method in ("vd", "dc")]
    five = [result([70.0], method=method, shots=5, ways=4) for method in ("vd", "dc", "s2m2")]
    _, stdout = compare(write("a.json", one + five))
    lines = stdout.splitlines()
    assert [lines.index(line) for line in lines if "split novel" in line] == [0, 4]
    assert lines[4].startswith("store, split novel: 4-way, 15 queries per class, 1 episodes")
    assert lines[2].split() == ["vd", "1", "55.00", "±", "6.93"]
    assert lines[3].split() == ["dc", "1", "55.00", "±", "6.93", "+0.00", "±", "0.00", "1"]
    assert lines[8].split() == ["s2m2", "5", "70.00", "±", "0.00", "+0.00", "±", "0.00", "one", "episode"]


@pytest.fixture
def refusal(deepvoro, tmp_path):
    def refused(*files, code=3, mentions=()):
        process = deepvoro("compare", *files, "--json", tmp_path / "comparison.json")
        assert process.returncode == code, process.stderr
        assert len(process.stderr.splitlines()) == 1
        assert process.stdout == ""
        assert not (tmp_path / "comparison.json").exists()
        for expected in mentions:
            assert expected in process.stderr

    return refused


@pytest.mark.parametrize(
    "change",
    [{"ways": 4}, {"shots": 5}, {"queries": 16}, {"seed": 1}, {"protocol": "dc"}, {"split": "val"},
     {"store": {"path": "store", "sha256": "0e"}}],
    ids=lambda change: next(iter(change)),
)
def test_different_episodes(refusal, write, change):
    a, b = write("a.json", result([50.0, 60.0])), write("b.json", result([50.0, 60.0], **change))
    refusal(a, b, mentions=["a.json", "b.json", next(iter(change))])


def test_different_numbers_of_episodes(refusal, write):
    refusal(write("a.json", result([50.0])), write("b.json", result([50.0, 60.0])), mentions=["episodes 1 and 2"])


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "[[]]", "null", "7", '{"format":"deepvoro-result"}', "[" * 100_000, '{"episode_accuracy":[NaN]}',
     json.dumps(result([50.0, None])), json.dumps(result([50.0], members="many")), json.dumps(result([50.0], episodes=9))],
    ids=range(12),
)
def test_file_that_is_no_result(refusal, write, tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    refusal(write("a.json", result([50.0])), tmp_path / "bad.json", mentions=["bad.json"])


def test_missing_file(refusal, write):
    refusal(write("a.json", result([50.0])), "none.json", mentions=["none.json"])


def test_wrong_usage(refusal, write):
    refusal(code=2)
    file = write("a.json", result([50.0]))
    refusal(file, file, file, code=2)


def test_single_result_alone(refusal, write):
    refusal(write("a.json", result([50.0])), mentions=["second file"])


def test_p_value_too_small_for_a_double_is_not_printed_as_0(compare, write):
    random = np.random.default_rng(5)
    first = random.uniform(0, 80, 2000)
    second = first + 10 + random.uniform(-0.1, 0.1, 2000)
    _, text = compare(write("a.json", result(first)), write("b.json", result(second)))
    assert "paired t-test p < 1e-300" in text
    assert "sign test p < 1e-300" in text


def class_interval(values, classes_of_episodes, classes):
    """Classes are drawn with replacement; a class raises the mean by what it would fall without it."""
    random = np.random.RandomState(0)
    member = np.zeros((len(values), classes))
    for row, classes_of in zip(member, classes_of_episodes):
        row[classes_of] = 1
    draws = np.floor(classes * random.uniform(size=(10_000, classes))).astype(int)
    counts = np.stack([np.bincount(draw, minlength=classes) for draw in draws])
    ways = len(classes_of_episodes[0])
    raised = member.T @ (values - values.mean()) / len(values) * (classes - 1) / (classes - ways)
    means = values.mean() + counts @ raised
    return np.percentile(means, [2.5, 97.5])


@pytest.mark.parametrize("protocol", ["deepvoro", "dc"])
def test_intervals_by_class(deepvoro, make_store, tmp_path, protocol):
    store, file = make_store(dim=8), tmp_path / "results.json"
    flags = ["--ways", 4, "--queries", 6, "--shots", 2, "--episodes", 60, "--seed", 5, "--protocol", protocol]
    done = deepvoro("evaluate", store, *flags, "--method", "vd,deepvoro", "--json", file)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "comparison.json"
    done = deepvoro("compare", file, "--by-class", "--json", out)
    assert done.returncode == 0, done.stderr
    (comparison,) = json.loads(out.read_text())["comparisons"]
    labels = Store(store).labels("novel")
    task = Task(ways=4, shots=2, queries=6, episodes=60, seed=5, protocol=protocol)
    drawn = draw_episodes(rows_by_class(labels), task)
    classes_of_episodes = [labels[episode.support[:, 0]] for episode in drawn]
    a, b = (np.array(one["episode_accuracy"]) for one in json.loads(file.read_text()))
    by_class = comparison["by_class"]
    assert by_class["classes"] == len(np.unique(labels)) and by_class["resamples"] == 10_000
    for key, values in (("a", a), ("b", b), ("difference", b - a)):
        expected = class_interval(values, classes_of_episodes, by_class["classes"])
        np.testing.assert_allclose(by_class[key], expected, rtol=0, atol=1e-9)
        assert expected[0] < values.mean() < expected[1]
    low, high = by_class["difference"]
    assert f"B - A {low:+.2f} to {high:+.2f}" in done.stdout


def test_intervals_by_class_in_a_table(deepvoro, make_store, tmp_path):
    store, file = make_store(dim=8), tmp_path / "results.json"
    flags = ["--ways", 4, "--queries", 6, "--episodes", 20, "--method", "vd,deepvoro,simpleshot", "--normalisation", "l2n"]
    assert deepvoro("evaluate", store, *flags, "--json", file).returncode == 0
    done = deepvoro("compare", file, "--by-class", "--json", tmp_path / "comparison.json")
    assert done.returncode == 0, done.stderr
    _, columns, _, *rows = done.stdout.splitlines()
    assert columns.endswith("by class")
    for row, comparison in zip(rows, json.loads((tmp_path / "comparison.json").read_text())["comparisons"]):
        low, high = comparison["by_class"]["difference"]
        assert row.endswith(f"{low:+.2f} to {high:+.2f}")


def test_intervals_by_class_need_the_store_as_it_was(deepvoro, make_store, tmp_path):
    store, file = make_store(dim=8), tmp_path / "results.json"
    flags = ["--ways", 4, "--queries", 6, "--episodes", 5, "--method", "vd,deepvoro"]
    assert deepvoro("evaluate", store, *flags, "--json", file).returncode == 0
    results = json.loads(file.read_text())
    for change, mention in (({"sha256": "00"}, "no longer the store"), ({"path": str(tmp_path / "gone")}, "gone")):
        other = [{**one, "store": {**one["store"], **change}} for one in results]
        (tmp_path / "other.json").write_text(json.dumps(other))
        done = deepvoro("compare", tmp_path / "other.json", "--by-class")
        assert done.returncode == 3 and mention in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert deepvoro("compare", tmp_path / "other.json").returncode == 0


def test_episodes_of_all_classes_tell_nothing_of_others(deepvoro, make_store, tmp_path):
    store, file = make_store(dim=8), tmp_path / "results.json"
    flags = ["--ways", 22, "--queries", 3, "--episodes", 3, "--method", "vd,deepvoro"]
    assert deepvoro("evaluate", store, *flags, "--json", file).returncode == 0
    done = deepvoro("compare", file, "--by-class")
    assert done.returncode == 3 and "all 22 classes" in done.stderr, done.stderr


def test_intervals_by_class_of_a_result_that_cannot_be_drawn_again(deepvoro, make_store, tmp_path):
    file, out = tmp_path / "two.json", tmp_path / "out.json"
    done = deepvoro("evaluate", make_store(dim=8), "--method", "vd,deepvoro", "--episodes", 3, "--queries", 6, "--json", file)
    assert done.returncode == 0, done.stderr
    results = json.loads(file.read_text())
    for result in results:
        result["protocol"] = "odd"
    file.write_text(json.dumps(results))
    done = deepvoro("compare", file, "--by-class", "--json", out)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert str(file) in done.stderr and "odd" in done.stderr and not out.exists()
