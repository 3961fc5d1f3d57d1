"""deepvoro.Classifier gives the files and the answers of the program."""
import inspect
import io
import json
import shutil
import threading

import deepvoro
import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch", reason="apt-get install python3-torch")
from conftest import REPOSITORY  # noqa: E402
from picture_fixtures import fit, fitted, model, pictures  # noqa: E402, F401


@pytest.fixture
def program_of(request):
    """The program, under a name that is not the module's."""
    return request.getfixturevalue("deepvoro")


@pytest.fixture
def file(fit):  # noqa: F811
    return fit()


def queries(folder):
    return sorted((folder / "query").rglob("*.png"))


def answers_of_program(program, file, *arguments):
    process = program("predict", file, *arguments, "--json")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def same(predictions, rows):
    """Bit for bit: the program prints numbers so that they can be read back."""
    assert [p.picture for p in predictions] == [row["file"] for row in rows]
    assert [p.label for p in predictions] == [row["class"] for row in rows]
    assert [p.probabilities for p in predictions] == [row["probabilities"] for row in rows]


def pixels_of(file):
    return np.asarray(Image.open(file).convert("RGB"))


def test_a_file_of_the_program_is_loaded_and_asked(program_of, file, pictures):  # noqa: F811
    rows = answers_of_program(program_of, file, pictures / "query")
    classifier = deepvoro.Classifier.load(file)
    same(classifier.predict([str(file) for file in queries(pictures)]), rows)
    same(classifier.predict(queries(pictures)[0]), rows[:1])
    same(classifier.predict(pictures / "query", threads=1), rows)
    rejected = answers_of_program(program_of, file, pictures / "query", "--reject")
    assert [p.unknown for p in classifier.predict(pictures / "query")] == [row["class"] == "unknown" for row in rejected]


def with_scans(count):
    """A JPEG whose second scan comes again and again."""
    out = io.BytesIO()
    Image.new("RGB", (512, 512), (128, 128, 128)).save(out, "jpeg", progressive=True)
    whole = out.getvalue()
    begin = whole.index(b"\xff\xda", whole.index(b"\xff\xda") + 2)
    end = whole.index(b"\xff\xc4", begin)
    return whole[:end] + count * whole[begin:end] + whole[end:]


def test_pictures_that_ask_for_more_than_their_size_explains_are_read_on_request(file):
    classifier = deepvoro.Classifier.load(file)
    with pytest.warns(UserWarning, match="1 of 1 pictures cannot be read"):
        [refused] = classifier.predict(with_scans(300))
    assert "scans" in refused.error and "`trust_files`" in refused.error
    [answer] = classifier.predict(with_scans(300), trust_files=True)
    [usual] = classifier.predict(with_scans(0))
    assert (answer.error, answer.probabilities) == (None, usual.probabilities)


def test_large_files_are_decoded_as_the_program_does(program_of, pictures, model, tmp_path):  # noqa: F811
    for name in ("ant", "bee"):
        (tmp_path / "support" / name).mkdir(parents=True)
        for file in sorted((pictures / "query" / name).glob("*.png")):
            Image.open(file).resize((320, 288), Image.Resampling.NEAREST).save(tmp_path / "support" / name / f"{file.stem}.jpg")
    picture = tmp_path / "support/bee/0.jpg"
    fast = deepvoro.Classifier.fit(tmp_path / "support", backbone=model, fast_decode=True)
    fast.save(tmp_path / "fast.dv")
    flags = ("--backbone", model, "--fast-decode")
    assert program_of("fit", tmp_path / "support", "--out", tmp_path / "program.dv", *flags).returncode == 0
    assert (tmp_path / "fast.dv").read_bytes() == (tmp_path / "program.dv").read_bytes()
    assert fast.info()["fast_decode"] is True
    same(fast.predict(picture), answers_of_program(program_of, tmp_path / "program.dv", picture))

    usual = deepvoro.Classifier.fit(tmp_path / "support", backbone=model)
    whole, reduced = usual.predict(picture)[0], usual.predict(picture, fast_decode=True)[0]
    assert whole.label == reduced.label and whole.probabilities != reduced.probabilities
    assert usual.predict(picture.read_bytes(), fast_decode=True)[0].probabilities == reduced.probabilities
    assert usual.predict(pixels_of(picture), fast_decode=True)[0].probabilities == whole.probabilities
    assert usual.explain(picture, fast_decode=True).prediction.probabilities == reduced.probabilities
    assert usual.test(tmp_path / "support", fast_decode=True) != usual.test(tmp_path / "support")
    with pytest.raises(ValueError, match="fast_decode"):
        usual.add("cat", picture, fast_decode=True)
    with pytest.raises(ValueError, match="fast_decode"):
        deepvoro.Classifier.fit(deepvoro.FeatureStore(REPOSITORY / "data/quickdraw"), fast_decode=True)


