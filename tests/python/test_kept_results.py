"""results/ keeps what was measured; docs/RESULTS.md and the figure must say the same."""

import csv
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from conftest import REPOSITORY

BIRDS = REPOSITORY / "results/cub"
METHODS = ("vd", "deepvoro", "deepvoro++")


def birds(method, shots):
    return json.loads((BIRDS / f"{method}-{shots}.json").read_text())


def test_the_document_has_the_accuracies_of_the_files():
    section = (REPOSITORY / "docs/RESULTS.md").read_text().split("## Birds, from photographs")[1]
    row = next(line for line in section.splitlines() if line.startswith("| here |"))
    written = re.findall(r"(\d+\.\d+) ± (\d+\.\d+)", row)
    kept = [birds(method, shots) for shots in (1, 5) for method in METHODS]
    assert written == [(f"{result['accuracy']:.2f}", f"{result['ci95']:.2f}") for result in kept]
    assert [result["members"] for result in kept] == [
        int(number) for number in re.findall(r"\| (\d+)", next(
            line for line in section.splitlines() if line.startswith("| members |")))]


def test_accuracies_are_the_means_of_their_episodes():
    for shots in (1, 5):
        for method in METHODS:
            result = birds(method, shots)
            episodes = result["episode_accuracy"]
            assert len(episodes) == result["episodes"] == 2000
            assert abs(sum(episodes) / len(episodes) - result["accuracy"]) < 1e-9


def test_the_order_of_the_methods_holds(deepvoro):
    for lower, higher in zip(METHODS, METHODS[1:]):
        text = deepvoro("compare", BIRDS / f"{lower}-1.json", BIRDS / f"{higher}-1.json").stdout
        assert "B is better, p < 0.001" in text


def words_of(figure):
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure.read_text())


def test_the_figure_is_drawn_from_the_files(tmp_path):
    drawn = tmp_path / "birds.svg"
    subprocess.run([sys.executable, REPOSITORY / "scripts/figures/cub.py", BIRDS, drawn], check=True)
    assert "1-shot, novel" in words_of(drawn)
    assert words_of(drawn) == words_of(BIRDS / "birds.svg")


def test_the_document_has_the_accuracies_of_several_networks():
    section = (REPOSITORY / "docs/RESULTS.md").read_text().split("### Several networks")[1].split("\n### ")[0]
    for name, first_words in (("plda-resnet18", "| `r18-b`"), ("plda-joined", "| **all eight**")):
        row = next(line for line in section.splitlines() if line.startswith(first_words))
        kept = [birds(name, shots) for shots in (1, 5)]
        written = re.findall(r"(\d+\.\d+ ± \d+\.\d+)\D+(\d+) of", row)
        assert written == [(f"{one['accuracy']:.2f} ± {one['ci95']:.2f}", str(one["members"])) for one in kept]
        for one in kept:
            assert one["scheme"] == "guided" and one["episodes"] == len(one["episode_accuracy"]) == 2000
            assert abs(sum(one["episode_accuracy"]) / 2000 - one["accuracy"]) < 1e-9


def kept_rows(name, *columns):
    with open(BIRDS / name, encoding="utf-8") as file:
        return {tuple(row[column] for column in columns): row for row in csv.DictReader(file)}


def test_the_document_has_the_accuracies_of_seven_networks():
    section = (REPOSITORY / "docs/RESULTS.md").read_text().split("### Seven networks, six methods")[1].split("\n### ")[0]
    kept = kept_rows("networks.csv", "network", "procedure", "shots", "method")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| ")]
    methods, rows = table[0][3:], table[2:]
    assert len(rows) * len(methods) == len(kept)
    for network, procedure, shots, *cells in rows:
        for method, written in zip(methods, cells):
            row = kept[network, procedure, shots, method]
            assert written == f"{float(row['accuracy']):.2f} ± {float(row['ci95']):.2f}", (network, procedure, shots, method)


def test_the_document_has_the_accuracies_of_other_domains():
    section = (REPOSITORY / "docs/RESULTS.md").read_text().split("### Other domains")[1].split("\n## ")[0]
    for row in kept_rows("other-domains.csv", "network", "pictures", "shots", "method").values():
        assert f"{float(row['accuracy']):.2f} ± {float(row['ci95']):.2f}" in section


def test_the_document_has_means_and_deviations_of_training_procedures():
    section = (REPOSITORY / "docs/PAPER.md").read_text().split("Training procedures with")[1]
    kept = kept_rows("procedures.csv", "procedure", "seed", "shots", "method")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| ")][:7]
    procedures, rows = table[0][1:5], table[2:]
    seeds = {seed for _, seed, _, _ in kept}
    assert len(kept) == len(procedures) * len(seeds) * 2 * len(rows)
    for method, *cells in rows:
        by_procedure = [[[float(kept[procedure, seed, shots, method]["accuracy"]) for seed in seeds] for shots in "15"] for procedure in procedures]
        for written, both in zip(cells, by_procedure):
            expected = [number for of_seeds in both for number in (np.mean(of_seeds), np.std(of_seeds, ddof=1))]
            assert [float(number) for number in re.findall(r"[\d.]+", written)] == pytest.approx(expected, abs=0.00501)
        for shots, written in enumerate(cells[4].split(" / ")):
            p = scipy.stats.f_oneway(*(both[shots] for both in by_procedure)).pvalue
            assert float(written) == pytest.approx(p, rel=0.5, abs=5e-4)
