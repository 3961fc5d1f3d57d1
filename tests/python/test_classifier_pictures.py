"""deepvoro fit, predict, add, remove, explain on pictures."""
import csv
import fcntl
import io
import json
import os
import shutil
import signal
import subprocess

import numpy as np
import pytest
from PIL import Image
from terminal import run_on_terminal
from test_classifier import assert_one_line, read, rows_of_csv

torch = pytest.importorskip("torch", reason="apt-get install python3-torch")
from conftest import PROGRAM  # noqa: E402
from test_extract import make_model  # noqa: E402

SHOTS = {"ant": 1, "bee": 4, "cat": 2}


def coloured(random, hue):
    pixels = random.randint(0, 256, (45, 50, 3)) * 0.5
    pixels[:, :, hue] += 127
    return Image.fromarray(pixels.astype(np.uint8))


def drawing(random):
    pixels = np.full((40, 40), 255, np.uint8)
    for x, y in random.randint(2, 30, (3, 2)):
        pixels[y, x : x + 8] = 0
    return Image.fromarray(pixels)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.RandomState(0)
    for part, numbers in (("support", SHOTS), ("query", dict.fromkeys(SHOTS, 3))):
        for hue, (name, count) in enumerate(numbers.items()):
            (folder / part / name).mkdir(parents=True)
            for i in range(count):
                coloured(random, hue).save(folder / part / name / f"{i}.png")
    return folder


def only(class_folder, folder):
    """A folder with this class alone."""
    shutil.copytree(class_folder, folder / class_folder.name)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("model") / "model.safetensors", seed=1)[0]


@pytest.fixture(scope="module")
def fitted(deepvoro, pictures, model, tmp_path_factory):
    """A classifier of the common pictures, for each set of flags; most tests want the same."""
    made = {}

    def fit_once(flags):
        if flags not in made:
            made[flags] = tmp_path_factory.mktemp("fitted") / "fitted.dv"
            process = deepvoro("fit", pictures / "support", "--backbone", model, "--out", made[flags], *flags)
            assert process.returncode == 0, process.stderr
        return made[flags]

    return fit_once


@pytest.fixture
def fit(deepvoro, fitted, pictures, model, tmp_path):
    def run(*flags, support=pictures / "support", backbone=model, name="fitted"):
        file = tmp_path / f"{name}.dv"
        if (support, backbone) == (pictures / "support", model):
            return shutil.copy(fitted(flags), file)
        process = deepvoro("fit", support, "--backbone", backbone, "--out", file, "--force", *flags)
        assert process.returncode == 0, process.stderr
        return file

    return run


def answers(process):
    assert process.returncode == 0, process.stderr
    return [row[:2] for row in csv.reader(io.StringIO(process.stdout))][1:]


def test_pictures_get_their_classes(deepvoro, fit, pictures):
    file = fit()
    files = sorted((pictures / "query").rglob("*.png"))
    expected = [[str(path), path.parent.name] for path in files]
    assert answers(deepvoro("predict", file, pictures / "query")) == expected
    assert answers(deepvoro("predict", file, *reversed(files))) == expected[::-1]
    assert answers(deepvoro("predict", file, f"{pictures}/query/b*/[01].png")) == expected[3:5]
    listed = subprocess.run([PROGRAM, "predict", file, "-"], input="\n".join(map(str, files)), capture_output=True,
                            encoding="utf-8")
    assert answers(listed) == expected


def test_an_answer_does_not_depend_on_the_other_pictures(deepvoro, fit, pictures):
    file = fit()
    together = deepvoro("predict", file, pictures / "query").stdout.splitlines()[1:]
    alone = [deepvoro("predict", file, path, "--threads", 1).stdout.splitlines()[1]
             for path in sorted((pictures / "query").rglob("*.png"))[::4]]
    assert together[::4] == alone