def test_pictures_in_memory_have_the_answers_of_their_files(file, pictures):  # noqa: F811
    classifier = deepvoro.Classifier.load(file)
    for picture in queries(pictures)[::3]:
        [expected] = classifier.predict(picture)
        pixels = pixels_of(picture)
        wide = np.zeros((*pixels.shape[:2], 6), np.uint8)
        wide[:, :, ::2] = pixels
        kinds = [picture.read_bytes(), bytearray(picture.read_bytes()), pixels, wide[:, :, ::2],
                 Image.open(picture).convert("RGB"), ("mine", pixels), ("mine", picture.read_bytes())]
        for answer in classifier.predict(kinds):
            assert (answer.probabilities, answer.influence) == (expected.probabilities, expected.influence)
        assert [a.picture for a in classifier.predict(kinds)][-2:] == ["mine", "mine"]
    # The same picture has the same name whenever it comes.
    names = [answer.picture for answer in classifier.predict([pixels, pixels.copy(), pixels[::-1]])]
    assert names[0] == names[1] != names[2]
    for mode in ("P", "RGBA", "L", "1"):
        image = Image.open(picture).convert(mode)
        shown = classifier.predict(np.asarray(image.convert("RGB")))[0]
        assert classifier.predict(image)[0].influence == shown.influence
    grey = np.arange(2000, dtype=np.uint8).reshape(40, 50)
    assert classifier.predict(grey)[0].influence == classifier.predict(np.dstack([grey] * 3))[0].influence


def test_fitting_gives_the_file_of_the_program(fit, pictures, model, tmp_path):  # noqa: F811
    for views in ("1", "s32_r0_f0,s40_r90_f1"):
        wanted = fit("--views", views, name="wanted").read_bytes()
        classifier = deepvoro.Classifier.fit(pictures / "support", views=views, backbone=model)
        classifier.save(tmp_path / "mine.dv")
        assert (tmp_path / "mine.dv").read_bytes() == wanted
    by_class = {name: sorted((pictures / "support" / name).iterdir()) for name in ("cat", "ant", "bee")}
    classifier = deepvoro.Classifier.fit(by_class, views=["s32_r0_f0", "s40_r90_f1"], backbone=str(model))
    classifier.save(tmp_path / "mine.dv")
    assert (tmp_path / "mine.dv").read_bytes() == wanted
    assert classifier.classes == ["ant", "bee", "cat"]
    assert classifier.pictures == {name: [file.name for file in files] for name, files in sorted(by_class.items())}
    assert classifier.views == ["s32_r0_f0", "s40_r90_f1"] and classifier.backbone == str(model)
    assert classifier.method == "ridge-vd" and classifier.members == []
    assert classifier.temperature > 0 and classifier.threshold > 0


def test_adding_and_removing_are_those_of_the_program(program_of, fit, pictures, tmp_path):  # noqa: F811
    file = fit()
    before = file.read_bytes()
    classifier = deepvoro.Classifier.load(file)
    assert classifier.add("dog", pictures / "query/ant") is classifier
    process = program_of("add", file, "dog", pictures / "query/ant")
    assert process.returncode == 0, process.stderr
    classifier.save(tmp_path / "mine.dv")
    assert (tmp_path / "mine.dv").read_bytes() == file.read_bytes() != before
    classifier.rename("dog", "wolf").rename("wolf", "dog").remove("dog").save(tmp_path / "mine.dv")
    assert (tmp_path / "mine.dv").read_bytes() == before


