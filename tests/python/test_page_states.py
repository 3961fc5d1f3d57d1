"""The page of `deepvoro serve` where not all is well, or much: loading, offline, full disk, read-only, empty, thousands of pictures."""
import shutil
from pathlib import Path

import pytest
from browser import find_browser
from mock_server import MockServer, State, sketches
from page_fixtures import WHOLE, browser, serve  # noqa: F401
from served_page import built_page, face, lightning

if find_browser() is None:
    pytest.skip("no Chromium: apt-get install chromium-headless-shell", allow_module_level=True)

BUDGET_BYTES = 150_000
BANNER = "!document.querySelector('.banner').hidden && document.querySelector('.banner').textContent"


def test_it_is_small(tmp_path):
    assets = built_page() / "assets"
    packed = shutil.make_archive(str(tmp_path / "assets"), "gztar", assets)
    assert 10_000 < Path(packed).stat().st_size < BUDGET_BYTES


def test_nothing_is_lost_while_the_server_is_away(serve):
    server, page = serve(State(sketches()))
    page.draw(lightning(0))
    page.until("document.querySelector('.bars li')")
    server.stop()
    page.press("1")
    assert "The server does not answer" in page.until(BANNER)
    assert "1 change waits here" in page.until(f"{BANNER}.includes('1 change') && {BANNER}")
    page.click(page.card("clock", ".card-foot .plain:last-child"))
    page.until(f"{BANNER}.includes('2 changes wait')")
    server.state.token = "another"  # as after a restart
    server.start()
    page.until_classes(butterfly=6, coffee_cup=5)
    page.until("document.querySelector('.banner').hidden")


def test_an_answer_that_was_lost_is_not_taught_twice(serve):
    server, page = serve(State(sketches()))
    page.draw(lightning(0))
    page.until("document.querySelector('.bars li')")
    page.run("""(() => { const real = window.fetch; let lost = false; window.fetch = async (path, options) => { const answer = await real(path, options);
        if (!lost && String(path).endsWith('/pictures') && options?.method === 'POST') { lost = true; throw new TypeError('lost'); } return answer; }; })()""")
    page.press("1")
    page.until_classes(butterfly=6, clock=5, coffee_cup=5)
    page.until("document.querySelector('.banner').hidden")
    assert len(server.state.order["butterfly"]) == 6


def test_a_picture_that_is_corrected_while_it_is_taught_is_in_one_class(serve):
    server, page = serve(State(sketches()))
    page.draw(lightning(0))
    page.until("document.querySelector('.bars li')")
    page.run("""(() => { const real = window.fetch; const held = new Promise((done) => { window.release = done; }); window.fetch = async (path, options) => {
        const answer = await real(path, options); if (String(path).endsWith('/pictures') && options?.method === 'POST') await held; return answer; }; })()""")
    page.press("1")
    page.until("document.querySelector('.under').textContent === 'Taught as butterfly'")
    page.press("3")
    page.until("document.querySelector('.under').textContent === 'Taught as coffee cup'")
    page.run("release()")
    page.until_classes(butterfly=5, clock=5, coffee_cup=6)
    assert [len(ids) for ids in server.state.order.values()] == [5, 5, 6]


def test_files_that_are_dropped_while_something_is_asked_are_all_answered(serve, tmp_path):
    for number, data in enumerate(sketches()["clock"][:3]):
        (tmp_path / f"{number}.png").write_bytes(data)
    _, page = serve(State(sketches()))
    page.draw(lightning(0))
    page.until("document.querySelector('.bars li')")
    page.run("""(() => { const real = window.fetch; const held = new Promise((done) => { window.release = done; }); window.fetch = async (path, options) => {
        const answer = await real(path, options); if (String(path).startsWith('/api/predict')) { window.isHeld = true; await held; } return answer; }; })()""")
    page.press(" ")
    page.until("window.isHeld")
    page.drop(".ask", *sorted(tmp_path.iterdir()))
    page.until("document.querySelector('.ask .tabs button:nth-child(2)').getAttribute('aria-pressed') === 'true'")
    page.run("release()")
    page.until("document.querySelectorAll('.history li').length === 3 && !document.querySelector('.history').textContent.includes('…')")


def test_counts_from_before_a_change_are_asked_again(serve):
    _, page = serve(State(sketches()))
    page.draw(lightning(0))
    page.until("document.querySelector('.bars li')")
    page.run("""fetch('/api/classes').then((old) => { const real = window.fetch; let isOld = true; window.fetch = async (path, options) => {
        if (String(path) !== '/api/classes' || !isOld) return real(path, options); isOld = false; return old; }; })""")
    page.press("1")
    page.until_classes(butterfly=6, clock=5, coffee_cup=5)


