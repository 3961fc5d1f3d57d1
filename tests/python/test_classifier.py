"""deepvoro fit, predict, add, remove, explain on feature stores, against NumPy; numbers of the method deepvoro."""
import csv
import hashlib
import io
import json
import shutil
import struct

import numpy as np
import pytest
import safetensors
from scipy.optimize import minimize_scalar
from stores import write_store

EIGHT = [(0, 0.5), (0, 0.75), (0, 1)] + [(0.02 * i, 0) for i in range(1, 6)]
RELATIVE = 1e-5


def read(path):
    """What stands in a classifier file: description and features by view, float64."""
    tensors, metadata = safetensors.read(path)
    return json.loads(metadata["deepvoro"]), {view: rows.astype(np.float64) for view, rows in tensors.items()}


def transformed(rows, b, ladder):
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(norms > 0, norms, 1)
    return np.log(unit + b) if ladder == 0 else (unit + b) ** ladder


def mean_influence(support, labels, queries, left_out=False):
    """Minus the mean distance over the members; `left_out`: queries are the support, each left out of its class."""
    classes = labels.max() + 1
    total = 0
    for view, rows in support.items():
        for b, ladder in EIGHT:
            points, asked = transformed(rows, b, ladder), transformed(queries[view], b, ladder)
            means = np.stack([points[labels == k].mean(axis=0) for k in range(classes)])
            distances = np.linalg.norm(asked[:, None] - means, axis=2)
            for i in range(len(asked)) if left_out else ():
                others = (labels == labels[i]) & (np.arange(len(labels)) != i)
                if others.any():
                    distances[i, labels[i]] = np.linalg.norm(asked[i] - points[others].mean(axis=0))
            total = total - distances
    return total / (len(support) * len(EIGHT))


def log_probabilities(influence, temperature):
    logits = influence / temperature
    logits = logits - logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def expected_calibration(support, labels):
    """Temperature, and thresholds of influence, by the definitions in docs/METHODS.md."""
    every = np.arange(len(labels))
    own = np.eye(labels.max() + 1, dtype=bool)[labels]
    strangers = np.where(own, np.nan, mean_influence(support, labels, support))
    prior = -0.08 * np.nanmean(strangers)
    nearest_strangers = np.nanmax(strangers, axis=1).mean()
    several = np.bincount(labels)[labels] > 1
    if not several.any():
        return prior, [share * nearest_strangers for share in (0.95, 0.9, 0.85)], None
    influence = mean_influence(support, labels, support, left_out=True)[several]

    def cost(log_temperature):
        likelihood = log_probabilities(influence, np.exp(log_temperature))[every[: several.sum()], labels[several]]
        return -likelihood.sum() + 4 * (log_temperature - np.log(prior)) ** 2

    best = minimize_scalar(cost, bounds=(np.log(prior / 100), np.log(prior * 100)), method="bounded",
                           options={"xatol": 1e-10})
    own = influence.max(axis=1).mean()
    thresholds = [own + (nearest_strangers - own) * place for place in (0.75, 0.5, 0.25)]
    return np.exp(best.x), thresholds, (influence.argmax(axis=1) == labels[several]).sum()


def labels_of(description):
    return np.repeat(np.arange(len(description["classes"])), [len(c["samples"]) for c in description["classes"]])


def rows_of_csv(text):
    head, *rows = csv.reader(io.StringIO(text))
    assert head[:3] == ["file", "class", "nearest"] and all(row[1] in (row[2], "unknown") for row in rows)
    assert head[-1] == "error" and not any(row[-1] for row in rows)
    return head[:-1], [row[:2] for row in rows], np.array([row[3:-1] for row in rows], dtype=float)


class Features:
    """Random features of some classes with their number of samples, in two views."""

    def __init__(self, shots, dim=24, dtype=np.float32, seed=0, lowest=0.0):
        random = np.random.RandomState(seed)
        self.classes = list(shots)
        self.labels = np.repeat(np.arange(len(shots)), list(shots.values()))
        centers = random.gamma(0.5, size=(len(shots), dim)) + lowest
        rows = np.maximum(centers[self.labels] + random.normal(scale=0.5, size=(len(self.labels), dim)), lowest)
        self.views = {
            f"s84_r0_f{flip}": (rows + random.gamma(0.2, 0.2, size=rows.shape)).astype(dtype) for flip in (0, 1)
        }

    def write(self, folder, kept=slice(None)):
        labels = self.labels[kept]
        present = np.unique(labels)
        views = {view: rows[kept] for view, rows in self.views.items()}
        names = [self.classes[k] for k in present]
        return write_store(folder, {"novel": (np.searchsorted(present, labels), views)}, {"novel": names})


