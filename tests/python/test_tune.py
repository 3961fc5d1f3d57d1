"""What tune chooses is what a plain search on the validation split would choose; stopped, it goes on."""
import json
import re
import resource
import signal
import subprocess

import numpy as np
import pytest
import reference
from reference import Store, Task
from stores import random_store
from terminal import run_on_terminal
from test_determinism import available_instruction_sets

TASK = Task(split="val", ways=4, shots=2, queries=6, episodes=25, seed=3)
TASK_FLAGS = ["--ways", 4, "--shots", 2, "--queries", 6, "--episodes", 25, "--seed", 3]
LAMBDAS, BIASES, NEIGHBOURS, BETAS = [0, 0.5, 1, 1.7], [0.02, 0.3], [1, 2, 4], [0.5, 2.0, 6.0]
GRID = [("--lambdas", LAMBDAS), ("--biases", BIASES), ("--neighbours", NEIGHBOURS), ("--betas", BETAS)]
GRID_FLAGS = [part for flag, values in GRID for part in (flag, ",".join(map(str, values)))]


@pytest.fixture
def store(make_store):
    return make_store(dim=12, views=3, class_sizes=(20, 24))


@pytest.fixture
def pool_file(tmp_path):
    return tmp_path / "pool.json"


@pytest.fixture
def tune(deepvoro, pool_file):
    def run(store, method, *flags, env=None):
        process = deepvoro("tune", store, "--method", method, *TASK_FLAGS, *GRID_FLAGS, *flags, "--out", pool_file, env=env)
        assert process.returncode == 0, process.stderr
        assert not partial(pool_file).exists()
        return json.loads(pool_file.read_text())

    return run


def partial(pool_file):
    return pool_file.with_name(pool_file.name + ".partial")


class PlainSearch:
    def __init__(self, folder):
        self.store = Store(folder)
        self.transformations = [(b, 0.0) for b in BIASES] + [(0.0, power) for power in LAMBDAS[1:]]

    def hits(self, members):
        return [int(reference.hits(scores).sum()) for scores in reference.member_scores(self.store, TASK, members)]

    def accuracy(self, members):
        queries = TASK.episodes * TASK.ways * TASK.queries
        return [100 * hits / queries for hits in self.hits(members)]

    @staticmethod
    def member(view, transformation, nearest=None, beta=None):
        b, power = transformation
        member = {"view": view, "w": 1.0, "b": b, "lambda": power, "geometry": "vd"}
        if nearest:
            member |= {"geometry": "surrogate", "R": nearest, "beta": beta, "gamma": 1.0}
        return member

    def best_transformations(self, views, count):
        scores = [sum(self.hits([self.member(view, t) for view in views])) for t in self.transformations]
        return [self.transformations[i] for i in np.argsort(np.negative(scores), kind="stable")[:count]]

    def best_beta(self, views, transformations, nearest):
        scores = [
            sum(self.hits([self.member(view, t, nearest, beta) for view in views for t in transformations]))
            for beta in BETAS
        ]
        return BETAS[int(np.argmax(scores))]

    def pool(self, method, top_k):
        views = self.store.views[:1] if method == "vd" else self.store.views
        transformations = self.best_transformations(views, top_k)
        pairs = [(None, None)]
        if method == "deepvoro++":
            pairs = [(nearest, self.best_beta(views, transformations, nearest)) for nearest in NEIGHBOURS]
        return [self.member(view, t, *pair) for view in views for t in transformations for pair in pairs]


def without_accuracy(members):
    return [{key: value for key, value in member.items() if key != "val_accuracy"} for member in members]


@pytest.mark.parametrize("method, flags, top_k", [
    ("vd", [], 1),
    ("deepvoro", [], 5),
    ("deepvoro", ["--top-k", 3], 3),
    ("deepvoro++", [], 2),
    ("deepvoro++", ["--top-k", 1], 1),
])
def test_choice_is_that_of_a_plain_search(tune, store, method, flags, top_k):
    document = tune(store, method, *flags)
    search = PlainSearch(store)
    expected = search.pool(method, top_k)
    assert without_accuracy(document["members"]) == expected
    np.testing.assert_allclose(
        [member["val_accuracy"] for member in document["members"]], search.accuracy(expected), atol=1e-9
    )


def test_pool_says_how_it_was_tuned(tune, evaluate, store):
    tuning = tune(store, "deepvoro++")["tuning"]
    expected = {"method": "deepvoro++", "split": "val", "ways": 4, "shots": 2, "queries": 6, "episodes": 25, "seed": 3}
    expected |= {"protocol": "deepvoro", "views": Store(store).views, "top_k": 2, "signed": False}
    expected |= {"grid": {flag.strip("-"): values for flag, values in GRID}}
    assert {name: tuning[name] for name in expected} == expected
    assert tuning["store"] == evaluate(store, "vd", task=TASK).result["store"]
    assert set(tuning["program"]) == {"version", "commit"}
    assert [t["chosen"] for t in tuning["transformations"]] == [True, True, False, False, False]
    accuracies = [t["val_accuracy"] for t in tuning["transformations"]]
    assert accuracies == sorted(accuracies, reverse=True)
    assert [(s["R"], s["beta"]) for s in tuning["surrogates"]] == [(R, beta) for R in NEIGHBOURS for beta in BETAS]