def test_pictures_in_memory_can_come_at_once_or_one_by_one(model, pictures, tmp_path):  # noqa: F811
    arrays = {name: [pixels_of(file) for file in sorted((pictures / "query" / name).iterdir())] for name in ("ant", "bee")}
    at_once = deepvoro.Classifier.fit(arrays, views=1, backbone=model)
    one_by_one = deepvoro.Classifier.fit({"bee": arrays["bee"][2]}, views=1, backbone=model)
    one_by_one.add("ant", arrays["ant"][::-1]).add("bee", arrays["bee"][:2])
    at_once.save(tmp_path / "a.dv")
    one_by_one.save(tmp_path / "b.dv")
    assert (tmp_path / "a.dv").read_bytes() == (tmp_path / "b.dv").read_bytes()
    one_by_one.add("bee", arrays["bee"][0])  # again
    with pytest.raises(ValueError, match="twice"):
        one_by_one.add("bee", [("mine", arrays["bee"][0]), ("mine", arrays["bee"][1])])
    one_by_one.save(tmp_path / "b.dv")
    assert (tmp_path / "a.dv").read_bytes() == (tmp_path / "b.dv").read_bytes()


def test_explanations_are_those_of_the_program(program_of, file, pictures):  # noqa: F811
    picture = pictures / "query/bee/1.png"
    explained = json.loads(program_of("explain", file, picture, "--json", "--neighbours", 3).stdout)
    mine = deepvoro.Classifier.load(file).explain(picture, neighbours=3)
    assert mine.prediction.label == explained["class"] and mine.prediction.unknown == explained["unknown"]
    assert mine.prediction.probabilities == explained["probabilities"]
    assert mine.prediction.influence == explained["influence"]
    for level in ("views", "transformations", "geometries"):
        assert [vars(part) for part in getattr(mine, level)] == explained[level]
    assert [(n.label, n.name, n.distance) for n in mine.neighbours] == [
        (n["class"], n["name"], n["distance"]) for n in explained["neighbours"]]
    with pytest.raises(ValueError, match="one picture, not 9"):
        deepvoro.Classifier.load(file).explain(pictures / "query")


def test_answers_are_told_as_they_are_found(file, pictures):  # noqa: F811
    classifier = deepvoro.Classifier.load(file)
    expected = classifier.predict(pictures / "query")
    told = []
    assert classifier.predict(pictures / "query", told.append) == []
    assert told == expected
    # Whoever is told may ask again, and may stop it.
    inner = []
    classifier.predict(queries(pictures)[:2], lambda answer: inner.extend(classifier.predict(answer.picture)))
    assert inner == expected[:2]

    class Enough(Exception):
        pass

    def stop(answer):
        raise Enough

    with pytest.raises(Enough):
        classifier.predict(pictures / "query", stop)
    assert classifier.predict(queries(pictures)[0]) == expected[:1]


def test_more_pictures_than_are_looked_at_at_once(file, pictures):  # noqa: F811
    classifier = deepvoro.Classifier.load(file)
    picture = queries(pictures)[4]
    [expected] = classifier.predict(picture)
    answers = classifier.predict([("x", picture.read_bytes())] * 140, threads=1)
    assert len(answers) == 140 and all(answer.influence == expected.influence for answer in answers)


def test_threads_of_python_share_a_classifier(file, pictures):  # noqa: F811
    classifier = deepvoro.Classifier.load(file)
    expected = classifier.predict(pictures / "query")
    found = [None] * 4

    def ask(i):
        found[i] = classifier.predict(pictures / "query")

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * len(found)


