"""Bad input ends in one line that names the place, the right exit code, and no output file."""
import json
import re
import subprocess

import numpy as np
import pytest
from stores import random_store, view_names, write_store

WRONG_USAGE = 2
BAD_DATA = 3
DIM = 6
VIEW, OTHER_VIEW = view_names(2)
LABELS_FILE = "novel/labels.npy"
VIEW_FILE = f"novel/{VIEW}.npy"

# Classes of exactly shots + queries rows and all of them in each episode: every row is used.
FLAGS = {"method": "vd", "ways": 4, "shots": 2, "queries": 3, "episodes": 2}
CLASSES = (("base", 6), ("val", 4), ("novel", 4))
ROW, COLUMN = 17, 5


@pytest.fixture
def store(tmp_path):
    return random_store(tmp_path / "store", DIM, classes=CLASSES, class_sizes=(5, 5))


@pytest.fixture
def output_folder(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.fixture
def run(deepvoro, output_folder):
    def run_with(store, **flags):
        merged = {**FLAGS, "json": output_folder / "result.json", "scores": output_folder / "scores.npy", **flags}
        return deepvoro("evaluate", store, *flags_of(merged))

    return run_with


@pytest.fixture
def refusal(run, output_folder):
    def refused(store, code=BAD_DATA, mentions=(), **flags):
        process = run(store, **flags)
        codes = code if isinstance(code, tuple) else (code,)
        assert process.returncode in codes, process.stderr
        assert len(process.stderr.splitlines()) == 1, process.stderr
        assert process.stdout == ""
        assert list(output_folder.iterdir()) == []
        for expected in mentions:
            assert names(process.stderr, expected), f"{expected!r} is not in {process.stderr!r}"

    return refused


def flags_of(options):
    return [part for name, value in options.items() for part in (f"--{name}", value)]


def names(message, expected):
    return re.search(rf"(?<!\w){re.escape(str(expected))}(?!\w)", message) is not None


def edit_array(path, change):
    np.save(path, change(np.load(path)))


def set_value(path, row, column, value):
    def change(rows):
        rows[row, column] = value
        return rows

    edit_array(path, change)


def edit_json(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def claim_rows(path, rows):
    array = np.load(path)
    header = {"descr": array.dtype.str, "fortran_order": False, "shape": (rows, *array.shape[1:])}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(array.tobytes())


def cut_to(path, size):
    path.write_bytes(path.read_bytes()[:size])


def test_the_undamaged_store_is_accepted(run, store, output_folder):
    process = run(store)
    assert process.returncode == 0, process.stderr
    assert sorted(path.name for path in output_folder.iterdir()) == ["result.json", "scores.npy"]


@pytest.mark.parametrize("file", [VIEW_FILE, LABELS_FILE])
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.unlink(), id="missing"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(b"no array\n" * 40), id="no-array"),
        pytest.param(lambda path: cut_to(path, 20), id="header-cut"),
        pytest.param(lambda path: cut_to(path, -3), id="data-cut"),
        pytest.param(lambda path: edit_array(path, lambda a: a[:-1]), id="too-short"),
        pytest.param(lambda path: edit_array(path, lambda a: a.astype(np.int32)), id="int32"),
        pytest.param(lambda path: edit_array(path, lambda a: a.astype(np.float64)), id="float64"),
        pytest.param(lambda path: edit_array(path, lambda a: a.reshape(-1, 1, 1)), id="wrong-rank"),
        pytest.param(lambda path: claim_rows(path, 10**13), id="ten-trillion-rows"),
        pytest.param(lambda path: claim_rows(path, 2**62), id="overflowing-rows"),
    ],
)
def test_damaged_array_file(refusal, store, file, damage):
    damage(store / file)
    refusal(store, mentions=[file])


@pytest.mark.parametrize("rows", [10**13, 2**62])
def test_all_files_claim_too_many_rows(refusal, store, rows):
    for file in (VIEW_FILE, LABELS_FILE, f"novel/{OTHER_VIEW}.npy"):
        claim_rows(store / file, rows)
    meta = json.loads((store / "store.json").read_text())
    meta["splits"]["novel"]["samples"] = rows
    edit_json(store / "store.json", splits=meta["splits"])
    refusal(store, mentions=["novel"])