UNEQUAL = {"wren": 4, "owl": 1, "jay": 7, "emu": 2}


@pytest.fixture
def fit(deepvoro, tmp_path):
    def run(features, name="fitted", kept=slice(None), method="deepvoro"):
        store, file = features.write(tmp_path / f"{name}-store", kept), tmp_path / f"{name}.dv"
        process = deepvoro("fit", store, "--method", method, "--force", "--out", file)
        assert process.returncode == 0, process.stderr
        return file, process.stdout

    return run


@pytest.fixture
def predict(deepvoro):
    def run(*arguments):
        process = deepvoro("predict", *arguments)
        assert process.returncode == 0, process.stderr
        return process.stdout

    return run


@pytest.fixture
def queries(tmp_path):
    features = Features({"any": 30, "other": 20}, seed=5)
    return features, features.write(tmp_path / "queries")


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_probabilities_agree_with_numpy(fit, predict, queries, dtype):
    file, _ = fit(Features(UNEQUAL, dtype=dtype))
    description, support = read(file)
    assert {rows.shape for rows in support.values()} == {(14, 24)}
    assert [(c["name"], len(c["samples"])) for c in description["classes"]] == sorted(UNEQUAL.items())
    influence = mean_influence(support, labels_of(description), queries[0].views)
    calibration = description["calibration"]
    expected = np.exp(log_probabilities(influence, calibration["temperature"]))
    head, names, actual = rows_of_csv(predict(file, queries[1]))
    assert head[3:] == sorted(UNEQUAL)
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(actual.sum(axis=1), 1, rtol=5e-6)  # six digits each
    clear = np.diff(np.sort(expected, axis=1)[:, -2:], axis=1)[:, 0] > 1e-4
    answers = np.array([name for _, name in names])
    np.testing.assert_array_equal(answers[clear], np.array(sorted(UNEQUAL))[expected.argmax(axis=1)][clear])
    assert [name for name, _ in names] == [f"novel/{i}" for i in range(50)]
    # Unknown is what is farther from every class than the threshold.
    _, rejected, _ = rows_of_csv(predict(file, queries[1], "--reject"))
    far = -influence.max(axis=1) >= calibration["thresholds"][1]
    near_threshold = abs(-influence.max(axis=1) / calibration["thresholds"][1] - 1) < RELATIVE
    assert 0 < far.sum() < 50
    for row, name, answer, skip in zip(rejected, answers, far, near_threshold):
        assert skip or row[1] == ("unknown" if answer else name)


def test_features_need_neither_labels_nor_a_store(deepvoro, fit, predict, queries, tmp_path):
    file, _ = fit(Features(UNEQUAL))
    views = queries[0].views
    _, wanted, probabilities = rows_of_csv(predict(file, queries[1]))
    np.save(tmp_path / "side.npy", np.hstack(list(views.values())))
    np.savez(tmp_path / "side.npz", features=np.hstack(list(views.values())))
    np.savez(tmp_path / "each.npz", **views)
    for name in ("side.npy", "side.npz", "each.npz"):
        _, found, same = rows_of_csv(predict(file, tmp_path / name))
        assert found == [[f"{tmp_path / name}/{i}", answer] for i, (_, answer) in enumerate(wanted)]
        np.testing.assert_array_equal(same, probabilities)
    np.save(tmp_path / "narrow.npy", views["s84_r0_f0"])
    assert_one_line(deepvoro("predict", file, tmp_path / "narrow.npy"), 3, "narrow.npy", "24 features", "needs 48")
    np.savez(tmp_path / "half.npz", s84_r0_f0=views["s84_r0_f0"])
    assert_one_line(deepvoro("predict", file, tmp_path / "half.npz"), 3, "half.npz", "s84_r0_f1", "it has: s84_r0_f0")
    np.savez(tmp_path / "short.npz", s84_r0_f0=views["s84_r0_f0"], s84_r0_f1=views["s84_r0_f1"][1:])
    assert_one_line(deepvoro("predict", file, tmp_path / "short.npz"), 3, "short.npz", "number of rows")
    assert_one_line(deepvoro("predict", file, tmp_path / "absent.npy"), 3, "absent.npy")


