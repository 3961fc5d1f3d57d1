"""Answers of deepvoro fit, predict and explain on pictures."""
import json
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image
from test_classifier import assert_one_line, read, rows_of_csv

torch = pytest.importorskip("torch", reason="apt-get install python3-torch")
from conftest import PROGRAM  # noqa: E402
from picture_fixtures import SHOTS, answers, drawing, fit, fitted, model, only, pictures  # noqa: E402, F401
from test_extract import make_model  # noqa: E402


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


def test_an_archive_is_the_same_as_its_folder(fit, pictures, tmp_path):
    of_folder = fit(name="folder").read_bytes()
    for kind, ending in (("tar", "tar"), ("gztar", "tar.gz"), ("zip", "zip")):
        shutil.make_archive(tmp_path / "support", kind, pictures, "support")
        assert fit(support=tmp_path / f"support.{ending}", name=kind).read_bytes() == of_folder


def test_the_backbone_is_chosen_by_the_pictures(deepvoro, pictures, model, tmp_path):
    environment = {"DEEPVORO_DATA": str(tmp_path / "data")}
    process = deepvoro("fit", pictures / "support", "--out", tmp_path / "a.dv", env=environment)
    assert_one_line(process, 3, "deepvoro backbone install resnet50", "the pictures are photographs", "--backbone quickdraw-conv4")
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
    for i, paper in enumerate(((240, 240, 240), (250, 246, 238))):
        scan = np.asarray(drawing(random), float)[:, :, None] / 255 * paper + random.randint(-3, 4, (40, 40, 1))
        Image.fromarray(np.clip(scan, 0, 255).astype(np.uint8)).save(tmp_path / f"sketches/tree/scan{i}.png")
    process = deepvoro("fit", tmp_path / "sketches", "--out", tmp_path / "scans.dv", env=environment)
    assert "backbone quickdraw-conv4: the pictures are drawings" in process.stdout
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