def test_fortran_order(refusal, store):
    edit_array(store / VIEW_FILE, np.asfortranarray)
    refusal(store, mentions=[VIEW_FILE])


def test_wrong_dimension(refusal, store):
    edit_array(store / VIEW_FILE, lambda rows: rows[:, :-1])
    refusal(store, mentions=[VIEW_FILE, DIM, DIM - 1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_value_that_is_no_number(refusal, store, value, dtype):
    edit_array(store / VIEW_FILE, lambda rows: rows.astype(dtype))
    set_value(store / VIEW_FILE, ROW, COLUMN, value)
    refusal(store, mentions=[VIEW, ROW, COLUMN])


def test_value_that_is_no_number_in_the_base_split(refusal, store):
    set_value(store / "base" / f"{VIEW}.npy", ROW, COLUMN, np.nan)
    refusal(store, method="deepvoro++", mentions=["base", VIEW, ROW, COLUMN])


@pytest.fixture
def pool(tmp_path):
    return tmp_path / "pool.json"


MEMBER = {"view": VIEW, "w": 1.0, "b": 0.0, "lambda": 0.5, "geometry": "vd"}
SURROGATE = {**MEMBER, "geometry": "surrogate", "R": 2, "beta": 4.5, "gamma": 1.0}


def write_pool(path, *members, **changes):
    path.write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": list(members), **changes}))


def without(member, key):
    return {name: value for name, value in member.items() if name != key}


@pytest.mark.parametrize("power", [0.5, 0.75, -0.5])
def test_negative_value_under_a_fractional_power(refusal, store, pool, power):
    """The only other entries of the row are 0: the offending value is -1 before and after normalisation."""
    edit_array(store / VIEW_FILE, lambda rows: rows + 1)
    for column in range(DIM):
        set_value(store / VIEW_FILE, ROW, column, -1 if column == 0 else 0)
    write_pool(pool, {**MEMBER, "lambda": power})
    refusal(store, pool=pool, mentions=[VIEW, ROW, 0, "-1"])


def test_negative_value_under_the_default_transformation(refusal, store):
    set_value(store / VIEW_FILE, ROW, COLUMN, -0.5)
    refusal(store, mentions=[VIEW, ROW, COLUMN])


@pytest.mark.parametrize("power", [0, -1])
def test_zero_under_log_or_negative_power(refusal, store, pool, power):
    edit_array(store / VIEW_FILE, lambda rows: rows + 1)
    set_value(store / VIEW_FILE, ROW, COLUMN, 0)
    write_pool(pool, {**MEMBER, "lambda": power})
    refusal(store, pool=pool, mentions=[VIEW, ROW, COLUMN, 0])


@pytest.mark.parametrize("label", [-1, 4, 2**40])
def test_label_out_of_range(refusal, store, label):
    def change(labels):
        labels[ROW] = label
        return labels

    edit_array(store / LABELS_FILE, change)
    refusal(store, mentions=[LABELS_FILE, ROW, label])


@pytest.mark.parametrize("protocol", ["deepvoro", "dc"])
def test_class_with_too_few_rows(refusal, tmp_path, protocol):
    labels = np.repeat(np.arange(4), [5, 5, 3, 5])
    rows = np.random.RandomState(0).uniform(size=(18, DIM)).astype(np.float32)
    names_of_classes = {"novel": ["crow", "gull", "sparrow", "wren"]}
    store = write_store(tmp_path / "store", {"novel": (labels, {VIEW: rows})}, names_of_classes)
    refusal(store, protocol=protocol, mentions=["sparrow", 3])


def test_more_ways_than_classes(refusal, store):
    refusal(store, code=(WRONG_USAGE, BAD_DATA), ways=5, mentions=[5, 4])


def test_no_store(refusal, tmp_path):
    refusal(tmp_path / "nothing-here", mentions=["nothing-here"])


def test_folder_without_store_json(refusal, store):
    (store / "store.json").unlink()
    refusal(store, mentions=["store.json"])


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format":"deepvoro-store","version":1', "\x00\xff"])
def test_broken_store_json(refusal, store, text):
    (store / "store.json").write_text(text, encoding="latin-1")
    refusal(store, mentions=["store.json"])


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "deepvoro-pool"},
        {"format": None},
        {"version": 2},
        {"version": "1"},
        {"dim": 0},
        {"dim": -6},
        {"dim": "six"},
        {"views": []},
        {"views": VIEW},
        {"splits": []},
        {"splits": {"novel": {"samples": 20}}},
        {"splits": {"novel": {"samples": -1, "classes": ["a", "b", "c", "d"]}}},
    ],
    ids=str,
)
def test_wrong_entry_in_store_json(refusal, store, changes):
    edit_json(store / "store.json", **changes)
    refusal(store, mentions=["store.json"])


