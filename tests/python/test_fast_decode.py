"""--fast-decode: large JPEG files are decoded at a fraction of their size, and what is made so says so."""
import json
import shutil

import numpy as np
import pytest
from PIL import Image
from test_classifier import assert_one_line, read

pytest.importorskip("torch", reason="apt-get install python3-torch")
from picture_fixtures import coloured, model  # noqa: E402, F401

# The network takes 32 pixels, so its views cut them out of 36: four times that is left at one half.
LARGE, SMALL = (320, 288), (318, 286)
CLASSES = ("ant", "bee", "cat")


def write_jpegs(folder, size):
    random = np.random.RandomState(0)
    for part, count in (("support", 2), ("query", 2)):
        for hue, name in enumerate(CLASSES):
            (folder / part / name).mkdir(parents=True)
            for i in range(count):
                coloured(random, hue).resize(size, Image.Resampling.NEAREST).save(folder / part / name / f"{i}.jpg", quality=90)
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("large"), LARGE)


@pytest.fixture
def fit(deepvoro, model, tmp_path):  # noqa: F811
    def run(support, name, *flags):
        process = deepvoro("fit", support, "--backbone", model, "--out", tmp_path / name, *flags)
        assert process.returncode == 0, process.stderr
        return tmp_path / name

    return run


@pytest.fixture
def extract(deepvoro, large, model, tmp_path):  # noqa: F811
    def run(out, *flags, views="s32_r0_f0"):
        return deepvoro("extract", large / "support", "--model", model, "--out", tmp_path / out, "--views", views, *flags)

    return run


def rows_of(process):
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def change(one, other):
    return np.linalg.norm(one - other) / np.linalg.norm(other)


def files_of(store):
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


def test_features_change_a_little_and_the_classifier_says_so(deepvoro, fit, large):
    usual, fast = fit(large / "support", "usual.dv"), fit(large / "support", "fast.dv", "--fast-decode")
    (told, features), (told_fast, features_fast) = read(usual), read(fast)
    assert "fast_decode" not in told["origin"] and told_fast["origin"]["fast_decode"] is True
    for view, rows in features.items():
        assert 0 < change(features_fast[view], rows) < 0.03
    assert [rows_of(deepvoro("info", file, "--json"))["fast_decode"] for file in (usual, fast)] == [False, True]
    assert "at a fraction of their size" in deepvoro("info", fast).stdout
    assert "at a fraction of their size" not in deepvoro("info", usual).stdout


def test_smaller_pictures_have_the_features_they_had(fit, tmp_path):
    small = write_jpegs(tmp_path / "small", SMALL)
    for support in (small / "support", small / "query"):
        usual = read(fit(support, f"{support.name}.dv"))[1]
        fast = read(fit(support, f"{support.name}-fast.dv", "--fast-decode"))[1]
        for view, rows in usual.items():
            np.testing.assert_array_equal(fast[view], rows)


def test_a_classifier_looks_at_all_pictures_as_it_was_fitted(deepvoro, fit, large):
    usual, fast = fit(large / "support", "usual.dv"), fit(large / "support", "fast.dv", "--fast-decode")
    ask = {(file, flags): rows_of(deepvoro("predict", file, large / "query", "--json", *flags))
           for file in (usual, fast) for flags in ((), ("--fast-decode",))}
    assert ask[fast, ()] == ask[fast, ("--fast-decode",)]
    assert ask[usual, ()] != ask[usual, ("--fast-decode",)]
    for rows in ask.values():
        assert [row["class"] for row in rows] == [name for name in CLASSES for _ in range(2)]
    picture = large / "query/bee/1.jpg"
    for flags in ((), ("--fast-decode",)):
        explained = rows_of(deepvoro("explain", usual, picture, "--json", *flags))
        [asked] = [row for row in ask[usual, flags] if row["file"] == str(picture)]
        assert explained["probabilities"] == asked["probabilities"]
        tested = rows_of(deepvoro("test", usual, large / "query", "--json", *flags))
        assert sorted(answer["distance"] for answer in tested["answers"]) == sorted(row["distance"] for row in ask[usual, flags])


