"""deepvoro evaluate --calibration --open-set, against NumPy and scikit-learn."""
import json

import numpy as np
import pytest
import reference
from sklearn.metrics import roc_auc_score
from test_classifier import assert_one_line, expected_calibration, log_probabilities, mean_influence

BINS = 15


def calibration_error(confidence, correct):
    bins = np.clip(np.ceil(confidence * BINS) - 1, 0, BINS - 1)
    gaps = [abs(confidence[bins == i].mean() - correct[bins == i].mean()) * (bins == i).mean() for i in np.unique(bins)]
    return 100 * sum(gaps)


def expected_figures(folder, task):
    store = reference.Store(folder)
    labels = store.labels(task.split)
    views = {view: store.features(task.split, view) for view in store.views}
    ways = np.repeat(np.arange(task.ways), task.shots)
    truth = np.repeat(np.arange(task.ways), task.queries)
    likelihood, confidence, correct, auroc, kept, found = [], [], [], [], [], []
    for number, episode in enumerate(reference.draw_episodes(reference.rows_by_class(labels), task)):
        support = {view: rows[episode.support.ravel()] for view, rows in views.items()}
        temperature, thresholds, _ = expected_calibration(support, ways)

        def asked(rows):
            return mean_influence(support, ways, {view: features[rows] for view, features in views.items()})

        influence = asked(episode.query.ravel())
        logs = log_probabilities(influence, temperature)
        likelihood.append(-logs[np.arange(len(truth)), truth].mean())
        confidence.append(np.exp(logs.max(axis=1)))
        correct.append(logs.argmax(axis=1) == truth)
        outside = np.flatnonzero(~np.isin(labels, labels[episode.support.ravel()]))
        drawn = outside[np.random.RandomState(task.seed + number).permutation(len(outside))[: len(truth)]]
        strangers = asked(drawn).max(axis=1)
        own = influence.max(axis=1)
        known = np.r_[np.ones(len(own)), np.zeros(len(strangers))]
        auroc.append(100 * roc_auc_score(known, np.r_[own, strangers]))
        kept.append(100 * (own > thresholds[1]).mean())
        found.append(100 * (strangers <= thresholds[1]).mean())
    error = calibration_error(np.concatenate(confidence), np.concatenate(correct))
    return error, np.mean(likelihood), np.mean(auroc), reference.ci95(np.array(auroc)), np.mean(kept), np.mean(found)


@pytest.mark.parametrize("shots", [1, 2, 5])
def test_figures_agree_with_numpy(make_store, evaluate, shots):
    store = make_store(dim=40, views=1)
    task = reference.Task(shots=shots, queries=6, episodes=12)
    result = evaluate(store, "deepvoro", "--calibration", "--open-set", task=task).result
    error, likelihood, auroc, interval, kept, found = expected_figures(store, task)
    assert abs(result["calibration"]["ece"] - error) < 0.01
    assert abs(result["calibration"]["nll"] / likelihood - 1) < 1e-3
    assert abs(result["open_set"]["auroc"] - auroc) < 0.05
    assert abs(result["open_set"]["auroc_ci95"] - interval) < 0.05
    assert abs(result["open_set"]["kept"] - kept) < 0.3  # one query of 360 more or less
    assert abs(result["open_set"]["found"] - found) < 0.3


def test_each_figure_only_when_asked_for(make_store, evaluate):
    store = make_store(dim=40, views=1)
    task = reference.Task(queries=6, episodes=5)
    plain = evaluate(store, "vd", task=task)
    assert "calibration" not in plain.result and "open_set" not in plain.result
    calibrated = evaluate(store, "vd", "--calibration", task=task)
    assert "calibration" in calibrated.result and "open_set" not in calibrated.result
    assert "expected calibration error" in calibrated.stdout and "AUROC" not in calibrated.stdout
    opened = evaluate(store, "vd", "--open-set", "--threads", 1, task=task)
    assert "AUROC" in opened.stdout
    assert opened.result["open_set"] == evaluate(store, "vd", "--open-set", "--threads", 3, task=task).result["open_set"]
    assert opened.result["episode_accuracy"] == plain.result["episode_accuracy"]


def test_what_cannot_be_measured_is_told(deepvoro, make_store):
    store = make_store(dim=40, views=1)
    few = ("--episodes", 3, "--queries", 3)
    for method in ("deepvoro++", "simpleshot"):
        assert_one_line(deepvoro("evaluate", store, "--method", method, "--calibration", *few), 2, "vd and deepvoro")
    assert_one_line(deepvoro("evaluate", store, "--method", "vd", "--open-set", "--alpha", 2, *few), 2, "--alpha 1")
    classes = len(json.loads((store / "store.json").read_text())["splits"]["novel"]["classes"])
    process = deepvoro("evaluate", store, "--method", "vd", "--open-set", "--ways", classes, *few)
    assert_one_line(process, 3, "no class outside")