def test_json_says_the_same_as_csv(fit, predict, queries):
    file, _ = fit(Features(UNEQUAL))
    rows = json.loads(predict(file, queries[1], "--json", "--reject"))
    head, names, probabilities = rows_of_csv(predict(file, queries[1], "--csv", "--reject"))
    assert [[row["file"], row["class"]] for row in rows] == names
    assert [list(row["probabilities"]) for row in rows] == [head[3:]] * len(rows)
    rounded = [[float(f"{value:.6g}") for value in row["probabilities"].values()] for row in rows]
    np.testing.assert_array_equal(rounded, probabilities)
    assert {row["nearest"] for row in rows if row["class"] == "unknown"} <= set(UNEQUAL)


def test_names_of_any_characters_are_fields_of_a_table(deepvoro, tmp_path):
    names = ["heron, grey", "plain", 'the "great" auk']
    folder = Features(dict.fromkeys(names, 2)).write(tmp_path / "store")
    assert deepvoro("fit", folder, "--out", tmp_path / "odd.dv").returncode == 0
    head, answers, _ = rows_of_csv(deepvoro("predict", tmp_path / "odd.dv", folder).stdout)
    assert head[3:] == names
    assert {name for _, name in answers} == set(names)


@pytest.mark.parametrize(
    "shots", [UNEQUAL, {"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2}, {"a": 30, "b": 1}, {f"c{i}": 5 for i in range(12)}]
)
def test_temperature_and_threshold_agree_with_scipy(fit, shots):
    file, text = fit(Features(shots, seed=3))
    description, support = read(file)
    labels = labels_of(description)
    temperature, thresholds, correct = expected_calibration(support, labels)
    calibration = description["calibration"]
    assert abs(calibration["temperature"] / temperature - 1) < 1e-4
    np.testing.assert_allclose(calibration["thresholds"], -np.array(thresholds), rtol=1e-4)
    several = sum(count for count in shots.values() if count > 1)
    assert sum(answer is not None for answer in calibration["left_out"]) == several
    assert sum(answer == label for answer, label in zip(calibration["left_out"], labels)) == (correct or 0)
    assert f"temperature {temperature:.3g}"[:-1] in text and f"{-thresholds[1]:.3g}"[:-1] in text
    assert f"left out in turn, {correct} of {several} " in text if several else "none could be left out" in text


def test_cub_features_agree_with_numpy(deepvoro, predict, cub_store, tmp_path):
    description = json.loads((cub_store / "store.json").read_text())
    views = description["views"][:2]
    labels = np.load(cub_store / "novel/labels.npy")
    rows = {view: np.load(cub_store / f"novel/{view}.npy") for view in views}
    numbers = np.array([(labels[:i] == labels[i]).sum() for i in range(len(labels))])
    few = labels < 10
    for name, kept in (("support", few & (numbers < 5)), ("query", few & (numbers >= 5) & (numbers < 15))):
        write_store(tmp_path / name, {"novel": (labels[kept], {view: rows[view][kept] for view in views})})
    file = tmp_path / "birds.dv"
    process = deepvoro("fit", tmp_path / "support", "--method", "deepvoro", "--out", file)
    assert process.returncode == 0, process.stderr
    stored, support = read(file)
    truth = labels[few & (numbers >= 5) & (numbers < 15)]
    temperature, thresholds, correct = expected_calibration(support, labels_of(stored))
    assert abs(stored["calibration"]["temperature"] / temperature - 1) < 1e-4
    np.testing.assert_allclose(stored["calibration"]["thresholds"], -np.array(thresholds), rtol=1e-4)
    assert sum(answer == label for answer, label in zip(stored["calibration"]["left_out"], labels_of(stored))) == correct
    asked = {view: np.load(tmp_path / f"query/novel/{view}.npy").astype(np.float64) for view in views}
    expected = np.exp(log_probabilities(mean_influence(support, labels_of(stored), asked), temperature))
    _, _, actual = rows_of_csv(predict(file, tmp_path / "query"))
    np.testing.assert_allclose(actual, expected, rtol=2e-3, atol=1e-6)
    assert (actual.argmax(axis=1) == truth).mean() > 0.7


def test_adding_and_removing_give_the_bytes_of_fitting_at_once(deepvoro, fit):
    features = Features(UNEQUAL, seed=2)
    whole, _ = fit(features, "whole")
    jays = np.flatnonzero(features.labels == features.classes.index("jay"))
    without_owl = features.labels != features.classes.index("owl")
    late = np.isin(np.arange(len(features.labels)), jays[3:])
    grown, _ = fit(features, "grown", np.flatnonzero(without_owl & ~late))
    owls = features.write(grown.parent / "owls", np.flatnonzero(~without_owl))
    more = features.write(grown.parent / "more", np.flatnonzero(late))
    for class_name, source, told in (("owl", owls, "new class owl with 1 picture\n"), ("jay", more, "added 4 pictures to class jay\n")):
        process = deepvoro("add", grown, class_name, source)
        assert process.returncode == 0, process.stderr
        assert told in process.stdout
    assert grown.read_bytes() == whole.read_bytes()

    rest, _ = fit(features, "rest", np.flatnonzero(without_owl))
    process = deepvoro("remove", whole, "owl")
    assert process.returncode == 0, process.stderr
    assert "removed class owl with its 1 picture\n" in process.stdout
    assert whole.read_bytes() == rest.read_bytes()


@pytest.mark.parametrize("method", ["ridge-vd", "deepvoro"])
def test_threads_and_instruction_sets_do_not_matter(deepvoro, predict, queries, tmp_path, method):
    store = Features(UNEQUAL).write(tmp_path / "support")
    answers = set()
    for i, (flags, isa) in enumerate([(("--threads", 1), "generic"), (("--threads", 3), "avx2")]):
        file = tmp_path / f"{i}.dv"
        process = deepvoro("fit", store, "--method", method, *flags, "--out", file, env={"DEEPVORO_ISA": isa})
        if "lacks" in process.stderr:
            pytest.skip(process.stderr)
        assert process.returncode == 0, process.stderr
        answers.add((file.read_bytes(), predict(file, queries[1], *flags)))
    assert len(answers) == 1


@pytest.mark.parametrize("method", ["ridge-vd", "deepvoro"])
def test_features_with_negative_values_are_transformed_with_their_sign(fit, predict, tmp_path, method):
    features = Features(UNEQUAL, lowest=-1.0)
    file, _ = fit(features, method=method)
    _, names, _ = rows_of_csv(predict(file, features.write(tmp_path / "same")))
    assert np.mean([name == features.classes[k] for (_, name), k in zip(names, features.labels)]) > 0.8


def test_members_of_a_pool_file_take_part(deepvoro, predict, queries, tmp_path, write_pool):
    store = Features(UNEQUAL).write(tmp_path / "support")
    pool = write_pool([{"view": "s84_r0_f1", "w": 1, "b": 0, "lambda": 1, "geometry": "vd"}])
    process = deepvoro("fit", store, "--pool", pool, "--out", tmp_path / "one.dv")
    assert process.returncode == 0 and "sum of distances over 1 member\n" in process.stdout
    description, support = read(tmp_path / "one.dv")
    labels, rows = labels_of(description), transformed(support["s84_r0_f1"], 0, 1)
    means = np.stack([rows[labels == k].mean(axis=0) for k in range(4)])
    asked = transformed(queries[0].views["s84_r0_f1"].astype(np.float64), 0, 1)
    influence = -np.linalg.norm(asked[:, None] - means, axis=2)
    _, _, actual = rows_of_csv(predict(tmp_path / "one.dv", queries[1]))
    expected = np.exp(log_probabilities(influence, description["calibration"]["temperature"]))
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-6)


def test_hash_is_as_documented(fit):
    file, _ = fit(Features(UNEQUAL))
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + length])
    metadata, body = head.pop("__metadata__"), data[8 + length :]
    lines = f"{hashlib.sha256(metadata['deepvoro'].encode()).hexdigest()}  deepvoro\n"
    for view in json.loads(metadata["deepvoro"])["views"]:
        begin, end = head[view]["data_offsets"]
        lines += f"{hashlib.sha256(body[begin:end]).hexdigest()}  {view}\n"
    assert metadata["sha256"] == hashlib.sha256(lines.encode()).hexdigest()


