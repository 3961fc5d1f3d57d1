"""The page of `deepvoro report` in a browser: it opens offline, shows every mark, answers to hover and buttons, fits any screen."""
import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree

import made_up_studies
import pytest
from axe import SERIOUS, axe_source
from browser import Browser, find_browser

if find_browser() is None:
    pytest.skip("no Chromium: apt-get install chromium-headless-shell", allow_module_level=True)

WIDTHS = (360, 768, 1440)
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# Marks of each kind of figure: a selector, and how many there are.
MARKS = {
    "#differences .pt": 10,
    "#members-1 circle": 2 * (16 + 40),
    "#members-2 circle": 2 * (16 + 40),
    "#transformations-1 .pt": 2 * 2 * (7 + 4),
    "#ensemble-size-1 .bd": 4,
    "#ensemble-size-1 .ho": 2,
    "#ablation-ablation_all-1-figure .pt:not(.paper)": 18,
    "#ablation-schemes-1-figure .pt.paper": 18,
    "#joint-joint-1-figure .pt.paper": 14,
    "#surrogate-grid-1 .hm path": 2 * 10 * 8,
    "#surrogate-grid-1 .pick": 20,
    "#surrogate-grid-1 .pick.best": 2,
    "#surrogate-pattern-1 .thin": 40,
    "#first-figure .tint": 10 + 5,
    "#first-figure .cross": 10 + 5,
    "#first-figure .thin": 40,
    "#first-figure .ln": 5,
    "#shots-1 .pt": 24,
    "#outliers-1 .zero": 1,
    "#embedding-1 .ds": 20,
    "#diagram-1 .tint": 10 + 20,
    "#diagram-1 .cross": 10 + 25,
    "#time-figure-1 .pt.paper": 5,
    "#backbones-table-1-figure .pt": 10 + 7,
    "#cross-domain-table-1-figure .pt.paper": 7,
    "#classes .pt": 12,
    "#confusion .hm": 24,
    "#hardest li": 6,
}


