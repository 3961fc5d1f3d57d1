"""What people bring: damaged and missing files, folders that are not what they seem, names."""
import csv
import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import zipfile

import pytest
from terminal import run_on_terminal
from test_classifier import assert_one_line, read

pytest.importorskip("torch", reason="apt-get install python3-torch")
from conftest import PROGRAM  # noqa: E402
from picture_fixtures import SHOTS, answers, fit, fitted, model, only, pictures  # noqa: E402, F401


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
        assert row[1:-1] == [""] * (len(header) - 2) and row[-1].startswith("is not a picture of a known kind")
    assert [",".join(row) for row in rows[1::2]] == wanted[1:]
    listed = json.loads(deepvoro("predict", file, text, query, "--json").stdout)
    assert set(listed[0]) == {"file", "error"} and listed[1]["class"] == "ant"
    process = deepvoro("predict", file, text)
    assert_rows_are_missing(process, "1 of 1 picture cannot be read", "the row with an error says")
    assert len(process.stdout.splitlines()) == 2
    assert len(json.loads(deepvoro("predict", file, text, "--json").stdout)) == 1
    process = deepvoro("predict", file, text, query, "--skip-bad")
    assert "skipped" in process.stderr and answers(process) == [[str(query), "ant"]]
    process = deepvoro("predict", file, tmp_path / "nowhere.jpg", query)
    assert_rows_are_missing(process, "1 of 2 pictures")
    _, missing, answered = csv.reader(io.StringIO(process.stdout))
    assert missing[0].endswith("nowhere.jpg") and missing[-1].startswith("there is no such file") and answered[1] == "ant"
    process = deepvoro("predict", file, tmp_path / "nowhere.jpg", query, "--skip-bad")
    assert "skipped" in process.stderr and answers(process) == [[str(query), "ant"]]


def test_the_list_ends_before_anything_else_is_said(fit, pictures, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"no picture")
    command = [PROGRAM, "predict", fit(), pictures / "query/ant/0.png", tmp_path / "bad.png", "--json", "--skip-bad"]
    shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8").stdout
    assert "\n]\nskipped " in shown


def test_pictures_of_an_archive_are_predicted(deepvoro, fit, pictures, tmp_path):
    file = fit()
    with zipfile.ZipFile(tmp_path / "query.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (pictures / "query").rglob("*.png"):
            archive.write(path, path.relative_to(pictures))
        archive.writestr("loose.png", (pictures / "query/cat/0.png").read_bytes())
        archive.writestr("query/bad.png", b"no picture")
        archive.writestr("__MACOSX/query/._0.png", b"no picture")
    process = deepvoro("predict", file, tmp_path / "query.zip")
    assert_rows_are_missing(process, "1 of 11 pictures")
    rows = [row[:2] + row[-1:] for row in csv.reader(io.StringIO(process.stdout))][1:]
    of_folder = answers(deepvoro("predict", file, pictures / "query"))
    inside = f"{tmp_path}/query.zip"
    assert rows[0] == [f"{inside}/loose.png", "cat", ""] and rows[4][:2] == [f"{inside}/query/bad.png", ""]
    assert rows[4][2].startswith("is not a picture")
    (tmp_path / "damaged.zip").write_bytes((tmp_path / "query.zip").read_bytes()[:5000])
    process = deepvoro("predict", file, tmp_path / "damaged.zip", pictures / "query/ant/0.png")
    assert_rows_are_missing(process, "1 of 2 pictures")
    assert "damaged.zip,,,,,," in process.stdout
    assert [row[:2] for row in rows[1:4] + rows[5:]] == [[name.replace(str(pictures), inside), label] for name, label in of_folder]


def test_what_systems_put_beside_pictures_is_passed_over(deepvoro, fit, pictures, model, tmp_path):
    folder = tmp_path / "support"
    shutil.copytree(pictures / "support", folder)
    for path in ("__MACOSX/ant/0.png", "bee/.thumbnails/0.png", "bee/__MACOSX/1.png", "bee/._2.png"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"no picture")
    assert fit(support=folder, name="beside").read_bytes() == fit(name="without").read_bytes()
    assert len(answers(deepvoro("predict", fit(), folder))) == sum(SHOTS.values())


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


def test_folders_that_are_not_what_they_seem_are_told(deepvoro, fit, pictures, model, tmp_path):
    nested = tmp_path / "nested"
    shutil.copytree(pictures / "support", nested / "home")
    shutil.copytree(pictures / "query", nested / "away")
    shutil.copy(pictures / "query/ant/0.png", nested / "loose.png")
    shutil.copy(pictures / "support/ant/0.png", nested / "home/bee/again.png")
    shutil.copy(pictures / "support/bee/0.png", nested / "home/bee/copy.png")
    command = ("fit", nested, "--backbone", model, "--force", "--out", tmp_path / "nested.dv")
    process = deepvoro(*command)
    assert process.returncode == 0, process.stderr
    notes = process.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes) and len(notes) == 3
    assert "class 'away'" in notes[0] and "(ant, bee, cat)" in notes[0] and "--leaves" in notes[0]
    assert "and so has 1 other class;" in notes[0]
    assert "1 picture beside" in notes[1] and "loose.png" in notes[1]
    assert "home/ant/0.png and home/bee/again.png are the same picture, and so is 1 other pair; it counts twice" in notes[2]
    process = deepvoro(*command, "--leaves")
    assert process.returncode == 0, process.stderr
    assert [c["name"] for c in read(tmp_path / "nested.dv")[0]["classes"]] == [
        f"{part}/{name}" for part in ("away", "home") for name in SHOTS]
    assert "home/ant/0.png and home/bee/again.png are the same picture; remove it from the wrong class" in process.stderr
    assert "home/bee/0.png and home/bee/copy.png are the same picture; it counts twice" in process.stderr
    assert "named by their paths, such as 'away/ant'" in process.stderr
    shutil.rmtree(nested / "away")
    assert deepvoro(*command, "--leaves").returncode == 0
    assert [c["name"] for c in read(tmp_path / "nested.dv")[0]["classes"]] == list(SHOTS)
    (nested / "home/all").symlink_to(nested / "home")
    process = deepvoro("fit", nested / "home", "--backbone", model, "--out", tmp_path / "link.dv")
    assert_one_line(process, 3, "home/all", "is a link to a folder that holds it")