def test_bad_pictures_have_answers_that_say_why(file, pictures, tmp_path):  # noqa: F811
    classifier = deepvoro.Classifier.load(file)
    good = queries(pictures)[0]
    [expected] = classifier.predict(good)
    (tmp_path / "bad.png").write_bytes(b"no picture")
    bad, missing = tmp_path / "bad.png", tmp_path / "missing.png"
    for wrong, reason in ((bad, "is not a picture of a known kind"), (b"no picture", "is not a picture of a known kind"),
                          (missing, "there is no such file")):
        with pytest.warns(UserWarning, match="2 of 3 pictures cannot be read"):
            answers = classifier.predict([wrong, good, wrong])
        assert answers[1] == expected and answers[1].error is None
        for answer in answers[::2]:
            assert answer.error.startswith(reason) and answer.label is None and answer.nearest is None
            assert answer.probabilities == {} and np.isnan(answer.probability) and reason in repr(answer)
        told = []
        with pytest.warns(UserWarning, match="1 of 2"):
            assert classifier.predict([good, wrong], told.append) == []
        assert [answer.error is None for answer in told] == [True, False]
        with pytest.warns(UserWarning, match=f"skipped .*{reason}"):
            assert classifier.predict([wrong, good, wrong], skip_bad=True) == [expected]
        with pytest.raises(ValueError, match="none of the pictures"):
            classifier.predict([wrong], skip_bad=True)
    with pytest.warns(UserWarning, match="1 of 1"):
        assert classifier.predict(missing)[0].picture == str(missing)
    assert classifier.predict([]) == []
    with pytest.raises(deepvoro.Error, match="bad.png") as raised:
        classifier.add("ant", bad)
    assert raised.value.code == "bad_picture"


def test_what_may_not_be_meant_is_warned_of(model, pictures, tmp_path):  # noqa: F811
    nested = tmp_path / "nested"
    shutil.copytree(pictures / "support", nested / "home")
    with pytest.warns(UserWarning, match="class 'home' has pictures in folders within its own .*`leaves`"):
        classifier = deepvoro.Classifier.fit(nested, views=1, backbone=model)
    assert classifier.classes == ["home"]
    assert deepvoro.Classifier.fit(nested, leaves=True, views=1, backbone=model).classes == ["ant", "bee", "cat"]
    with pytest.warns(UserWarning, match="from 3 folders within"):
        classifier.add("away", pictures / "query")


def test_looking_into_a_classifier_and_testing_it(program_of, file, pictures):  # noqa: F811
    classifier = deepvoro.Classifier.load(file)
    assert classifier.info() == json.loads(program_of("info", file, "--pictures", "--json").stdout)
    assert classifier.test(pictures / "query") == json.loads(program_of("test", file, pictures / "query", "--json").stdout)


def test_removing_and_renaming(file, tmp_path):
    classifier = deepvoro.Classifier.load(file)
    assert classifier.remove("ant", "bee/1.png").pictures == {"bee": ["0.png", "2.png", "3.png"], "cat": ["0.png", "1.png"]}
    with pytest.raises(ValueError, match="no class '1.png'"):
        classifier.remove("bee", "1.png")
    with pytest.raises(ValueError, match="'bee/2.png' is a picture of class 'bee'"):
        classifier.rename("cat", "bee/2.png")
    assert classifier.rename("cat", "Felis/catus").remove("Felis/catus/0.png").pictures["Felis/catus"] == ["1.png"]


def test_saving_replaces_nothing_but_classifiers(file, tmp_path):
    classifier = deepvoro.Classifier.load(file)
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    with pytest.raises(ValueError, match="is not a classifier; force=True"):
        classifier.save(mine)
    assert mine.read_text() == "mine"
    classifier.save(mine, force=True)
    classifier.save(mine)
    assert mine.read_bytes() == file.read_bytes()


@pytest.mark.parametrize(("wrong", "error", "word"), [
    (np.zeros((8, 8, 3)), ValueError, "uint8"),
    (np.zeros((8, 8, 4), np.uint8), ValueError, "height, width, 3"),
    (np.zeros((0, 8, 3), np.uint8), ValueError, "0 pixels"),
    (3, TypeError, "int is not a picture"),
    ([None], TypeError, "NoneType is not a picture"),
])
def test_what_is_no_picture_is_told(file, wrong, error, word):
    with pytest.raises(error, match=word):
        deepvoro.Classifier.load(file).predict(wrong)