def test_a_full_disk_is_told_and_waited_for(serve):
    server, page = serve(State(sketches()))
    server.state.full = True
    page.draw(lightning(0))
    page.until("document.querySelector('.bars li')")
    page.press("1")
    assert "The disk is full" in page.until(BANNER)
    server.state.full = False
    page.click(".banner button")
    page.until_classes(butterfly=6, clock=5, coffee_cup=5)


def test_whoever_leaves_while_changes_wait_is_asked(serve):
    server, page = serve(State(sketches()))
    page.draw(lightning(0))
    page.until("document.querySelector('.bars li')")
    server.state.full = True
    page.press("1")
    page.until(BANNER)
    page.open("about:blank")
    assert [values["type"] for name, values in page.events if name == "Page.javascriptDialogOpening"] == ["beforeunload"]


def test_a_network_that_is_loaded_can_be_waited_for(browser):
    state = State(sketches())
    state.loading = 4
    with MockServer(built_page(), state) as server:
        browser.messages.clear()
        browser.size(1440)
        browser.open(server.address)
        assert "about 4\u00a0s" in browser.until("document.querySelector('.under')?.textContent")
        browser.draw(face(0))
        state.loading = None
        browser.until("document.querySelector('.bars li')")
        browser.until_classes(butterfly=5, clock=5, coffee_cup=5)
        browser.open("about:blank")
    assert browser.messages == []


def test_read_only_answers_and_offers_no_changes(serve):
    state = State(sketches())
    state.read_only = True
    _, page = serve(state)
    assert "Read-only" in page.until(BANNER)
    page.draw(face(0))
    page.until("document.querySelector('.bars li')")
    assert page.run("[...document.querySelectorAll('.card-foot, .card.new, .tools, .wrong, .answer .main')].filter((e) => e.offsetParent !== null).length") == 0


def test_an_empty_project_says_how_to_begin(serve):
    _, page = serve(State({}))
    page.until("document.querySelector('.word').textContent === 'Teach me something'")
    page.draw(lightning(0))
    page.press("/")
    page.type("lightning")
    page.press("Enter")
    page.until_classes(lightning=1)
    page.until_answer("lightning")
    assert "Once there are two classes" in page.run("document.querySelector('.check-words').textContent")


def test_thousands_of_pictures_do_not_freeze_it(serve):
    state = State(sketches())
    identity = state.order["clock"][0]
    state.order["clock"] = [f"c{number}" for number in range(5000)]
    for copy in state.order["clock"]:
        state.bytes[copy], state.rows[copy] = state.bytes[identity], state.rows[identity]
    state.check = lambda: {"accuracy": 100, "right": 1, "of": 1, "confusion": {"classes": [], "counts": []}, "wrong": [], "doubtful": []}
    _, page = serve(state)
    page.until("document.querySelectorAll('.card[data-key=clock] .tile img').length > 5")
    assert page.run("document.querySelectorAll('.card[data-key=clock] .tile').length") < 100
    page.run("document.querySelector('.card[data-key=clock] .thumbs').scrollTop = 1e9")
    page.until("document.querySelector('.card[data-key=clock] .tile[data-key=c4999] img')")
    assert page.run("document.querySelectorAll('.card[data-key=clock] .tile').length") < 100
    assert page.run("document.querySelector('.tile[data-key=c4999]').getAttribute('aria-label')") == "picture 5000 of clock"


def test_thousands_of_classes_can_be_taught_and_chosen(serve):
    state = State(sketches())
    state.order |= {f"empty {number}": [] for number in range(2000)}
    names = [f"class {number}" for number in range(500)]
    counts = [[int(i == j) for j in range(500)] for i in range(500)]
    counts[7][11] = 2
    state.check = lambda: {"accuracy": 99, "right": 500, "of": 502, "confusion": {"classes": names, "counts": counts}, "wrong": [], "doubtful": []}
    _, page = serve(state)
    page.until("document.querySelectorAll('.card:not(.new)').length === 2003")
    page.draw(lightning(0))
    page.until("document.querySelectorAll('.chip').length === 200")
    page.click(".wrong summary")
    page.click(".wrong input")
    page.type("empty 1999")
    page.press("Enter")
    page.until("document.querySelector(`.card[data-key='empty 1999'] .count`).textContent === '1'")
    page.click(".check .tabs button:nth-child(3)")
    assert page.run("[...document.querySelectorAll('.confusion tbody th')].map((e) => e.textContent)") == ["class 7", "class 11"]
    assert page.run("[...document.querySelectorAll('.confusion tbody td')].map((e) => e.textContent)") == ["1", "2", "·", "1"]


def test_names_are_words_and_never_markup(serve):
    evil = '<img src=x onerror="console.log(1)">'
    state = State({evil: sketches()["clock"], "clock": sketches()["butterfly"]})
    _, page = serve(state)
    page.draw(face(0))
    page.until("document.querySelector('.bars li')")
    page.click(".check .tabs button:nth-child(3)")
    assert page.run("document.querySelectorAll('img[src=x]').length") == 0
    assert page.messages == []