@pytest.mark.parametrize("method", ["vd", "deepvoro", "deepvoro++"])
@pytest.mark.parametrize("scheme", ["full", "guided"])
def test_tuned_pool_can_be_evaluated(tune, evaluate, store, pool_file, method, scheme):
    members = tune(store, method)["members"]
    task = Task(ways=4, shots=2, queries=6, episodes=10)
    result = evaluate(store, method, "--pool", pool_file, "--scheme", scheme, task=task).result
    tuned = without_accuracy(members)
    assert all(member in tuned for member in result["pool"])
    assert scheme == "guided" or result["pool"] == tuned


def test_only_one_view(tune, store):
    view = Store(store).views[1]
    assert {member["view"] for member in tune(store, "deepvoro", "--views", view)["members"]} == {view}


def test_signed_features(tune, make_store, deepvoro, pool_file):
    store = make_store(dim=12, relu=False, class_sizes=(20, 24))
    process = deepvoro("tune", store, "--method", "vd", *TASK_FLAGS, *GRID_FLAGS, "--out", pool_file)
    assert process.returncode == 3 and "--signed" in process.stderr
    assert not partial(pool_file).exists()
    assert tune(store, "vd", "--signed")["members"][0]["signed"] is True


def test_threads_and_instruction_sets_do_not_change_a_byte(tune, make_store, pool_file):
    store = make_store(dim=100, class_sizes=(20, 24))
    files = set()
    for threads, isa in [(1, "generic"), (2, "generic"), (7, available_instruction_sets()[-1])]:
        tune(store, "deepvoro++", "--threads", threads, env={"DEEPVORO_ISA": isa})
        files.add(pool_file.read_bytes())
    assert len(files) == 1


@pytest.fixture
def run_with_file_limit(program, pool_file):
    """Ends in the middle of writing a file that has grown past the limit."""

    def run(store, method, limit):
        def limit_files():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        arguments = ["tune", store, "--method", method, *TASK_FLAGS, *GRID_FLAGS, "--out", pool_file]
        return subprocess.run([program, *map(str, arguments)], preexec_fn=limit_files, capture_output=True).returncode

    return run


def ended_with_steps_done(run_with_file_limit, pool_file, store, steps):
    for limit in range(500, 100_000, 20):
        assert run_with_file_limit(store, "deepvoro++", limit) == 3
        if partial(pool_file).exists() and len(json.loads(partial(pool_file).read_text())["steps"]) == steps:
            return
    pytest.fail("it never ended at that step")


@pytest.mark.parametrize("steps", [1, 3, 4, 5])
def test_run_that_ended_early_goes_on(tune, store, run_with_file_limit, pool_file, steps):
    tune(store, "deepvoro++")
    uninterrupted = pool_file.read_bytes()
    pool_file.unlink()
    ended_with_steps_done(run_with_file_limit, pool_file, store, steps)
    assert not pool_file.exists()
    tune(store, "deepvoro++")
    assert pool_file.read_bytes() == uninterrupted


def test_bar_of_a_resumed_run_begins_where_it_stopped(program, store, run_with_file_limit, pool_file):
    ended_with_steps_done(run_with_file_limit, pool_file, store, 5)
    arguments = ["tune", store, "--method", "deepvoro++", *TASK_FLAGS, *GRID_FLAGS, "--out", pool_file]
    code, shown = run_on_terminal([program, *arguments])
    assert code == 0
    first = re.search(r"tune deepvoro\+\+, 2-shot \[[= ]+\] +(\d+)%", shown)
    assert first and int(first.group(1)) > 60
    assert "continued after 5 of 6 steps" in shown


def test_ctrl_c_says_how_to_go_on(program, store, pool_file):
    arguments = ["tune", store, "--method", "deepvoro++", "--shots", 1, "--ways", 4, "--queries", 6]
    command = [program, *arguments, "--episodes", 150_000, "--out", pool_file]
    code, shown = run_on_terminal(command, ctrl_c_at="%")
    assert code == -signal.SIGINT
    last = shown.splitlines()[-1]
    assert last.endswith(f"deepvoro: stopped; the same command continues from {partial(pool_file)}")
    assert partial(pool_file).exists() and not pool_file.exists()