@pytest.mark.parametrize("key", ["format", "version", "dim", "views", "splits"])
def test_missing_entry_in_store_json(refusal, store, key):
    path = store / "store.json"
    path.write_text(json.dumps(without(json.loads(path.read_text()), key)))
    refusal(store, mentions=["store.json", key])


@pytest.mark.parametrize("view", ["../outside", "../novel/" + VIEW, "sub/../../outside", "", ".", ".."])
def test_view_names_stay_inside_the_store(refusal, store, view):
    np.save(store / "outside.npy", np.load(store / VIEW_FILE))
    edit_json(store / "store.json", views=[view])
    refusal(store, mentions=["store.json"])


def test_absolute_view_name(refusal, store, tmp_path):
    np.save(tmp_path / "outside.npy", np.load(store / VIEW_FILE))
    edit_json(store / "store.json", views=[str(tmp_path / "outside")])
    refusal(store, mentions=["store.json"])


@pytest.mark.parametrize("split", ["../outside", "sub/novel"])
def test_split_names_stay_inside_the_store(refusal, store, split):
    meta = json.loads((store / "store.json").read_text())
    edit_json(store / "store.json", splits={**meta["splits"], split: meta["splits"]["novel"]})
    refusal(store, mentions=["store.json"])


def store_without(tmp_path, split):
    kept = tuple(entry for entry in CLASSES if entry[0] != split)
    return random_store(tmp_path / f"without-{split}", DIM, classes=kept, class_sizes=(5, 5))


@pytest.mark.parametrize(
    "missing, flags",
    [
        ("base", {"method": "deepvoro++"}),
        ("val", {"method": "deepvoro", "scheme": "guided"}),
        ("val", {"split": "val"}),
        ("novel", {}),
    ],
)
def test_missing_split(refusal, tmp_path, missing, flags):
    refusal(store_without(tmp_path, missing), mentions=[missing], **flags)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format":"deepvoro-pool","version":1}'])
def test_broken_pool_file(refusal, store, pool, text):
    pool.write_text(text)
    refusal(store, pool=pool, mentions=["pool.json"])


def test_no_pool_file(refusal, store, pool):
    refusal(store, pool=pool, mentions=["pool.json"])


@pytest.mark.parametrize("changes", [{"format": "deepvoro-store"}, {"version": 2}, {"members": []}], ids=str)
def test_wrong_pool_header(refusal, store, pool, changes):
    write_pool(pool, MEMBER, **changes)
    refusal(store, pool=pool, mentions=["pool.json"])


@pytest.mark.parametrize("member, key", [(MEMBER, "view"), (MEMBER, "lambda"), (SURROGATE, "R"), (SURROGATE, "beta")])
def test_pool_member_without_a_key(refusal, store, pool, member, key):
    write_pool(pool, MEMBER, without(member, key))
    refusal(store, method="deepvoro++", pool=pool, mentions=["pool.json", key])


@pytest.mark.parametrize(
    "key, value",
    [
        ("view", "s999_r0_f0"),
        ("view", f"../novel/{VIEW}"),
        ("view", 3),
        ("geometry", "spherical"),
        ("lambda", "half"),
        ("lambda", float("nan")),
        ("b", float("inf")),
        ("w", None),
        ("R", 0),
        ("R", -1),
        ("R", 1.5),
        ("beta", float("nan")),
    ],
)
def test_pool_member_with_a_wrong_value(refusal, store, pool, key, value):
    write_pool(pool, MEMBER, {**SURROGATE, key: value})
    refusal(store, method="deepvoro++", pool=pool, mentions=["pool.json"])