@pytest.mark.parametrize("flags", [(), ("--fast-decode",)])
def test_what_is_added_is_as_if_it_had_been_there_from_the_beginning(deepvoro, fit, large, tmp_path, flags):
    at_once = fit(large / "support", "at_once.dv", "--fast-decode").read_bytes()
    shutil.copytree(large / "support", tmp_path / "first")
    shutil.move(tmp_path / "first/cat", tmp_path / "cat")
    grown = fit(tmp_path / "first", "grown.dv", "--fast-decode")
    process = deepvoro("add", grown, "cat", tmp_path / "cat", *flags)
    assert process.returncode == 0, process.stderr
    assert grown.read_bytes() == at_once


def test_nothing_is_added_so_to_a_classifier_that_was_fitted_without(deepvoro, fit, large):
    usual = fit(large / "support", "usual.dv")
    before = usual.read_bytes()
    process = deepvoro("add", usual, "dog", large / "query/cat", "--fast-decode")
    assert_one_line(process, 2, "--fast-decode", "leave it out", "fit again")
    assert usual.read_bytes() == before


def test_a_damaged_picture_is_told_as_ever(deepvoro, fit, large, tmp_path):
    usual = fit(large / "support", "usual.dv")
    whole = (large / "query/ant/0.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    told = [deepvoro("predict", usual, tmp_path / "cut.jpg", *flags) for flags in ((), ("--fast-decode",))]
    assert told[0].returncode == 3 and "truncated JPEG" in told[0].stdout
    assert (told[1].returncode, told[1].stdout, told[1].stderr) == (3, told[0].stdout, told[0].stderr)


def test_a_store_has_features_already(deepvoro, extract, tmp_path):
    assert extract("store").returncode == 0
    assert deepvoro("fit", tmp_path / "store", "--out", tmp_path / "usual.dv").returncode == 0
    before = (tmp_path / "usual.dv").read_bytes()
    for command, *words in (("fit", tmp_path / "store", "--out", tmp_path / "a.dv"), ("predict", tmp_path / "usual.dv", tmp_path / "store"),
                            ("add", tmp_path / "usual.dv", "ant", tmp_path / "store"), ("test", tmp_path / "usual.dv", tmp_path / "store"),
                            ("predict", tmp_path / "usual.dv", tmp_path / "store/novel/s32_r0_f0.npy")):
        process = deepvoro(command, *words, "--fast-decode")
        assert_one_line(process, 2, "--fast-decode", "already has features")
        assert not process.stdout
    assert (tmp_path / "usual.dv").read_bytes() == before and not (tmp_path / "a.dv").exists()


def test_a_classifier_of_a_store_remembers_it_too(deepvoro, extract, fit, large, model, tmp_path):  # noqa: F811
    assert extract("usual").returncode == 0 and extract("fast", "--fast-decode").returncode == 0
    for name in ("usual", "fast"):
        assert deepvoro("fit", tmp_path / name, "--out", tmp_path / f"{name}.dv").returncode == 0
        assert rows_of(deepvoro("info", tmp_path / f"{name}.dv", "--json"))["fast_decode"] is (name == "fast")
    asked = [rows_of(deepvoro("predict", tmp_path / "fast.dv", large / "query", "--backbone", model, "--json", *flags)) for flags in ((), ("--fast-decode",))]
    assert asked[0] == asked[1]
    before = files_of(tmp_path)
    for process, *words in ((deepvoro("add", tmp_path / "usual.dv", "ant", tmp_path / "fast"), "fast: its features were made with --fast-decode"),
                            (deepvoro("add", tmp_path / "fast.dv", "ant", tmp_path / "usual"), "usual: its features were made without --fast-decode"),
                            (deepvoro("predict", tmp_path / "fast.dv", tmp_path / "usual"), "without --fast-decode", "extract them again with it"),
                            (deepvoro("test", tmp_path / "fast.dv", tmp_path / "usual"), "without --fast-decode"),
                            (deepvoro("store", "join", "--rows", tmp_path / "usual", tmp_path / "fast", "--out", tmp_path / "both"), "only", "fast was made with --fast-decode")):
        assert_one_line(process, 3, *words)
    assert files_of(tmp_path) == before
    # As with pictures, any classifier can be asked with it, and this one alone without.
    for name, store in (("usual", "usual"), ("usual", "fast"), ("fast", "fast")):
        assert deepvoro("predict", tmp_path / f"{name}.dv", tmp_path / store).returncode == 0


def test_joined_stores_remember_it(deepvoro, extract, model, large, tmp_path):  # noqa: F811
    for name in ("support", "query"):
        flags = ("--model", model, "--views", "s32_r0_f0", "--fast-decode", "--out", tmp_path / name)
        assert deepvoro("extract", large / name, *flags).returncode == 0
    assert deepvoro("store", "join", "--rows", tmp_path / "support", tmp_path / "query", "--out", tmp_path / "both").returncode == 0
    assert deepvoro("fit", tmp_path / "both", "--out", tmp_path / "both.dv").returncode == 0
    assert rows_of(deepvoro("info", tmp_path / "both.dv", "--json"))["fast_decode"] is True
    assert_one_line(extract("both", "--fast-decode"), 3, "was made by 'deepvoro store join'", "--out")


def test_a_store_remembers_it_and_is_not_mixed(extract, tmp_path):
    assert extract("usual").returncode == 0 and extract("fast", "--fast-decode").returncode == 0
    told = {name: json.loads((tmp_path / name / "store.json").read_text()) for name in ("usual", "fast")}
    assert "fast_decode_side" not in told["usual"]["provenance"]["preprocessing"]
    assert told["fast"]["provenance"]["preprocessing"]["fast_decode_side"] == 4 * 36
    usual, fast = (np.load(tmp_path / name / "novel/s32_r0_f0.npy").astype(float) for name in told)
    assert 0 < change(fast, usual) < 0.03
    for name, flags in (("usual", ("--fast-decode",)), ("fast", ())):
        assert_one_line(extract(name, *flags), 3, f"made {'without' if flags else 'with'} --fast-decode", "--out")
    # Of larger views more pixels are left, and so would be for those that are there.
    assert_one_line(extract("fast", "--fast-decode", views="s32_r0_f0,s40_r0_f0"), 3, "--fast-decode for smaller views", "--out")
    for views in ("s32_r0_f0", "s30_r0_f0", "s32_r0_f0,s28_r0_f0"):  # the largest need not be named again
        assert extract("fast", "--fast-decode", views=views).returncode == 0
    assert extract("at_once", "--fast-decode", views="s32_r0_f0,s30_r0_f0,s28_r0_f0").returncode == 0
    assert files_of(tmp_path / "fast") == files_of(tmp_path / "at_once")


def test_skipping_bad_pictures_changes_nothing_else(extract, tmp_path):
    assert extract("fast", "--fast-decode").returncode == 0
    assert extract("skipping", "--fast-decode", "--skip-bad").returncode == 0
    assert files_of(tmp_path / "skipping") == files_of(tmp_path / "fast")


def test_shards_are_of_one_kind_and_give_the_bytes_of_one_process(deepvoro, extract, tmp_path):
    assert extract("store", "--fast-decode").returncode == 0
    assert extract("pieces", "--fast-decode", "--shard", "0/2").returncode == 0
    assert_one_line(extract("pieces", "--shard", "1/2"), 3, "other work", "(with --fast-decode)")
    assert extract("other", "--shard", "1/2").returncode == 0
    assert_one_line(deepvoro("merge", tmp_path / "pieces", tmp_path / "other", "--out", tmp_path / "merged"), 3, "other work")
    assert extract("pieces", "--fast-decode", "--shard", "1/2").returncode == 0
    assert deepvoro("merge", tmp_path / "pieces", "--out", tmp_path / "merged").returncode == 0
    assert files_of(tmp_path / "merged") == files_of(tmp_path / "store")