def test_features_are_those_of_extract(deepvoro, fit, pictures, model, tmp_path):
    file = fit("--views", "s32_r0_f0,s40_r90_f1")
    flags = ("--model", model, "--views", "s32_r0_f0,s40_r90_f1", "--out", tmp_path / "store")
    assert deepvoro("extract", pictures / "support", *flags).returncode == 0
    description, support = read(file)
    assert description["views"] == ["s32_r0_f0", "s40_r90_f1"]
    assert [c["samples"] for c in description["classes"]] == [[f"{i}.png" for i in range(n)] for n in SHOTS.values()]
    for view, rows in support.items():
        extracted = np.load(tmp_path / f"store/novel/{view}.npy").astype(np.float64)
        # One unit in the last place of float16: pictures are seen alone here, in batches there.
        np.testing.assert_allclose(rows, extracted, rtol=2**-10, atol=1e-6)
    # A classifier of the store takes pictures too when it is told where the model is.
    assert deepvoro("fit", tmp_path / "store", "--out", tmp_path / "of-store.dv").returncode == 0
    assert_one_line(deepvoro("predict", tmp_path / "of-store.dv", pictures / "query"), 3, "--backbone")
    process = deepvoro("predict", tmp_path / "of-store.dv", pictures / "query", "--backbone", model)
    assert [name for _, name in answers(process)] == [name for name in SHOTS for _ in range(3)]
    # And a classifier of pictures takes the store.
    assert len(answers(deepvoro("predict", file, tmp_path / "store"))) == sum(SHOTS.values())


@pytest.mark.parametrize(("views", "names"), [
    ("1", ["s32_r0_f0"]),
    ("4", [f"s{size}_r0_f{flip}" for size in (32, 30) for flip in (0, 1)]),
    ("16", [f"s{size * 32 // 84}_r0_f{flip}"
            for size in (84, 90, 100, 110, 120, 130, 140, 150) for flip in (0, 1)]),
])
def test_numbers_of_views(fit, views, names):
    assert read(fit("--views", views))[0]["views"] == names


@pytest.mark.parametrize("views", ["8", "64"])
def test_other_numbers_of_views(fit, views):
    assert len(read(fit("--views", views))[0]["views"]) == int(views)


@pytest.mark.parametrize("views", ["3", "0", "1,4", ""])
@pytest.mark.parametrize("command", [("fit",), ("extract", "--model", "any.safetensors")], ids=lambda words: words[0])
def test_numbers_of_views_that_there_are_not(deepvoro, pictures, tmp_path, command, views):
    name, *flags = command
    process = deepvoro(name, pictures / "support", *flags, "--views", views, "--out", tmp_path / "out")
    assert_one_line(process, 2, "--views", f"'{views}'", "1, 4, 8, 16 or 64")


def test_adding_and_removing_give_the_bytes_of_fitting_at_once(deepvoro, fit, pictures, tmp_path):
    whole = fit(name="whole")
    part = tmp_path / "part"
    shutil.copytree(pictures / "support/bee", part / "bee")
    shutil.copytree(pictures / "support/cat", part / "cat")
    (part / "bee/2.png").unlink()
    grown = fit(support=part, name="grown")
    for arguments in (("ant", pictures / "support/ant"), ("bee", pictures / "support/bee/2.png")):
        process = deepvoro("add", grown, *arguments, "--threads", 1)
        assert process.returncode == 0, process.stderr
    assert grown.read_bytes() == whole.read_bytes()
    assert deepvoro("add", grown, "dog", pictures / "query/ant").returncode == 0
    assert deepvoro("remove", grown, "dog").returncode == 0
    assert grown.read_bytes() == whole.read_bytes()


def test_an_archive_is_the_same_as_its_folder(fit, pictures, tmp_path):
    of_folder = fit(name="folder").read_bytes()
    for kind, ending in (("tar", "tar"), ("gztar", "tar.gz"), ("zip", "zip")):
        shutil.make_archive(tmp_path / "support", kind, pictures, "support")
        assert fit(support=tmp_path / f"support.{ending}", name=kind).read_bytes() == of_folder