def test_pool_tuned_at_other_shots_is_noted(tune, deepvoro, store, pool_file):
    tune(store, "deepvoro")
    flags = ["--method", "deepvoro", "--ways", 4, "--queries", 6, "--episodes", 5, "--pool", pool_file]
    assert deepvoro("evaluate", store, *flags, "--shots", 2).stderr == ""
    other = deepvoro("evaluate", store, *flags, "--shots", "1,2")
    assert other.returncode == 0
    assert other.stderr == f"note: {pool_file} was tuned with --shots 2, not 1\n"


@pytest.fixture
def refusal(deepvoro, pool_file):
    def refused(store, *flags, method="deepvoro", out=pool_file, code=3, mentions=()):
        process = deepvoro("tune", store, "--method", method, *TASK_FLAGS, *GRID_FLAGS, *flags, "--out", out)
        assert process.returncode == code, process.stderr
        assert len(process.stderr.splitlines()) == 1, process.stderr
        assert process.stdout == ""
        assert not pool_file.exists()
        for expected in mentions:
            assert expected in process.stderr, process.stderr

    return refused


@pytest.mark.parametrize("split", ["novel", "base", "test"])
def test_other_splits_are_leakage(refusal, store, pool_file, split):
    refusal(store, "--split", split, code=2, mentions=[f"--split {split}", "leakage"])
    assert not partial(pool_file).exists()


def test_split_val_is_what_it_does_anyway(tune, store):
    assert tune(store, "vd", "--split", "val")["tuning"]["split"] == "val"


@pytest.mark.parametrize(
    "flags, mentions",
    [
        (["--method", "voodoo"], ["voodoo"]),
        (["--lambdas", "0.5,0.5"], ["--lambdas", "0.5"]),
        (["--lambdas", "nan"], ["--lambdas"]),
        (["--betas", "-1"], ["--betas", "-1"]),
        (["--neighbours", "0"], ["--neighbours"]),
        (["--neighbours", "-1"], ["-1"]),
        (["--top-k", "6"], ["--top-k 6", "5"]),
        (["--top-k", "0"], ["--top-k 0"]),
        (["--threads", "0"], ["--threads"]),
    ],
)
def test_wrong_usage(deepvoro, store, pool_file, flags, mentions):
    merged = {"--method": "deepvoro++"} | dict(zip(GRID_FLAGS[::2], GRID_FLAGS[1::2])) | {flags[0]: flags[1]}
    process = deepvoro("tune", store, *TASK_FLAGS, *(part for pair in merged.items() for part in pair), "--out", pool_file)
    assert process.returncode == 2, process.stderr
    assert len(process.stderr.splitlines()) == 1
    assert all(mention in process.stderr for mention in mentions), process.stderr
    assert not pool_file.exists() and not partial(pool_file).exists()


@pytest.mark.parametrize("missing", ["--shots", "--out", "--method"])
def test_what_has_to_be_said(deepvoro, store, pool_file, missing):
    flags = {"--shots": 1, "--out": pool_file, "--method": "vd"}
    process = deepvoro("tune", store, *(part for flag in flags if flag != missing for part in (flag, flags[flag])))
    assert process.returncode == 2
    assert len(process.stderr.splitlines()) == 1 and missing in process.stderr


def test_store_without_what_is_needed(refusal, tmp_path, store):
    without_val = random_store(tmp_path / "a", 12, classes=(("base", 5), ("novel", 6)))
    without_base = random_store(tmp_path / "b", 12, classes=(("val", 5), ("novel", 6)))
    refusal(without_val, mentions=["'val'"])
    refusal(without_base, method="deepvoro++", mentions=["'base'"])
    refusal(store, "--views", "s1_r0_f0", mentions=["s1_r0_f0"])
    refusal(tmp_path / "nowhere", mentions=["nowhere"])


def test_output_that_cannot_be_written(refusal, store, tmp_path):
    refusal(store, out=tmp_path / "nowhere" / "pool.json", mentions=["nowhere"])
    refusal(store, out=tmp_path, code=2, mentions=["regular file"])


def test_checkpoint_of_another_command(refusal, store, run_with_file_limit, pool_file):
    ended_with_steps_done(run_with_file_limit, pool_file, store, 2)
    left = partial(pool_file).read_bytes()
    mentions = [partial(pool_file).name, "another run", "signed false, not true", "delete"]
    refusal(store, "--signed", method="deepvoro++", mentions=mentions)
    assert partial(pool_file).read_bytes() == left


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[:-40], lambda b: b.replace(b'"steps":[[', b'"steps":[[1'),
                                    lambda b: b"\xff" * len(b)], ids=["empty", "cut", "changed", "no-text"])
def test_damaged_checkpoint(refusal, store, run_with_file_limit, pool_file, damage):
    ended_with_steps_done(run_with_file_limit, pool_file, store, 2)
    partial(pool_file).write_bytes(damage(partial(pool_file).read_bytes()))
    refusal(store, method="deepvoro++", mentions=[partial(pool_file).name, "damaged", "delete"])