def test_a_training_and_a_test_set_are_no_classes(deepvoro, pictures, model, tmp_path):
    birds = tmp_path / "birds"
    shutil.copytree(pictures / "support", birds / "Train")
    shutil.copytree(pictures / "query", birds / "test")
    command = ("--backbone", model, "--out", tmp_path / "birds.dv")
    for flags in ((), ("--leaves",)):
        process = deepvoro("fit", birds, *command, *flags)
        assert_one_line(process, 3, "the classes (ant, bee, cat) are in Train, test", f"give {birds}/Train")
    shutil.make_archive(tmp_path / "birds", "zip", birds)
    assert_one_line(deepvoro("fit", tmp_path / "birds.zip", *command), 3, "unpack it and give the folder Train")
    shutil.rmtree(birds / "test")
    assert_one_line(deepvoro("fit", birds, *command), 3, "which is no class", f"give {birds}/Train")
    assert not (tmp_path / "birds.dv").exists()
    assert deepvoro("fit", birds, *command, "--leaves").returncode == 0
    assert [c["name"] for c in read(tmp_path / "birds.dv")[0]["classes"]] == list(SHOTS)
    # A picture in them, and they are classes.
    shutil.copy(pictures / "query/ant/0.png", birds / "Train/0.png")
    shutil.copytree(pictures / "query/bee", birds / "test")
    assert deepvoro("fit", birds, *command, "--force").returncode == 0


def test_a_folder_of_classes_that_is_added_as_one_is_told(deepvoro, fit, pictures):
    process = deepvoro("add", fit(), "dog", pictures / "query")
    assert process.returncode == 0
    assert process.stderr == "note: pictures come from 3 folders within the one that was given (ant, bee, cat); all of them count as 'dog'\n"


def test_a_copy_under_another_name_is_told(deepvoro, fit, pictures, tmp_path):
    copy = shutil.copy(pictures / "support/bee/1.png", tmp_path / "copy.png")
    file = fit()
    process = deepvoro("add", file, "bee", copy)
    assert process.stderr == "note: copy.png is the same picture as bee/1.png; it counts twice unless you remove one\n"
    assert "added 1 picture to class bee" in process.stdout
    process = deepvoro("add", file, "cat", copy)
    assert process.stderr.startswith("note: copy.png is the same picture as bee/1.png; remove it from the wrong class\n")


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


def test_loading_is_shown_and_can_be_stopped(fit, pictures, model, tmp_path):
    file = fit()
    before = file.read_bytes()
    query = pictures / "query/ant/2.png"
    out = tmp_path / "stopped.dv"
    commands = [("fit", pictures / "support", "--backbone", model, "--views", 64, "--out", out), ("predict", file, query),
                ("add", file, "dog", query), ("explain", file, query)]
    # A small network is loaded sooner than anybody presses a key.
    held = {"LD_PRELOAD": os.environ["DEEPVORO_KILL_LIBRARY"], "KILL_FOLDER": str(model), "KILL_AT": "0", "KILL_WAITS": "1"}
    for command in commands:
        code, shown = run_on_terminal([PROGRAM, *command], ctrl_c_at=f"loading {model.name} ...", **held)
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
    (clash / "wasp/notes.txt").write_text("none")
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
    assert process.returncode == 0 and process.stderr == "" and "had these pictures already; nothing changed" in process.stdout
    assert file.read_bytes() == before
    # Below a folder the path is the name.
    assert deepvoro("add", file, "bee", pictures / "query").returncode == 0