def test_the_backbone_is_chosen_by_the_pictures(deepvoro, pictures, model, tmp_path):
    environment = {"DEEPVORO_DATA": str(tmp_path / "data")}
    process = deepvoro("fit", pictures / "support", "--out", tmp_path / "a.dv", env=environment)
    assert_one_line(process, 3, "deepvoro backbone install resnet50")
    assert not (tmp_path / "a.dv").exists()
    random = np.random.RandomState(1)
    for name in ("house", "tree"):
        (tmp_path / "sketches" / name).mkdir(parents=True)
        for i in range(2):
            drawing(random).save(tmp_path / f"sketches/{name}/{i}.png")
    # Models of the user hide those that come with the program.
    (tmp_path / "data/backbones").mkdir(parents=True)
    for name in ("quickdraw-conv4", "resnet50"):
        shutil.copy(model, tmp_path / f"data/backbones/{name}.safetensors")
    for support, name, reason in (
        (tmp_path / "sketches", "quickdraw-conv4", "drawings"),
        (pictures / "support", "resnet50", "photographs"),
    ):
        file = tmp_path / f"{name}.dv"
        process = deepvoro("fit", support, "--out", file, env=environment)
        assert process.returncode == 0, process.stderr
        assert f"backbone {name}: the pictures are {reason}" in process.stdout
        assert "s (" in process.stdout and "temperature" in process.stdout
        assert read(file)[0]["origin"]["backbone"] == name
        assert deepvoro("predict", file, support, env=environment).returncode == 0
    # One grey photograph among drawings, or one colour, and they are photographs.
    Image.fromarray(random.randint(0, 200, (40, 40)).astype(np.uint8)).save(tmp_path / "sketches/tree/2.png")
    process = deepvoro("fit", tmp_path / "sketches", "--out", tmp_path / "b.dv", env=environment)
    assert "backbone resnet50" in process.stdout


def test_colours_are_nothing_for_the_network_of_drawings(deepvoro, fit, pictures, tmp_path):
    random = np.random.RandomState(2)
    for name, paper in (("white", (255, 255, 255)), ("brown", (230, 215, 185))):
        (tmp_path / "drawings" / name).mkdir(parents=True)
        for i in range(3):
            pixels = np.asarray(drawing(random), float)[:, :, None] / 255 * paper
            Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"drawings/{name}/{i}.png")
    file = tmp_path / "drawings.dv"
    fit_drawings = ("--backbone", "quickdraw-conv4", "--force", "--out", file)
    process = deepvoro("fit", pictures / "support", *fit_drawings)
    assert process.returncode == 0
    assert process.stderr.startswith("warning: 7 of 7 pictures have colours") and process.stderr.count("\n") == 1
    assert deepvoro("fit", tmp_path / "drawings", *fit_drawings).stderr == ""
    query = pictures / "query/ant/0.png"
    assert deepvoro("predict", file, tmp_path / "drawings", query).stderr == ""
    for command in (("predict", file, query), ("explain", file, query), ("add", file, "ant", query)):
        assert "1 of 1 pictures have colours" in deepvoro(*command).stderr
    assert deepvoro("predict", fit(), query).stderr == ""


def test_a_new_class_of_nearly_a_known_name_is_noted(deepvoro, fit, pictures):
    file = fit()
    picture = pictures / "query/cat/0.png"
    for name, alike in (("cta", "cat"), ("CAT s", None), ("dolphin", None)):
        process = deepvoro("add", file, name, picture)
        assert process.returncode == 0 and f"new class {name} with 1 picture\n" in process.stdout
        assert process.stderr == (f"note: there is a class '{alike}' as well; if that was meant, remove '{name}'\n" if alike else "")


def assert_rows_are_missing(process, *words):
    """Answers to the others are there all the same."""
    assert process.returncode == 3 and process.stderr.count("\n") == 1 and process.stdout != ""
    for word in words:
        assert word in process.stderr, process.stderr


def test_predict_goes_past_what_cannot_be_read(deepvoro, fit, pictures, tmp_path):
    file = fit()
    text = tmp_path / "notes.txt"
    text.write_text("no picture")
    query, other = pictures / "query/ant/0.png", pictures / "query/bee/0.png"
    wanted = deepvoro("predict", file, query, other).stdout.splitlines()
    process = deepvoro("predict", file, text, query, text, other, text)
    assert_rows_are_missing(process, "3 of 5 pictures", "--skip-bad")
    header, *rows = csv.reader(io.StringIO(process.stdout))
    assert header == ["file", "class", "nearest", *SHOTS, "error"]
    assert [row[0] for row in rows] == list(map(str, [text, query, text, other, text]))
    for row in rows[::2]:
        assert row[1:-1] == [""] * (len(header) - 2) and "is not a picture of a known kind" in row[-1]
    assert [",".join(row) for row in rows[1::2]] == wanted[1:]
    listed = json.loads(deepvoro("predict", file, text, query, "--json").stdout)
    assert set(listed[0]) == {"file", "error"} and listed[1]["class"] == "ant"
    process = deepvoro("predict", file, text)
    assert_rows_are_missing(process, "1 of 1 pictures")
    assert len(process.stdout.splitlines()) == 2
    assert len(json.loads(deepvoro("predict", file, text, "--json").stdout)) == 1
    process = deepvoro("predict", file, text, query, "--skip-bad")
    assert "skipped" in process.stderr and answers(process) == [[str(query), "ant"]]
    for flags in ((), ("--skip-bad",)):
        process = deepvoro("predict", file, query, tmp_path / "nowhere.jpg", *flags)
        assert_one_line(process, 3, "nowhere.jpg: there is no such file")
        assert process.stdout == ""