def assert_one_line(process, code, *words):
    assert process.returncode == code, process.stderr
    assert process.stderr.count("\n") == 1 and process.stdout == ""
    for word in words:
        assert word in process.stderr, process.stderr


@pytest.mark.parametrize("name", ["unknown", "Unknown", " "])
def test_class_that_would_be_mistaken_for_none_is_refused(deepvoro, tmp_path, name):
    store = Features({"wren": 2, name: 2}).write(tmp_path / "support")
    assert_one_line(deepvoro("fit", store, "--out", tmp_path / "a.dv"), 3, f"'{name}'", "another name")
    assert not (tmp_path / "a.dv").exists()


def test_file_of_another_kind_is_called_no_classifier(deepvoro, queries, tmp_path):
    (tmp_path / "notes.dv").write_text("not a classifier at all, but some text that is long enough")
    assert_one_line(deepvoro("predict", tmp_path / "notes.dv", queries[1]), 3, "notes.dv", "is not a classifier; 'deepvoro fit' makes one")


def test_damaged_files_are_refused(deepvoro, fit, queries, tmp_path):
    file, _ = fit(Features(UNEQUAL))
    data = file.read_bytes()
    damaged = tmp_path / "damaged.dv"
    cut = [data[:length] for length in (0, 5, 8, 100, len(data) // 2, len(data) - 1)]
    flipped = [data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :] for i in (3, 40, 400, len(data) - 200, len(data) - 1)]
    for contents in cut + flipped + [b"GIF89a", b"\x89PNG" * 50]:
        damaged.write_bytes(contents)
        assert_one_line(deepvoro("predict", damaged, queries[1]), 3, "damaged.dv")
        assert_one_line(deepvoro("remove", damaged, "owl"), 3, "damaged.dv")
        assert damaged.read_bytes() == contents
    assert_one_line(deepvoro("predict", tmp_path / "absent.dv", queries[1]), 3, "absent.dv")


def test_what_does_not_fit_is_told(deepvoro, fit, queries, tmp_path):
    features = Features(UNEQUAL)
    file, _ = fit(features)
    before = file.read_bytes()
    store = tmp_path / "fitted-store"
    shutil.copytree(store, tmp_path / "other")
    other = json.loads((store / "store.json").read_text())
    other["splits"]["novel"]["classes"][0] = "OWL"
    (tmp_path / "other/store.json").write_text(json.dumps(other))
    assert_one_line(deepvoro("add", file, "OWL", tmp_path / "other"), 3, "'OWL'", "'owl'", "case")
    assert_one_line(deepvoro("fit", tmp_path / "other", "--out", tmp_path / "no.dv"), 3, "'OWL'", "'owl'")
    assert_one_line(deepvoro("add", file, "kiwi", store), 3, "kiwi")
    assert_one_line(deepvoro("remove", file, "kiwi"), 3, "kiwi")
    assert_one_line(deepvoro("fit", store, "--backbone", "resnet50", "--out", tmp_path / "no.dv"), 2, "--backbone")
    assert_one_line(deepvoro("predict", file, store, "--csv", "--json"), 2, "--json")
    narrow = Features(UNEQUAL, dim=23).write(tmp_path / "narrow")
    assert_one_line(deepvoro("predict", file, narrow), 3, "23", "24")
    one_view = Features(UNEQUAL)
    del one_view.views["s84_r0_f1"]
    assert_one_line(deepvoro("predict", file, one_view.write(tmp_path / "one")), 3, "s84_r0_f1")
    other["splits"]["novel"]["classes"] = ["a", "b", "c", "d", "empty"]
    (tmp_path / "other/store.json").write_text(json.dumps(other))
    assert_one_line(deepvoro("fit", tmp_path / "other", "--out", tmp_path / "no.dv"), 3, "empty", "no samples")
    assert not (tmp_path / "no.dv").exists()
    assert file.read_bytes() == before


def test_misspelt_class_is_recognised(deepvoro, fit):
    file, _ = fit(Features({"Sparrow": 2, "owl": 2, **{f"bird {i}": 1 for i in range(10)}}))
    store = file.parent / "fitted-store"
    before = file.read_bytes()
    for command, where in ((("remove", file), file), (("add", file), store)):
        source = [store] if command[0] == "add" else []
        assert_one_line(deepvoro(*command, "Sparow", *source), 3, str(where), "'Sparow'; did you mean 'Sparrow'?")
        process = deepvoro(*command, "kiwi", *source)
        assert_one_line(process, 3, str(where), "'kiwi'; it has", "bird 1, ", " and 2 more")
    assert file.read_bytes() == before


def test_models_that_made_the_features_do_not_mix(deepvoro, tmp_path):
    stores = []
    for model in ("aa", "bb"):
        stores.append(Features(UNEQUAL).write(tmp_path / model))
        description = json.loads((stores[-1] / "store.json").read_text())
        description["provenance"]["model"] = model * 32
        (stores[-1] / "store.json").write_text(json.dumps(description))
    file = tmp_path / "fitted.dv"
    assert deepvoro("fit", stores[0], "--out", file).returncode == 0
    assert deepvoro("predict", file, stores[0]).returncode == 0
    assert_one_line(deepvoro("predict", file, stores[1]), 3, "another model")
    assert_one_line(deepvoro("add", file, "emu", stores[1]), 3, "another model")
