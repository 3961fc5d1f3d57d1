"""Looking into a classifier of pictures, testing and changing it."""
import csv
import io
import json
import shutil

import numpy as np
import pytest
from test_classifier import assert_one_line, read

pytest.importorskip("torch", reason="apt-get install python3-torch")
from picture_fixtures import SHOTS, answers, fit, fitted, model, only, pictures  # noqa: E402, F401


def test_a_picture_in_the_place_of_the_classifier(deepvoro, fit, pictures):
    file, picture = fit(), pictures / "query/ant/0.png"
    for command in (("predict", picture, file), ("explain", picture, file), ("test", pictures / "query", file), ("add", "ant", file, picture),
                    ("remove", "ant", file), ("rename", "ant", file, "aunt")):
        assert_one_line(deepvoro(*command), 2, f"which comes first: deepvoro {command[0]} {file} ...")
    for command in (("predict", picture, picture), ("info", picture), ("info", pictures)):
        assert_one_line(deepvoro(*command), 3, f"{command[1]}: is", "not a classifier; 'deepvoro fit' makes one")


def test_features_in_the_place_of_pictures(deepvoro, fit, pictures, tmp_path):
    file = fit()
    before = file.read_bytes()
    np.savez(tmp_path / "features.npz", features=np.zeros((2, 3), np.float32))
    features = tmp_path / "features.npz"
    for command in (("fit", features, "--out", tmp_path / "x.dv"), ("test", file, features), ("add", file, "ant", features)):
        assert_one_line(deepvoro(*command), 2, "is a file of features", f"deepvoro store create STORE --novel {features}")
    assert_one_line(deepvoro("explain", file, features), 2, "has features; explain takes a picture")
    assert file.read_bytes() == before


def test_what_the_classifier_is_written_to(deepvoro, fit, pictures, model, tmp_path):
    file = fit()
    command = ("--backbone", model, "--out")
    assert_one_line(deepvoro("fit", pictures / "support", *command, pictures), 2, "is a folder", f"{pictures}.dv")
    assert_one_line(deepvoro("fit", file, *command, pictures / "support"), 2, "the pictures come first",
                    f"deepvoro fit {pictures / 'support'} --out {file}")
    assert_one_line(deepvoro("fit", tmp_path / "new.dv", *command, pictures / "support"), 2, "the pictures come first")
    assert_one_line(deepvoro("fit", file, *command, tmp_path / "x.dv"), 2, "is a classifier already")
    (tmp_path / "notes.txt").write_text("mine")
    assert_one_line(deepvoro("fit", pictures / "support", *command, tmp_path / "notes.txt"), 2, "is not a classifier", "--force")
    assert (tmp_path / "notes.txt").read_text() == "mine"


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
    assert "3 classes, 7 pictures" in text and "       4  bee\n" in text and "          bee/2.png\n" in text
    assert text.index("left out in turn") < text.index("bee/2.png") < text.index("how it decides\n") < text.index("ridge-vd")
    about = json.loads(deepvoro("info", file, "--pictures", "--json").stdout)
    assert about["method"] == "ridge-vd" and about["decides"] == "ridge regression and class means" and about["dim"] == read(file)[0]["dim"]
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
    assert process.returncode == 0 and process.stdout.startswith("removed class ant with its 1 picture\nremoved 2 pictures\n")
    assert deepvoro("rename", file, "cat", "Felis").returncode == 0
    assert file.read_bytes() == wanted
    process = deepvoro("remove", fit(name="last"), "ant/0.png")
    assert process.stdout.startswith("removed 1 picture\nclass ant has no pictures left and is gone\n")
    for arguments, words in ((("remove", file, "bee/9.png"), ("bee", "9.png")), (("remove", file, "be"), ("did you mean 'bee'",)),
                             (("rename", file, "bee", "Felis"), ("Felis", "already")), (("rename", file, "dog", "cat"), ("dog",)),
                             (("remove", file, "bee", "Felis"), ("no class would be left",)),
                             (("rename", file, "bee", "unknown"), ("unknown",)),
                             (("rename", file, "bee", "Felis/1.png"), ("'Felis/1.png' is a picture of class 'Felis'",))):
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
    process = deepvoro("test", file, tmp_path / "query")
    text = process.stdout
    assert "right: 8 of 9, 88.9 % (56.5 to 98.0" in text and "bee/moved.png was taken for ant" in text
    assert process.stderr.endswith("\nnote: the classifier does not know one class (dog), so its pictures count as strangers\n")


def test_a_test_without_a_known_class_is_told(deepvoro, fit, pictures, tmp_path):
    strange = only(pictures / "query/cat", tmp_path / "strange")
    (strange / "cat").rename(strange / "Cats")
    process = deepvoro("test", fit(), strange)
    assert process.returncode == 0 and "right" not in process.stdout
    assert process.stderr == "note: the classifier knows none of these classes (Cats), so no answer can be right; it knows ant, bee, cat\n"


def test_one_class_of_one_picture_is_told_in_the_singular(deepvoro, fit, pictures, tmp_path):
    one = fit(support=only(pictures / "support/ant", tmp_path / "one"), name="one")
    assert deepvoro("info", one).stdout.startswith(f"{one}: 1 class, 1 picture (1 per class)\n")


def test_a_new_class_of_nearly_a_known_name_is_noted(deepvoro, fit, pictures):
    file = fit()
    for number, (name, alike) in enumerate((("cta", "cat"), ("CAT s", None), ("dolphin", None))):
        process = deepvoro("add", file, name, pictures / f"query/cat/{number}.png")
        assert process.returncode == 0 and f"new class {name} with 1 picture\n" in process.stdout
        assert process.stderr == (f"note: there is a class '{alike}' as well; if that was meant, remove '{name}'\n" if alike else "")


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