@pytest.mark.parametrize("ending", ["heic", "HEIF", "avif"])
def test_formats_of_telephones_are_not_passed_over(deepvoro, fit, pictures, tmp_path, ending):
    shutil.copytree(pictures / "query", tmp_path / "query")
    (tmp_path / f"query/ant/photo.{ending}").write_bytes(b"\0\0\0\x18ftypheic")
    process = deepvoro("predict", fit(), tmp_path / "query")
    assert_rows_are_missing(process, "1 of 10 pictures")
    [reason] = [row[-1] for row in csv.reader(io.StringIO(process.stdout)) if row[0].endswith(f"photo.{ending}")]
    assert "is a damaged HEIF file" in reason


def test_rows_come_while_others_are_looked_at(fit, pictures, tmp_path):
    """Nobody reads more than the first row for a while, and a pipe holds few: the last picture cannot be looked at before it is gone."""
    files = [tmp_path / f"{i:03}-{'x' * 100}.png" for i in range(400)]
    for file in files:
        shutil.copy(pictures / "query/ant/0.png", file)
    with subprocess.Popen([PROGRAM, "predict", fit("--views", "1"), *files, "--threads", "1"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, bufsize=0) as process:
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        header = b""
        while header.count(b"\n") < 2:
            header += process.stdout.read(1)
        files[-1].unlink()
        rest = process.stdout.read().decode().splitlines()
    assert process.returncode == 3 and len(rest) == 399
    assert rest[0].startswith(f"{files[1]},ant,") and rest[-1].startswith(f"{files[-1]},,,") and "No such file" in rest[-1]


def test_a_picture_on_the_standard_input(deepvoro, fit, pictures):
    file = fit()
    query = pictures / "query/cat/1.png"
    given = subprocess.run([PROGRAM, "predict", file, "--stdin-picture"], input=query.read_bytes(), capture_output=True)
    assert given.returncode == 0, given.stderr
    wanted = deepvoro("predict", file, query).stdout
    assert given.stdout.decode().replace("standard input", str(query)) == wanted
    assert_one_line(deepvoro("predict", file, query, "--stdin-picture"), 2, "--stdin-picture")
    assert_one_line(deepvoro("predict", file), 2, "QUERY")


def test_the_most_probable_classes(deepvoro, fit, pictures):
    file = fit()
    wanted = json.loads(deepvoro("predict", file, pictures / "query", "--json").stdout)
    found = json.loads(deepvoro("predict", file, pictures / "query", "--json", "--top", 2).stdout)
    rows = list(csv.DictReader(io.StringIO(deepvoro("predict", file, pictures / "query", "--top", 2).stdout)))
    for full, short, row in zip(wanted, found, rows):
        top = sorted(full["probabilities"].items(), key=lambda item: -item[1])[:2]
        assert [(one["class"], one["probability"]) for one in short["top"]] == top and "probabilities" not in short
        assert [(row[f"class_{i}"], row[f"probability_{i}"]) for i in (1, 2)] == [(name, f"{value:.6g}") for name, value in top]
    assert_one_line(deepvoro("predict", file, pictures / "query", "--top", 0), 2, "--top")


def test_a_picture_in_the_place_of_the_classifier(deepvoro, fit, pictures):
    process = deepvoro("predict", pictures / "query/ant/0.png", fit())
    assert_one_line(process, 2, "the classifier comes first")


def test_a_classifier_is_not_replaced_by_chance(deepvoro, fit, pictures, model):
    file = fit()
    before = file.read_bytes()
    command = ("fit", pictures / "query", "--backbone", model, "-o", file)
    assert_one_line(deepvoro(*command), 2, "--force", "is there already")
    assert file.read_bytes() == before
    process = deepvoro(*command, "--force", "--json")
    assert process.returncode == 0 and file.read_bytes() != before
    about = json.loads(process.stdout)
    assert [(one["name"], one["pictures"]) for one in about["classes"]] == [(name, 3) for name in SHOTS]
    assert about == json.loads(deepvoro("info", file, "--json").stdout)


def test_info(deepvoro, fit):
    file = fit()
    text = deepvoro("info", file, "--pictures").stdout
    assert "3 classes, 7 pictures" in text and "     4  bee\n" in text and "        bee/2.png\n" in text
    about = json.loads(deepvoro("info", file, "--pictures", "--json").stdout)
    assert about["method"] == "ridge-vd" and about["dim"] == read(file)[0]["dim"]
    assert [one["names"] for one in about["classes"]] == [[f"{i}.png" for i in range(n)] for n in SHOTS.values()]
    assert_one_line(deepvoro("info", file.parent), 3, str(file.parent))


def test_classes_and_pictures_can_be_removed_and_renamed(deepvoro, fit, pictures, tmp_path):
    part = tmp_path / "part"
    shutil.copytree(pictures / "support", part)
    shutil.rmtree(part / "ant")
    (part / "bee/1.png").unlink()
    (part / "bee/3.png").unlink()
    (part / "cat").rename(part / "Felis")
    wanted = fit(support=part, name="wanted").read_bytes()
    file = fit()
    process = deepvoro("remove", file, "bee/3.png", "ant", "bee/1.png")
    assert process.returncode == 0 and "removed 3 pictures\n" in process.stdout
    assert deepvoro("rename", file, "cat", "Felis").returncode == 0
    assert file.read_bytes() == wanted
    for arguments, words in ((("remove", file, "bee/9.png"), ("bee", "9.png")), (("remove", file, "be"), ("did you mean 'bee'",)),
                             (("rename", file, "bee", "Felis"), ("Felis", "already")), (("rename", file, "dog", "cat"), ("dog",)),
                             (("remove", file, "bee", "Felis"), ("no class would be left",)),
                             (("rename", file, "bee", "unknown"), ("unknown",))):
        assert_one_line(deepvoro(*arguments), 3, *words)
    assert file.read_bytes() == wanted


def test_counting_right_answers(deepvoro, fit, pictures, tmp_path):
    shutil.copytree(pictures / "query", tmp_path / "query")
    file = fit()
    shutil.move(tmp_path / "query/ant/0.png", tmp_path / "query/bee/moved.png")  # so one is wrong
    only(pictures / "query/cat", tmp_path / "strangers").joinpath("cat").rename(tmp_path / "query/dog")
    about = json.loads(deepvoro("test", file, tmp_path / "query", "--json").stdout)
    assert (about["accuracy"]["count"], about["accuracy"]["of"]) == (8, 9)
    low, high = about["accuracy"]["interval95"]
    assert (low, high) == pytest.approx((56.50, 98.01), abs=0.01)  # Wilson's, by hand
    assert about["classes"] == ["ant", "bee", "cat", "dog"] and about["known_classes"] == 3
    assert about["confusion"] == [[2, 0, 0], [1, 3, 0], [0, 0, 3], [0, 0, 3]]
    assert about["strangers_found"]["of"] == 3 and len(about["answers"]) == 12
    predicted = {row["file"]: row for row in json.loads(deepvoro("predict", file, tmp_path / "query", "--reject", "--json").stdout)}
    kept = sum(row["class"] != "unknown" for name, row in predicted.items() if "/dog/" not in name)
    assert about["known_kept"]["count"] == kept
    text = deepvoro("test", file, tmp_path / "query").stdout
    assert "right: 8 of 9, 88.9 % (56.5 to 98.0" in text and "bee/moved.png was taken for ant" in text


def test_folders_that_are_not_what_they_seem_are_told(deepvoro, fit, pictures, model, tmp_path):
    nested = tmp_path / "nested"
    shutil.copytree(pictures / "support", nested / "train")
    shutil.copytree(pictures / "query", nested / "test")
    shutil.copy(pictures / "query/ant/0.png", nested / "loose.png")
    shutil.copy(pictures / "support/ant/0.png", nested / "train/bee/again.png")
    command = ("fit", nested, "--backbone", model, "--force", "--out", tmp_path / "nested.dv")
    process = deepvoro(*command)
    assert process.returncode == 0, process.stderr
    notes = process.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes) and len(notes) == 2
    assert "class 'test'" in notes[0] and "(ant, bee, cat)" in notes[0] and "--leaves" in notes[0]
    assert "1 picture beside" in notes[1] and "loose.png" in notes[1]
    process = deepvoro(*command, "--leaves")
    assert process.returncode == 0, process.stderr
    assert [c["name"] for c in read(tmp_path / "nested.dv")[0]["classes"]] == [
        f"{part}/{name}" for part in ("test", "train") for name in SHOTS]
    assert "train/ant/0.png and train/bee/again.png are the same picture" in process.stderr
    shutil.rmtree(nested / "test")
    assert deepvoro(*command, "--leaves").returncode == 0
    assert [c["name"] for c in read(tmp_path / "nested.dv")[0]["classes"]] == list(SHOTS)
    (nested / "train/all").symlink_to(nested / "train")
    process = deepvoro("fit", nested / "train", "--backbone", model, "--out", tmp_path / "link.dv")
    assert_one_line(process, 3, "train/all", "is a link to a folder that holds it")


