"""The command line's face: help, aliases, what goes where, and the fields of a result."""
import hashlib
import json
import os
import re
import subprocess

import numpy as np
import pytest
import reference
from reference import Store, Task

TASK = Task(ways=4, shots=2, queries=6, episodes=8, seed=2)
CANONICAL = ["--ways", 4, "--shots", 2, "--queries", 6, "--episodes", 8]
ALIASES = [
    ["--n-way", 4, "--n-shot", 2, "--n-query", 6, "--n-tasks", 8],
    ["--n_ways", 4, "--n_shot", 2, "--n_queries", 6, "--n_runs", 8],
]


@pytest.fixture
def store(make_store):
    return make_store(dim=64)


@pytest.mark.parametrize("command", [[], ["evaluate"], ["tune"], ["compare"], ["store"]],
                         ids=["program", "evaluate", "tune", "compare", "store"])
def test_help_shows_an_example(deepvoro, command):
    process = deepvoro(*command, "--help")
    assert process.returncode == 0
    assert process.stderr == ""
    example = re.search(r"examples?\b.*", process.stdout, re.IGNORECASE | re.DOTALL)
    assert example and " ".join(["deepvoro", *command]) in example.group()


def test_starting_does_not_wait_for_libraries_that_few_files_need(program):
    loaded = subprocess.run(
        [program], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, check=True, capture_output=True, text=True
    ).stdout
    assert "libfmt" in loaded
    for rare in ("libheif", "libhdf5", "libcurl"):
        assert rare not in loaded


def test_without_a_command_help_is_shown(deepvoro):
    process = deepvoro()
    assert process.returncode == 2
    assert len(process.stderr.splitlines()) == 1
    assert process.stdout == deepvoro("--help").stdout
    for example in ("deepvoro fit birds --out birds.dv", "deepvoro predict birds.dv"):
        assert example in process.stdout


def test_every_command_has_a_group(deepvoro):
    text = deepvoro("--help").stdout
    assert "\nSubcommands:" not in text
    groups = re.findall(r"^(\w.*):\n((?:  \w.*\n)+)", text, re.MULTILINE)
    commands = {title: [line.split()[0] for line in lines.splitlines()] for title, lines in groups}
    commands["Classify pictures"] = [name for name in commands["Classify pictures"] if name != "serve"]  # where it is built
    assert commands["Classify pictures"] == ["fit", "predict", "add", "remove", "rename", "explain", "info", "test"]


@pytest.mark.parametrize("arguments", [["frobnicate"], ["evaluate"]])
def test_wrong_usage_is_one_line(deepvoro, arguments):
    process = deepvoro(*arguments)
    assert process.returncode == 2
    assert process.stdout == ""
    assert len(process.stderr.splitlines()) == 1


@pytest.mark.parametrize("aliases", ALIASES, ids=["easyfsl", "release"])
def test_aliases(evaluate, store, aliases):
    canonical = evaluate(store, "vd", *CANONICAL)
    assert evaluate(store, "vd", *aliases).scores_bytes == canonical.scores_bytes


def test_defaults(evaluate, store):
    result = evaluate(store, "vd", "--queries", 3).result
    expected = {"split": "novel", "ways": 5, "shots": 1, "episodes": 2000, "seed": 0}
    expected |= {"protocol": "deepvoro", "scheme": "full", "alpha": 1}
    assert {name: result[name] for name in expected} == expected


def test_streams(evaluate, store):
    evaluation = evaluate(store, "deepvoro", task=TASK)
    assert formatted(evaluation.result) in evaluation.stdout
    assert "±" not in evaluation.stderr
    assert "\r" not in evaluation.stdout + evaluation.stderr


def formatted(result):
    return f"{result['accuracy']:.2f} ± {result['ci95']:.2f}"


def test_result_fields(evaluate, store):
    result = evaluate(store, "deepvoro++", "--alpha", 1.5, task=TASK).result
    expected = {"format": "deepvoro-result", "version": 1, "method": "deepvoro++", "split": "novel"}
    expected |= {"ways": 4, "shots": 2, "queries": 6, "episodes": 8, "seed": 2}
    expected |= {"protocol": "deepvoro", "scheme": "full", "alpha": 1.5, "members": 40}
    assert {name: result[name] for name in expected} == expected
    assert set(result["store"]) >= {"path", "sha256"}
    assert set(result["program"]) >= {"version", "commit", "isa"}
    assert result["seconds"] and all(seconds >= 0 for seconds in result["seconds"].values())