def test_pool_number_out_of_range(refusal, store, pool):
    write_pool(pool, {**MEMBER, "lambda": 12345})
    pool.write_text(pool.read_text().replace("12345", "1e999"))
    refusal(store, pool=pool, mentions=["pool.json"])


@pytest.mark.parametrize(
    "flag, value",
    [
        ("method", "k-means"),
        ("scheme", "random-forest"),
        ("protocol", "imagenet"),
        ("alpha", "0"),
        ("alpha", "nan"),
        ("alpha", "inf"),
        ("alpha", "one"),
        ("ways", "1"),
        ("ways", "0"),
        ("ways", "-5"),
        ("ways", "five"),
        ("ways", "2.5"),
        ("shots", "0"),
        ("queries", "0"),
        ("episodes", "0"),
        ("seed", "-1"),
        ("threads", "-1"),
        ("colour", "red"),
    ],
)
def test_wrong_usage(refusal, store, flag, value):
    refusal(store, code=WRONG_USAGE, mentions=[flag], **{flag: value})


@pytest.mark.parametrize("size", [0, -1])
def test_size_must_be_positive(refusal, store, size):
    refusal(store, code=WRONG_USAGE, method="deepvoro", scheme="random", size=size, mentions=["size"])


def test_size_larger_than_the_pool(refusal, store):
    flags = {"method": "deepvoro", "scheme": "random", "size": 17}
    refusal(store, code=(WRONG_USAGE, BAD_DATA), mentions=[17, 16], **flags)