def test_another_backbone_is_refused(deepvoro, fit, pictures, tmp_path):
    moved = tmp_path / "moved.safetensors"
    mine, _ = make_model(tmp_path / "mine.safetensors", seed=2)
    file = fit(backbone=mine)
    query = pictures / "query/ant/0.png"
    shutil.copy(mine, moved)
    other, _ = make_model(tmp_path / "other.safetensors", seed=3)
    before = file.read_bytes()
    assert_one_line(deepvoro("predict", file, query, "--backbone", other), 3, "other.safetensors", "mine.safetensors")
    shutil.move(other, mine)
    for command in (("predict", file, query), ("explain", file, query), ("add", file, "dog", query)):
        assert_one_line(deepvoro(*command), 3, "not the one", "--backbone")
    mine.unlink()
    assert_one_line(deepvoro("predict", file, query), 3, "mine.safetensors")
    assert deepvoro("predict", file, query, "--backbone", moved).returncode == 0
    assert file.read_bytes() == before


def test_bad_pictures_are_named_or_skipped(deepvoro, fit, pictures, model, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(pictures / "support", damaged)
    (damaged / "bee/1.png").write_bytes(b"no picture")
    out = tmp_path / "damaged.dv"
    command = ("fit", damaged, "--backbone", model, "--out", out)
    process = deepvoro(*command)
    assert process.returncode == 3 and process.stderr.count("\n") == 1
    assert "bee/1.png" in process.stderr and "--skip-bad" in process.stderr and not out.exists()
    process = deepvoro(*command, "--skip-bad")
    assert process.returncode == 0 and "skipped" in process.stderr and "bee/1.png" in process.stderr
    assert [len(c["samples"]) for c in read(out)[0]["classes"]] == [1, 3, 2]
    process = deepvoro("predict", out, damaged / "bee", "--skip-bad")
    assert len(answers(process)) == 3 and "1.png" in process.stderr
    before = out.read_bytes()
    for arguments in (("dog", damaged / "bee/1.png", "--skip-bad"), ("dog", tmp_path / "absent.png")):
        process = deepvoro("add", out, *arguments)
        assert process.returncode == 3
    (damaged / "ant/0.png").write_bytes(b"")
    assert "ant" in deepvoro(*command, "--skip-bad", "--force").stderr.splitlines()[-1]
    assert out.read_bytes() == before


def test_names_that_stand_for_no_picture_are_told(deepvoro, fit, pictures, tmp_path):
    file = fit()
    before = file.read_bytes()
    (tmp_path / "empty/within").mkdir(parents=True)
    (tmp_path / "empty/notes.txt").write_text("no picture")
    for query, words in (
        (f"{tmp_path}/nothing/*.jpg", ("nothing/*.jpg: no file", "extension")),
        (f"{pictures}/query/ant/[7-9].png", ("[7-9].png: no file",)),
        (tmp_path / "empty", ("empty: contains no pictures", ".jpg")),
    ):
        for command in (("predict", file), ("predict", file, pictures / "query"), ("add", file, "dog")):
            assert_one_line(deepvoro(*command, query, "--skip-bad"), 3, *words)
    assert_one_line(deepvoro("predict", file, "-"), 3, "no pictures", "standard input")
    assert file.read_bytes() == before


def test_device(deepvoro, fit, pictures, model, tmp_path):
    file = fit("--device", "cpu")
    assert file.read_bytes() == fit(name="default").read_bytes()
    query = pictures / "query/ant/0.png"
    commands = [("fit", pictures / "support", "--backbone", model, "--out", tmp_path / "cuda.dv"), ("predict", file, query),
                ("add", file, "dog", query), ("explain", file, query)]
    for command in commands:
        assert_one_line(deepvoro(*command, "--device", "abacus"), 2, "--device", "abacus", "cpu", "cuda")
        if not torch.cuda.is_available():
            assert_one_line(deepvoro(*command, "--device", "cuda"), 2, "--device cuda", "--device cpu")


def test_loading_is_shown_and_can_be_stopped(fit, pictures, model, tmp_path):
    file = fit()
    before = file.read_bytes()
    query = pictures / "query/ant/2.png"
    out = tmp_path / "stopped.dv"
    commands = [("fit", pictures / "support", "--backbone", model, "--views", 64, "--out", out), ("predict", file, query),
                ("add", file, "dog", query), ("explain", file, query)]
    for command in commands:
        code, shown = run_on_terminal([PROGRAM, *command], ctrl_c_at=f"loading {model.name} ...")
        assert code == -signal.SIGINT
        assert shown.endswith("\r\033[Kdeepvoro: stopped; nothing was written\r\n")
    assert not out.exists() and file.read_bytes() == before
    code, shown = run_on_terminal([PROGRAM, *commands[1]])
    assert code == 0 and shown.startswith(f"loading {model.name} ...\r\033[K") and shown.endswith("\r\033[K")


def test_wrong_classes_are_told(deepvoro, fit, pictures, model, tmp_path):
    file = fit()
    before = file.read_bytes()
    query = pictures / "query/ant/2.png"
    assert_one_line(deepvoro("add", file, "Bee", query), 3, "'Bee'", "'bee'", "case")
    (tmp_path / "empty").mkdir()
    assert_one_line(deepvoro("add", file, "dog", tmp_path / "empty"), 3, "empty", "no pictures")
    clash = tmp_path / "clash"
    for name in ("bee", "Bee"):
        shutil.copytree(pictures / "support/bee", clash / name)
    out = tmp_path / "no.dv"
    process = deepvoro("fit", clash, "--backbone", model, "--out", out)
    assert process.returncode == 3 and "'Bee'" in process.stderr and "case" in process.stderr
    listed = tmp_path / "twice.json"
    names = [str(path) for path in sorted((pictures / "support/bee").iterdir())]
    for labels, word in (([0, 1, 0, 1], "'bee'"), ([0, 0, 0, 0], "0.png")):
        images = names if word == "'bee'" else names[:1] * 4
        label_names = ["bee", "bee"] if word == "'bee'" else ["bee"]
        listed.write_text(json.dumps({"label_names": label_names, "image_names": images, "image_labels": labels}))
        process = deepvoro("fit", listed, "--backbone", model, "--out", out)
        assert process.returncode == 3 and word in process.stderr and "twice" in process.stderr
    (clash / "Bee").rename(clash / "wasp")
    for picture in (clash / "wasp").iterdir():
        picture.unlink()
    assert_one_line(deepvoro("fit", clash, "--backbone", model, "--out", out), 3, "wasp", "no pictures")
    assert not out.exists()
    assert file.read_bytes() == before


def test_file_names_identify_pictures(deepvoro, fit, pictures):
    file = fit()
    before = file.read_bytes()
    for again in (pictures / "query/bee/1.png", pictures / "query/bee", f"{pictures}/query/bee/*.png"):
        assert_one_line(deepvoro("add", file, "bee", again), 3, "'bee'", ".png' twice", "rename")
        assert file.read_bytes() == before
    told = " ".join(deepvoro("add", "--help").stdout.split())
    assert "goes by its file name" in told and "another one of that name, nothing is added" in told
    # What is there already, with the same pixels, may come again: a command can be repeated.
    process = deepvoro("add", file, "bee", pictures / "support/bee")
    assert process.returncode == 0 and "had these pictures already; nothing changed" in process.stdout
    assert file.read_bytes() == before
    # Below a folder the path is the name.
    assert deepvoro("add", file, "bee", pictures / "query").returncode == 0


def test_explanation_says_who_voted_and_what_is_near(deepvoro, fit, pictures):
    file = fit()
    picture = pictures / "support/bee/2.png"
    process = deepvoro("explain", file, picture, "--json", "--neighbours", 3)
    assert process.returncode == 0, process.stderr
    explained = json.loads(process.stdout)
    _, [[_, name]], [probabilities] = rows_of_csv(deepvoro("predict", file, picture).stdout)
    assert explained["class"] == name == "bee"
    assert [float(f"{value:.6g}") for value in explained["probabilities"].values()] == list(probabilities)
    assert [part["name"] for part in explained["geometries"]] == ["ridge", "vd"]
    for class_name in SHOTS:
        together = sum(part["influence"][class_name] for part in explained["geometries"])
        assert together == explained["influence"][class_name]
    assert len(explained["views"]) == 4 and len(explained["transformations"]) == 1
    assert [(n["class"], n["name"]) for n in explained["neighbours"][:1]] == [("bee", "2.png")]
    assert explained["neighbours"][0]["distance"] == 0 and len(explained["neighbours"]) == 3
    text = deepvoro("explain", file, picture).stdout
    for word in ("bee/2.png", "influence", "s32_r0_f1", "w1_b0_l0.75", "ridge", "vd", "votes"):
        assert word in text


def test_explanation_by_members_says_who_voted_and_what_is_near(deepvoro, fit, pictures):
    file = fit("--method", "deepvoro")
    picture = pictures / "support/bee/2.png"
    process = deepvoro("explain", file, picture, "--json", "--neighbours", 3)
    assert process.returncode == 0, process.stderr
    explained = json.loads(process.stdout)
    assert explained["class"] == "bee"
    for level, count in (("views", 4), ("transformations", 8), ("geometries", 1)):
        parts = explained[level]
        assert len(parts) == count
        assert sum(part["members"] for part in parts) == 32
        assert all(sum(part["votes"].values()) == part["members"] for part in parts)
        for class_name in SHOTS:
            together = sum(part["influence"][class_name] * part["members"] for part in parts) / 32
            assert abs(together / explained["influence"][class_name] - 1) < 1e-9
    assert [(n["class"], n["name"]) for n in explained["neighbours"][:1]] == [("bee", "2.png")]
    assert explained["neighbours"][0]["distance"] == 0 and len(explained["neighbours"]) == 3
    text = deepvoro("explain", file, picture).stdout
    for word in ("bee/2.png", "influence", "s32_r0_f1", "w1_b0_l0.5", "vd", "votes"):
        assert word in text


def test_explanation_tells_the_distance_from_the_unknown(deepvoro, fit, pictures, tmp_path):
    stranger = tmp_path / "stranger.png"
    Image.new("RGB", (45, 50), "white").save(stranger)
    answered = set()
    for file in (fit(), fit("--method", "deepvoro", name="ensemble")):
        for picture in (pictures / "query/bee/1.png", stranger):
            explained = json.loads(deepvoro("explain", file, picture, "--json").stdout)
            [[_, answer]] = answers(deepvoro("predict", file, picture, "--reject"))
            distance, threshold = explained["distance"], explained["threshold"]
            expected = f"distance {distance:.4f}, unknown beyond {threshold:.4f}: predict --reject answers {answer}"
            assert deepvoro("explain", file, picture).stdout.splitlines()[1] == expected
            answered.add(answer)
    assert {"bee", "unknown"} <= answered
    one = fit("--method", "deepvoro", support=only(pictures / "support/bee", tmp_path / "one"), name="one")
    assert deepvoro("explain", one, stranger).stdout.splitlines()[1].endswith("; with one class nothing is unknown")