def test_episode_accuracy_is_in_percent(evaluate, store):
    evaluation = evaluate(store, "vd", task=TASK)
    accuracy = evaluation.result["episode_accuracy"]
    np.testing.assert_allclose(accuracy, reference.episode_accuracy_percent(evaluation.scores), atol=1e-9)
    assert len(accuracy) == TASK.episodes and 1 < max(accuracy) <= 100


@pytest.mark.parametrize("method", ["vd", "deepvoro", "deepvoro++"])
def test_result_names_the_default_pool(evaluate, store, method):
    pool = evaluate(store, method, task=TASK).result["pool"]
    expected = reference.default_pool(method, Store(store).views)
    assert len(pool) == len(expected)
    for actual, member in zip(pool, expected):
        assert {name: actual[name] for name in member} == pytest.approx(member)


@pytest.mark.parametrize("flags", [["--signed"], ["--scheme", "guided"], ["--scheme", "random", "--size", 5]])
def test_pool_of_a_result_is_a_pool_file_that_repeats_it(evaluate, store, write_pool, flags):
    first = evaluate(store, "deepvoro", *flags, task=TASK)
    assert first.result["members"] == len(first.result["pool"])
    again = evaluate(store, "deepvoro", "--pool", write_pool(first.result["pool"]), task=TASK)
    np.testing.assert_allclose(again.scores, first.scores, rtol=1e-12)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_store_hash_can_be_recomputed(evaluate, store):
    meta = json.loads((store / "store.json").read_text())
    arrays = [f"{split}/{name}.npy" for split in meta["splits"] for name in ["labels", *meta["views"]]]
    lines = [f"{sha256((store / path).read_bytes())}  {path}\n" for path in sorted(["store.json", *arrays])]
    assert evaluate(store, "vd", task=TASK).result["store"]["sha256"] == sha256("".join(lines).encode())


def test_oracle_is_shown_next_to_the_honest_figure(evaluate, store):
    evaluation = evaluate(store, "deepvoro", "--scheme", "guided", "--oracle", task=TASK)
    lines = evaluation.stdout.splitlines()
    oracle_lines = [line for line in lines if "oracle" in line.lower()]
    honest_lines = [line for line in lines if "oracle" not in line.lower()]
    assert any(formatted(evaluation.result) in line for line in honest_lines)
    oracle = re.search(r"(\d+\.\d\d) ± \d+\.\d\d", "\n".join(oracle_lines))
    assert float(oracle.group(1)) >= round(evaluation.result["accuracy"], 2)


def test_no_oracle_unless_asked_for(evaluate, store):
    assert "oracle" not in evaluate(store, "deepvoro", "--scheme", "guided", task=TASK).stdout.lower()


def test_result_can_be_run_again_as_pool(deepvoro, evaluate, make_store, tmp_path):
    store = make_store(dim=8)
    flags = ["--ways", "3", "--queries", "3", "--episodes", "5"]
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert deepvoro("evaluate", store, "--method", "deepvoro", *flags, "--json", first).returncode == 0
    again = deepvoro("evaluate", store, "--method", "deepvoro", *flags, "--pool", first, "--json", second)
    assert again.returncode == 0, again.stderr
    accuracies = [json.loads(file.read_text())["episode_accuracy"] for file in (first, second)]
    assert accuracies[0] == accuracies[1]


@pytest.mark.parametrize("flag, file", [("--json", "store.json"), ("--scores", "novel/new.npy")])
def test_a_store_is_only_read(deepvoro, store, flag, file):
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    process = deepvoro("evaluate", store, "--method", "vd", "--episodes", 1, flag, store / file)
    assert process.returncode == 2 and flag in process.stderr and len(process.stderr.splitlines()) == 1
    process = deepvoro("tune", store, "--method", "vd", "--shots", 1, "--out", store / "store.json")
    assert process.returncode == 2 and "--out" in process.stderr
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("method, members, named", [
    ("vd", [{"geometry": "vd"}, {"geometry": "vd", "b": 0.1}], "deepvoro"),
    ("deepvoro", [{"geometry": "vd"}, {"geometry": "surrogate", "R": 1, "beta": 2.0}], "deepvoro++"),
])
def test_a_pool_goes_under_the_name_of_its_method(deepvoro, store, write_pool, method, members, named):
    view = json.loads((store / "store.json").read_text())["views"][0]
    pool = write_pool([{"view": view, "w": 1.0, "b": 0.0, "lambda": 0.5, **member} for member in members])
    process = deepvoro("evaluate", store, "--method", method, "--episodes", 2, "--pool", pool)
    assert process.returncode == 2 and f"--method {named}" in process.stderr
    assert deepvoro("evaluate", store, "--method", named, "--episodes", 2, "--pool", pool).returncode == 0