@pytest.fixture(scope="module")
def page(deepvoro, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    made_up_studies.write_studies(folder / "studies")
    made_up_studies.write_results(folder / "studies" / "results.json")
    done = deepvoro("report", folder / "studies", "--out", folder / "report.html")
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").stat().st_size <= 1_500_000
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


def open_page(browser, page):
    browser.open(page)
    browser.until("'ready' in document.documentElement.dataset")  # numbers of figures are unpacked


@pytest.fixture(scope="module", params=WIDTHS)
def opened_once(browser, page, request):
    browser.messages.clear()
    browser.requests.clear()
    browser.size(request.param)
    open_page(browser, page)
    return browser


@pytest.fixture
def opened(opened_once):
    """The page at one width; tests leave it as it was."""
    yield opened_once
    assert opened_once.messages == []


def test_it_asks_for_nothing_but_itself(opened, page):
    assert opened.requests == [page.resolve().as_uri()]


def test_nothing_is_wider_than_the_screen(opened):
    assert opened.run("document.documentElement.scrollWidth <= innerWidth")
    # Tables may be wide, in a box that scrolls.
    assert opened.run("""[...document.querySelectorAll("main *")].filter((e) => !e.closest(".scroll") && !e.closest("svg") &&
                         e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))""") == []


def test_tables_fit_a_wide_screen(opened):
    if opened.run("innerWidth") < max(WIDTHS):
        pytest.skip("tables scroll on a narrow screen")
    assert opened.run("""[...document.querySelectorAll("main .table .scroll")].filter((e) => e.scrollWidth > e.clientWidth + 1)
                         .map((e) => e.closest(".block").id)""") == []


def test_first_numbers_of_a_table_are_in_sight(opened):
    assert opened.run("""[...document.querySelectorAll("main .table .scroll")].filter((e) => { const box = e.getBoundingClientRect();
        return [...e.querySelectorAll("tr")].some((row) => row.children[1]?.colSpan === 1 && row.children[1].getBoundingClientRect().right > box.right + 1); })
        .map((e) => e.closest(".block").id)""") == []


def test_words_are_explained(opened):
    assert not opened.run("document.querySelector('.words dl').checkVisibility()")
    opened.run("document.querySelector('.words summary').click()")
    assert opened.run("document.querySelector('.words dl').checkVisibility()")
    said = opened.run("document.querySelector('.words').textContent")
    for word in ("val", "novel", "member", "surrogate", "guided", "oracle"):
        assert word in said
    opened.run("document.querySelector('.words summary').click()")
    assert not opened.run("document.querySelector('.words dl').checkVisibility()")


def test_no_text_of_a_figure_is_cut_off(opened):
    cut = opened.run("""[...document.querySelectorAll("svg.panel")].flatMap((svg) => { const box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].filter((t) => { const b = t.getBoundingClientRect();
            return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1; })
        .map((t) => `${svg.closest(".block").id}: ${t.textContent}`); })""")
    assert cut == []


def test_words_of_a_figure_do_not_hide_each_other(opened):
    hidden = opened.run("""[...document.querySelectorAll("svg.panel")].flatMap((svg) => {
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        const boxes = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
        return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => Math.min(p.right, q.right) - Math.max(p.left, q.left) > scale &&
            Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 4 * scale).map(([b]) => `${svg.closest(".block").id}: ${a} | ${b}`)); })""")
    assert hidden == []


def test_words_of_a_figure_do_not_lie_on_its_curves(opened):
    """Their middle, as boxes of text are higher than letters."""
    hidden = opened.run("""[...document.querySelectorAll("svg.panel")].filter((svg) => !svg.querySelector(".tint, .mat")).flatMap((svg) => {
        const words = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBBox()]);
        return [...svg.querySelectorAll("path.ln")].flatMap((curve) => { const found = new Set();
            for (let at = 0; at <= curve.getTotalLength(); at += 2) { const p = curve.getPointAtLength(at);
                for (const [text, b] of words) if (p.x > b.x + 1 && p.x < b.x + b.width - 1 && p.y > b.y + 4 && p.y < b.y + b.height - 4) found.add(text); }
            return [...found].map((text) => `${svg.closest(".block").id}: ${text}`); }); })""")
    assert hidden == []


def test_every_section_has_its_marks(opened):
    for selector, count in MARKS.items():
        assert opened.run(f"document.querySelectorAll({json.dumps(selector)}).length") == count, selector
    assert opened.run("[...document.querySelectorAll('main section')].filter((s) => !s.querySelector('.block')).length") == 0
    assert opened.run("document.querySelectorAll('svg:not([aria-label]), svg[aria-label=\"\"]').length") == 0
    for broken in ("NaN", "undefined", "inf"):
        assert opened.run(f"[...document.querySelectorAll('svg path, svg circle, svg rect')].filter((e) => e.outerHTML.includes('{broken}')).length") == 0


def test_every_figure_says_its_message_and_where_it_comes_from(opened):
    figures = opened.run("""[...document.querySelectorAll("figure")].map((f) => ({id: f.id, message: document.getElementById(f.getAttribute("aria-labelledby")).textContent,
        bytes: new TextEncoder().encode([...f.querySelectorAll("svg.panel")].map((s) => s.outerHTML).join("") + document.getElementById("figure-style").textContent).length,
        kinds: [...f.querySelectorAll("button")].map((b) => b.dataset.kind), made: f.querySelector(".made").textContent,
        told: parseInt(f.querySelector("summary").textContent), csv: f.querySelector("pre[data-kind=csv]").textContent}))""")
    assert len(figures) >= 30
    for figure in figures:
        assert len(figure["message"].split()) >= 4, figure["message"]
        assert figure["bytes"] <= 200_000, figure["id"]
        assert figure["kinds"] == ["svg", "csv"]
        assert re.match("deepvoro (study|evaluate) ", figure["made"]) and "sha256" in figure["made"]
        header, *rows = csv.reader(io.StringIO(figure["csv"]))
        assert len(rows) == figure["told"] > 0 and {len(row) for row in rows} == {len(header)}, figure["id"]


def test_every_table_can_be_copied_in_three_ways(opened):
    tables = opened.run("""[...document.querySelectorAll(".block.table")].map((t) => [[...t.querySelectorAll("button[data-do=copy]")].map((b) => b.dataset.kind),
        [...t.querySelectorAll("pre")].filter((p) => p.textContent.length > 40).map((p) => p.dataset.kind)])""")
    assert len(tables) >= 20
    assert all(table == [["latex", "markdown", "csv"]] * 2 for table in tables)


def test_sections_are_beside_the_text_where_there_is_room(opened):
    rail, text = opened.run("[...document.querySelectorAll('nav, main')].map((e) => e.checkVisibility() ? e.getBoundingClientRect().toJSON() : null)")
    assert (rail is not None) == (opened.run("innerWidth") == max(WIDTHS))
    assert rail is None or rail["right"] <= text["left"]
    assert opened.run("[...document.querySelectorAll('nav a')].map((a) => document.querySelector(a.hash).tagName)") == ["SECTION"] * opened.run(
        "document.querySelectorAll('main section').length")


def test_on_paper_there_is_nothing_to_press(opened):
    width = opened.run("innerWidth")
    opened.call("Emulation.setEmulatedMedia", media="print")
    assert opened.run("[...document.querySelectorAll('nav, button, details, h3 a')].filter((e) => e.checkVisibility()).length") == 0
    assert opened.run("document.documentElement.scrollWidth <= innerWidth")
    opened.call("Emulation.setEmulatedMedia", media="")
    opened.size(width)


LUMINANCE = """(colour) => { const [r, g, b] = colour.match(/[0-9.]+/g).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; }"""


@pytest.mark.parametrize("dark", (False, True))
def test_words_of_figures_stand_out(browser, page, dark):
    """Which axe does not look at."""
    browser.size(768, dark=dark)
    open_page(browser, page)
    faint = browser.run(f"""(() => {{ const luminance = {LUMINANCE}; const ground = luminance(getComputedStyle(document.body).backgroundColor);
        return [...document.querySelectorAll("svg.panel text")].filter((t) => {{ const ink = luminance(getComputedStyle(t).fill);
            return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05) < 4.5; }}).map((t) => `${{t.closest(".block").id}}: ${{t.textContent}}`); }})()""")
    assert faint == []


def point_at(browser, selector):
    browser.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
    browser.run(DRAWN)  # scrolling hides what hover showed
    x, y = browser.run(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()")
    browser.hover(x, y)
    return browser.run("document.getElementById('tip').hidden ? null : document.getElementById('tip').textContent")


def test_hover_tells_values(opened):
    assert re.match(r"R \d+, β [\d.]+: val \d+\.\d\d %", point_at(opened, "#surrogate-grid-1 .hm path"))
    assert "store cub-wrn28-10" in point_at(opened, "#members-1 circle:last-child")
    assert opened.run("""(() => { const b = document.getElementById("tip").getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth; })()""")
    opened.hover(1, 1)
    assert opened.run("document.getElementById('tip').hidden")


def test_hover_on_a_cloud_tells_the_row_of_that_point(opened):
    """Of every cloud, so that clouds of later panels do not count from the wrong row."""
    rows = list(csv.DictReader(io.StringIO(opened.run("document.querySelector('#members-1 pre[data-kind=csv]').textContent"))))
    starts = opened.run("[...document.querySelectorAll('#members-1 [data-rows]')].map((g) => [Number(g.dataset.rows), g.children.length])")
    assert [start for start, _ in starts] == [sum(n for _, n in starts[:i]) for i in range(len(starts))]
    assert len(rows) == sum(n for _, n in starts)
    groups = [(rows[start]["method"], rows[start]["shots"]) for start, _ in starts]
    assert len(set(groups)) == 4
    for (start, n), group in zip(starts, groups):
        assert {(row["method"], row["shots"]) for row in rows[start:start + n]} == {group}


def saved(browser, folder, selector):
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True)
    browser.run(f"document.querySelector({json.dumps(selector)}).click()")
    name = browser.wait_for("Browser.downloadWillBegin")["suggestedFilename"]
    browser.wait_for("Browser.downloadProgress", lambda values: values["state"] == "completed")
    return folder / name


def test_figures_can_be_saved(opened, tmp_path):
    drawn = saved(opened, tmp_path, "#diagram-1 button[data-kind=svg]")
    tree = ElementTree.parse(drawn)
    assert drawn.name == "diagram-1.svg" and drawn.stat().st_size <= 200_000
    assert len(tree.findall(".//{http://www.w3.org/2000/svg}path[@class='edge']")) == 5
    numbers = saved(opened, tmp_path, "#shots-1 button[data-kind=csv]")
    rows = list(csv.DictReader(io.StringIO(numbers.read_text(encoding="utf-8"))))
    assert numbers.name == "shots-1.csv" and len(rows) == 24 and rows[0]["method"] == "vd"


def test_numbers_unfold(opened):
    opened.run("document.querySelector('#shots-1 details').open = true")
    opened.run(DRAWN)
    assert opened.run("document.querySelectorAll('#shots-1 details tbody tr').length") == 24
    opened.run("document.querySelector('#shots-1 details').open = false")


def test_tables_are_copied_as_the_program_prints_them(opened, deepvoro, page):
    for kind in ("latex", "markdown", "csv"):
        held = opened.run(f"document.querySelector('#methods pre[data-kind={kind}]').textContent")
        assert held in deepvoro("report", page.parent / "studies", "--tables", kind).stdout
    opened.run("""(() => { window.copied = null; navigator.clipboard.writeText = async (text) => { window.copied = text; }; })()""")
    opened.run("document.querySelector('#methods button[data-kind=latex]').click()")
    assert opened.run("window.copied").startswith("% needs \\usepackage{booktabs,xcolor}\n\\begin{table}")


@pytest.mark.parametrize("dark", (False, True))
def test_names_are_words_and_never_markup(browser, deepvoro, tmp_path, dark):
    """Whatever a class, store or method is called."""
    evil = '<img src=x onerror="console.log(1)"></script><script>console.log(2)</script>'
    made = json.loads(json.dumps(made_up_studies.result(made_up_studies.random.Random(1), "vd", 1)))
    made["answers"]["classes"][0] = made["method"] = made["split"] = made["store"]["path"] = evil
    (tmp_path / "results.json").write_text(json.dumps(made))
    embedded = made_up_studies.STUDIES["embedding"](made_up_studies.random.Random(1))
    embedded["tables"][0]["rows"][0][2] = embedded["stores"][0]["name"] = embedded["command"] = evil
    (tmp_path / "embedding.json").write_text(json.dumps(embedded))
    done = deepvoro("report", tmp_path, "--out", tmp_path / "report.html")
    assert done.returncode == 0, done.stderr
    browser.messages.clear()
    browser.size(768, dark=dark)
    browser.open(tmp_path / "report.html")
    assert browser.run("document.querySelectorAll('img, script').length") == 1  # its own script
    assert browser.messages == []


@pytest.fixture(scope="module")
def axe():
    return axe_source()


# Colours do not depend on the width: two pages show all there is.
@pytest.mark.parametrize("width, dark", ((360, True), (1440, False)))
def test_everybody_can_read_it(browser, page, axe, width, dark):
    browser.call("Page.setBypassCSP", enabled=True)
    browser.size(width, dark=dark)
    open_page(browser, page)
    browser.run(axe + "; undefined")
    found = browser.run(SERIOUS)
    browser.call("Page.setBypassCSP", enabled=False)
    assert found == []