@pytest.mark.parametrize("flag, name", [("json", "result.json"), ("scores", "scores.npy")])
def test_output_that_cannot_be_written(refusal, store, tmp_path, flag, name):
    """A plain file in the place of the folder stops root too."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    refusal(store, mentions=["blocked"], **{flag: blocked / name})
    assert blocked.read_text() == ""


def test_earlier_output_survives_a_failure(run, store, output_folder):
    assert run(store).returncode == 0
    before = {path.name: path.read_bytes() for path in output_folder.iterdir()}
    (store / VIEW_FILE).unlink()
    assert run(store).returncode == BAD_DATA
    assert {path.name: path.read_bytes() for path in output_folder.iterdir()} == before


def test_number_out_of_range_in_store(refusal, store):
    description = store / "store.json"
    description.write_text(re.sub(r'"dim": *\d+', '"dim": 1e999', description.read_text()))
    refusal(store, mentions=["store.json"])


def test_shots_that_overflow(refusal, store):
    refusal(store, shots=2**64 - 1, queries=1, mentions=["shots"])


def test_more_episodes_than_memory(refusal, store):
    refusal(store, WRONG_USAGE, episodes=10**15, mentions=["episodes"])


def test_store_name_too_long(refusal, tmp_path):
    refusal(tmp_path / ("x" * 300))


def test_transformation_beyond_float32(refusal, store, tmp_path):
    pool = tmp_path / "pool.json"
    for w in (1e20, 1e-23):
        pool.write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": [{**MEMBER, "w": w}]}))
        refusal(store, pool=pool, mentions=["w"])


def test_huge_neighbourhood_is_all_base_classes(run, store, tmp_path, output_folder):
    accuracies = []
    for neighbours in (6, 10**12):
        pool = tmp_path / "pool.json"
        members = [{**SURROGATE, "R": neighbours}]
        pool.write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": members}))
        process = run(store, method="deepvoro++", pool=pool)
        assert process.returncode == 0, process.stderr
        accuracies.append(json.loads((output_folder / "result.json").read_text())["episode_accuracy"])
    assert accuracies[0] == accuracies[1]


def test_device_is_written_not_replaced(deepvoro, store):
    process = deepvoro("evaluate", store, *flags_of(FLAGS), "--json", "/dev/stdout")
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout[: process.stdout.rindex("}") + 1])["format"] == "deepvoro-result"


@pytest.mark.parametrize("output", ["--json", "--scores"])
def test_full_device_is_told(deepvoro, store, output):
    process = deepvoro("evaluate", store, *flags_of(FLAGS), output, "/dev/full")
    assert process.returncode == BAD_DATA
    assert len(process.stderr.splitlines()) == 1
    assert "/dev/full: cannot be written: No space left on device" in process.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "{results}"]])
def test_full_standard_output_is_told(program, store, run, output_folder, tmp_path, arguments):
    """A short text waits in a buffer until the end; a long one is written at once."""
    assert run(store).returncode == 0
    result = json.loads((output_folder / "result.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps([result] * 200))
    with open("/dev/full", "w") as full:
        command = [program, *(argument.format(results=tmp_path / "results.json") for argument in arguments)]
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, encoding="utf-8")
    assert process.returncode == BAD_DATA
    assert process.stderr == "deepvoro: standard output cannot be written; is the disk full?\n"


def test_unknown_key_in_pool(refusal, store, tmp_path):
    pool = tmp_path / "pool.json"
    members = [{**SURROGATE, "gama": 2}]
    pool.write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": members}))
    refusal(store, pool=pool, mentions=["gama", "gamma"])


def test_surrogates_on_their_own_base_classes(refusal, store):
    refusal(store, WRONG_USAGE, method="deepvoro++", split="base", mentions=["base"])


def test_pool_with_several_methods(refusal, store, tmp_path):
    refusal(store, WRONG_USAGE, method="vd,deepvoro", pool=tmp_path / "pool.json", mentions=["pool"])


@pytest.mark.parametrize("arguments, mentions", [
    (["evaluate", "x", "--metod", "vd"], ["unexpected argument '--metod'; did you mean --method?"]),
    (["evaluate", "x", "--shto=1"], ["did you mean --shots?"]),
    (["evaluate", "x", "--nothing-like-it"], ["--nothing-like-it", "deepvoro evaluate --help"]),
    (["rename", "birds.dv", "coffee", "cup", "mug"], ["'mug'", "quotes"]),
    (["Evaluate", "x"], ["did you mean evaluate?"]),
    (["tnue", "x"], ["did you mean tune?"]),
    (["eval", "x"], ["there is no command 'eval'", "deepvoro --help"]),
    (["evalute", "x", "--method", "vd"], ["there is no command 'evalute'; did you mean evaluate?"]),
    (["tunes"], ["'tunes'", "did you mean tune?"]),
    (["store", "chek", "x"], ["there is no command 'chek'; did you mean check?"]),
    (["store", "remove", "x"], ["'remove'", "deepvoro store --help"]),
    (["tune", "x", "--method", "vd", "--shots", "1,5", "--out", "p"], ["--shots", "one number of shots", "1,5"]),
    (["evaluate", "x", "--method", "vd", "deepvoro"], ["deepvoro", "commas"]),
    (["evaluate", "x", "--method", "vd", "--episodes", "-5"], ["--episodes", "-5", "whole number"]),
    (["evaluate", "x", "--method", "vd", "--shots", "1.5"], ["--shots", "1.5"]),
    (["evaluate", "x", "--method", "power-lr", "--epochs", "9" * 20], ["--epochs", "too large"]),
])  # fmt: skip
def test_misspelt_command_line(deepvoro, arguments, mentions):
    process = deepvoro(*arguments)
    assert process.returncode == WRONG_USAGE
    assert len(process.stderr.splitlines()) == 1
    for expected in mentions:
        assert expected in process.stderr


def test_a_device_that_is_not_there_is_refused(run, refusal, store):
    process = run(store, device="cuda")
    if process.returncode == 0:
        pytest.skip("there is a CUDA device")
    refusal(store, (WRONG_USAGE, BAD_DATA), device="cuda", mentions=["device cuda"])


def test_an_unknown_device_is_refused(refusal, store):
    refusal(store, WRONG_USAGE, device="abacus", mentions=["device", "cpu", "cuda"])


def test_a_head_on_a_device_is_refused(refusal, store):
    refusal(store, WRONG_USAGE, method="s2m2", device="cuda", mentions=["device cuda", "s2m2"])
