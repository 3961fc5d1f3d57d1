"""`deepvoro report` from outside: what it reads, what it writes, how it refuses."""
import csv
import io
import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import made_up_studies
import pytest
from conftest import REPOSITORY

WRONG_USAGE, BAD_DATA = 2, 3


@pytest.fixture
def studies(tmp_path):
    made_up_studies.write_studies(tmp_path / "studies")
    made_up_studies.write_results(tmp_path / "studies" / "results.json")
    return tmp_path / "studies"


def test_every_study_has_a_section_and_nothing_is_said_twice(deepvoro, studies, tmp_path):
    done = deepvoro("report", studies, "--out", tmp_path / "report.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(rf"\S+report.html: \d+ figures and \d+ tables, from {len(made_up_studies.STUDIES)} studies and 12 results\n", done.stdout)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for name in made_up_studies.STUDIES:
        assert any(found.startswith((name, "time" if name == "time" else name)) for found in ids), name
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)


def test_methods_come_first_and_the_same_comparison_is_shown_once(deepvoro, tmp_path):
    """All three comparisons of the same stores have the same rows; those of other stores are shown beside them."""
    same = ("cub-wrn28-10", "quickdraw")
    made = {"joint": made_up_studies.STUDIES["joint"](None), "backbones": made_up_studies.setting("backbones", same),
            "procedures": made_up_studies.setting("procedures", same), "cross-domain": made_up_studies.setting("cross-domain", ("cub-to-mini",))}
    for name, study in made.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(study))
    assert deepvoro("report", tmp_path, "--out", tmp_path / "report.html").returncode == 0
    tables = re.findall(r'<div class="block table" id="([^"]+)"', (tmp_path / "report.html").read_text(encoding="utf-8"))
    assert tables[:3] == ["backbones", "backbones-table-1", "backbones-table-2"]
    assert [name for name in tables if name.startswith(("procedures", "cross"))] == ["cross-domain-table"]
    # The paper's own numbers for CUB are those of Table main.
    printed = deepvoro("report", tmp_path, "--tables", "markdown").stdout
    of_birds = printed[printed.index("Methods side by side, cub-wrn28-10"):printed.index("Methods side by side, quickdraw")]
    assert "82.99 ± 0.43" in of_birds and "92.62 ± 0.22" in of_birds


def test_tables_are_all_that_goes_to_standard_output(deepvoro, studies, tmp_path):
    alone = deepvoro("report", studies, "--tables", "csv")
    assert (alone.returncode, alone.stderr) == (0, "")
    done = deepvoro("report", studies, "--tables", "csv", "--out", tmp_path / "report.html", "--figures", tmp_path / "figures")
    assert done.stdout == alone.stdout
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [str(tmp_path / "figures"), str(tmp_path / "report.html")]


def test_figures_are_files_of_their_own(deepvoro, studies, tmp_path):
    folder = tmp_path / "figures"
    done = deepvoro("report", studies, "--figures", folder)
    page = tmp_path / "report.html"
    assert deepvoro("report", studies, "--out", page).returncode == 0
    ids = re.findall(r'<figure class="block" id="([^"]+)"', page.read_text(encoding="utf-8"))
    assert sorted(file.name for file in folder.iterdir()) == sorted(f"{name}.svg" for name in ids)
    assert done.stdout == f"{folder}: {len(ids)} figures\n"
    for file in folder.iterdir():
        tree = ElementTree.parse(file)
        assert tree.getroot().tag == "{http://www.w3.org/2000/svg}svg"
        assert tree.find("{http://www.w3.org/2000/svg}title").text
        assert file.stat().st_size <= 200_000, file.name


def test_the_same_inputs_give_the_same_bytes(deepvoro, studies, tmp_path):
    for name in ("a.html", "b.html"):
        assert deepvoro("report", studies, "--out", tmp_path / name).returncode == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_tables_say_what_compare_says(deepvoro, make_store, tmp_path):
    results = tmp_path / "results.json"
    store = make_store(dim=6, classes=(("base", 6), ("val", 6), ("novel", 6)))
    assert deepvoro("evaluate", store, "--method", "vd,deepvoro", "--ways", 4, "--shots", 1, "--queries", 3, "--episodes", 50, "--json", results).returncode == 0
    comparison = tmp_path / "comparison.json"
    assert deepvoro("compare", results, "--json", comparison).returncode == 0
    expected = json.loads(comparison.read_text())["comparisons"][0]
    done = deepvoro("report", results, "--tables", "csv")
    assert done.returncode == 0, done.stderr
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    assert rows["deepvoro"]["shots"] == "1"
    assert float(rows["deepvoro"]["accuracy"]) == pytest.approx(expected["b"]["accuracy"], abs=1e-12)
    assert float(rows["deepvoro"]["difference"]) == pytest.approx(expected["difference"], abs=1e-12)
    assert float(rows["deepvoro"]["difference_ci95"]) == pytest.approx(expected["ci95"], abs=1e-12)
    assert float(rows["deepvoro"]["p"]) == pytest.approx(expected["t_test"]["p"], rel=1e-12)
    assert rows["vd"]["difference"] == ""