def test_wrong_arguments_are_told(file, pictures, model, tmp_path):  # noqa: F811
    with pytest.raises(TypeError, match="Classifier.fit or Classifier.load"):
        deepvoro.Classifier("birds.dv")
    with pytest.raises(ValueError, match="1, 4, 8, 16 or 64"):
        deepvoro.Classifier.fit(pictures / "support", views=3, backbone=model)
    with pytest.raises(ValueError, match="No such file"):
        deepvoro.Classifier.load(tmp_path / "absent.dv")
    classifier = deepvoro.Classifier.load(file)
    with pytest.raises(ValueError, match="no class 'emu'"):
        classifier.remove("emu")
    with pytest.raises(ValueError, match="no pictures to learn from"):
        deepvoro.Classifier.fit({}, backbone=model)
    other = tmp_path / "other.safetensors"
    shutil.copy(model, other)
    other.write_bytes(other.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.raises(ValueError, match="is not the one"):
        classifier.predict(queries(pictures)[0], backbone=other)


def test_feature_stores_are_taken_too(program_of, file, pictures, model, tmp_path):  # noqa: F811
    flags = ("--model", model, "--views", "4", "--out", tmp_path / "store")
    assert program_of("extract", pictures / "support", *flags).returncode == 0
    wanted = tmp_path / "wanted.dv"
    assert program_of("fit", tmp_path / "store", "--out", wanted).returncode == 0
    for support in (tmp_path / "store", deepvoro.FeatureStore(tmp_path / "store")):
        classifier = deepvoro.Classifier.fit(support)
        classifier.save(tmp_path / "mine.dv")
        assert (tmp_path / "mine.dv").read_bytes() == wanted.read_bytes()
    assert classifier.backbone is None
    same(classifier.predict(tmp_path / "store"), answers_of_program(program_of, wanted, tmp_path / "store"))
    told = []
    assert classifier.predict(tmp_path / "store", told.append, split="novel") == []
    assert told == classifier.predict(tmp_path / "store")
    without = classifier.remove("bee")
    assert without.add("bee", tmp_path / "store").classes == ["ant", "bee", "cat"]
    classifier.save(tmp_path / "mine.dv")
    assert (tmp_path / "mine.dv").read_bytes() == wanted.read_bytes()
    with pytest.raises(ValueError, match="already has features"):
        deepvoro.Classifier.fit(tmp_path / "store", backbone=model)
    for use in (deepvoro.Classifier.fit, classifier.predict, classifier.test, lambda store, **options: classifier.add("bee", store, **options)):
        with pytest.raises(ValueError, match="fast_decode: a feature store already has features"):
            use(tmp_path / "store", fast_decode=True)
    with pytest.raises(ValueError, match="backbone"):
        classifier.predict(queries(pictures)[0])
    assert classifier.predict(queries(pictures)[0], backbone=model)[0].label == "ant"


def test_the_network_warns_of_what_it_has_never_seen(pictures):  # noqa: F811
    with pytest.warns(UserWarning, match="7 of 7 pictures have colours"):
        classifier = deepvoro.Classifier.fit(pictures / "support", backbone="quickdraw-conv4", views=1)
    with pytest.warns(UserWarning, match="1 of 1 pictures have colours"):
        classifier.predict(queries(pictures)[0])


def test_help_reads_well():
    for name in ("fit", "load", "save", "add", "remove", "rename", "predict", "test", "info", "explain"):
        method = getattr(deepvoro.Classifier, name)
        assert inspect.getdoc(method) and inspect.getdoc(method)[0].isupper(), name
        hints = [p.annotation for n, p in inspect.signature(method).parameters.items() if n not in ("self", "cls")]
        assert inspect.Signature.empty not in [*hints, inspect.signature(method).return_annotation], name