def test_latex_compiles_in_the_eyes_of_a_parser(deepvoro, studies):
    text = deepvoro("report", studies, "--tables", "latex").stdout
    assert text.count("\\begin{table}") == text.count("\\end{table}") >= 15
    for table in text.split("\\begin{table}")[1:]:
        columns = len(re.search(r"\\begin\{tabular\}\{(\w+)\}", table)[1])
        for row in re.findall(r"^(.*?) \\\\", table, flags=re.MULTILINE):
            width = len(re.split(r"(?<!\\)&", row))
            spanned = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", row))
            assert width + spanned == columns, row


def test_pictures_of_the_hardest_samples(deepvoro, tmp_path):
    results = tmp_path / "results.json"
    store, pictures = REPOSITORY / "data/quickdraw", REPOSITORY / "data/quickdraw/pictures/novel.tar"
    assert deepvoro("evaluate", store, "--method", "vd", "--episodes", 300, "--json", results).returncode == 0
    hardest = json.loads(results.read_text())["answers"]["hardest"]
    done = deepvoro("report", results, "--out", tmp_path / "report.html", "--pictures", pictures)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    names = json.loads(results.read_text())["answers"]["classes"]
    listed = set(subprocess.run(["tar", "tf", pictures], check=True, capture_output=True, text=True).stdout.split("\n"))
    known = {name.strip("/").split("/")[-2] for name in listed if name.endswith(".png")}
    assert page.count('src="data:image/png;base64,') == sum(names[query["class"]] in known for query in hardest)


@pytest.mark.parametrize("flags, code, words", (
    ((), WRONG_USAGE, "--out"),
    (("--tables", "word"), WRONG_USAGE, "--tables word: unknown; use latex, markdown, csv"),
    (("--out", "no/such/folder/report.html"), BAD_DATA, "no/such/folder"),
    (("--out", "report.html", "--pictures", "nowhere"), BAD_DATA, "nowhere"),
))
def test_what_cannot_be_is_refused_in_one_line(deepvoro, studies, flags, code, words):
    done = deepvoro("report", studies, *flags)
    assert done.returncode == code, done.stderr
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr


@pytest.mark.parametrize("damage", ("", "[]", "{}", "[1]", "{", "[[[[", '{"format":"deepvoro-study"}', '{"format":"deepvoro-result"}', '{"format":"deepvoro-pool"}', "\xff"))
def test_damaged_files_are_refused(deepvoro, tmp_path, damage):
    (tmp_path / "bad.json").write_text(damage, encoding="latin-1")
    done = deepvoro("report", tmp_path / "bad.json", "--out", tmp_path / "report.html")
    assert done.returncode == BAD_DATA, done.stderr
    assert len(done.stderr.splitlines()) == 1 and "bad.json" in done.stderr
    if "deepvoro-study" not in damage and "deepvoro-result" not in damage:
        assert "deepvoro evaluate --json" in done.stderr and "deepvoro study" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["bad.json"]


@pytest.mark.parametrize("name", made_up_studies.STUDIES)
def test_a_study_with_any_cell_missing_is_drawn_or_refused(deepvoro, tmp_path, name):
    """Never an internal error, whatever is null."""
    rng = made_up_studies.random.Random(name)
    for attempt in range(6):
        made = made_up_studies.STUDIES[name](made_up_studies.random.Random(1))
        for table in made["tables"]:
            for row in rng.sample(table["rows"], min(len(table["rows"]), 1 + attempt)):
                row[rng.randrange(len(row))] = rng.choice((None, "x", -1e308, 1e14, -1e14, 1e-300, True, ""))
        (tmp_path / "study.json").write_text(json.dumps(made))
        done = deepvoro("report", tmp_path / "study.json", "--out", tmp_path / "report.html")
        assert done.returncode in (0, BAD_DATA), done.stderr
        if done.returncode == 0:
            page = (tmp_path / "report.html").read_text(encoding="utf-8")
            drawn = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
            assert not re.search(r'(?:[MLHV ]|="-?)(?:nan|inf)', drawn)
