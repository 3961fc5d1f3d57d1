"""The page of `deepvoro serve` on any screen: nothing is cut, nothing is too small to touch, and no picture is shown that is not there."""
import io

import numpy as np
import pytest
from browser import find_browser
from mock_server import MockServer, State, sketches
from page_fixtures import WHOLE, browser, serve  # noqa: F401
from PIL import Image
from served_page import built_page, face, house, lightning

if find_browser() is None:
    pytest.skip("no Chromium: apt-get install chromium-headless-shell", allow_module_level=True)

FINGER = 44
TALLEST_MAP = 620


@pytest.mark.parametrize("width", (360, 768, 1024, 1200, 1440))
def test_nothing_is_wider_than_the_screen(serve, width):
    state = State({**sketches(), "a class with a very long name that does not fit into any card at all": sketches()["clock"][:2]})
    _, page = serve(state, width=width)
    page.draw(face(0))
    page.until("document.querySelector('.bars li')")
    assert page.run("(() => { const pad = document.querySelector('canvas.pad'); return pad.height / pad.width; })()") == 1
    page.run(WHOLE)
    assert page.run("""[...document.querySelectorAll(".easel, .ask .tabs, .answer, .answer-actions, .card-foot, .top")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.className)""") == []
    for tab in (1, 2, 3):
        page.click(f".check .tabs button:nth-child({tab})")
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        assert page.run("""[...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll, .cards-scroll, .next, .history, dialog, .unseen, .skip, svg") &&
                           e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 100))""") == []
    assert page.messages == []


SHIFTS = """new Promise((done) => { let sum = 0; new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value; })
    .observe({type: 'layout-shift', buffered: true}); requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum)))); })"""
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


@pytest.mark.parametrize("width", (360, 768, 1440))
def test_nothing_moves_when_the_server_answers(browser, width):
    """What is seen before the network is loaded stays where it is; so does the rest when the first answer comes."""
    state = State(sketches())
    state.loading = 4
    with MockServer(built_page(), state) as server:
        browser.size(width, 900)
        browser.open(server.address)
        browser.until("document.querySelector('.under')?.textContent")
        browser.run(PAINTED)
        assert browser.run("performance.getEntriesByName('first-contentful-paint').length") == 1
        state.loading = None
        browser.until_classes(butterfly=5, clock=5, coffee_cup=5)
        browser.until("document.querySelector('.next li')")
        before = browser.run("[...document.querySelectorAll('.panel')].map((e) => e.offsetTop)")
        browser.draw(face(0))
        browser.until("document.querySelector('.bars li')")
        assert browser.run("[...document.querySelectorAll('.panel')].map((e) => e.offsetTop)") == before
        assert browser.run(SHIFTS) < 0.001
        browser.open("about:blank")


def test_it_is_painted_before_the_server_tells_anything(browser):
    """Three files and nothing else: page, style, script."""
    state = State(sketches())
    state.loading = 4
    with MockServer(built_page(), state) as server:
        browser.requests.clear()
        browser.size(1440)
        browser.open(server.address)
        browser.until("document.querySelector('.under')?.textContent")
        files = [address for address in browser.requests if "/api/" not in address and not address.endswith(".svg")]
        assert [address.rsplit(".", 1)[-1] for address in files[1:]] == ["css", "js"] and files[0] == server.address
        browser.open("about:blank")


def test_names_in_a_confusion_are_turned_on_a_narrow_screen(serve):
    _, page = serve(many(5, 2))
    page.until("document.querySelector('.next li')")
    page.click(".check .tabs button:nth-child(3)")
    page.until("document.querySelector('.confusion:not(.dense)')")
    page.size(360)
    page.until("document.querySelector('.confusion.dense')")
    assert page.run("(() => { const e = document.querySelector('.check .scroll'); return e.scrollWidth <= e.clientWidth; })()")


def many(count, pictures):
    """Classes of that many pictures each."""
    drawn = [data for group in sketches().values() for data in group]
    return State({f"class {number}": [drawn[(number + k) % len(drawn)] for k in range(pictures)] for number in range(count)})


def test_classes_without_pictures_take_no_colours(serve):
    """Nine classes share eight colours."""
    state = many(8, 1)
    state.order = {"empty": [], **state.order}
    _, page = serve(state)
    page.until("document.querySelectorAll('.card:not(.new)').length === 9")
    colours = "[...document.querySelectorAll('.card:not(.new)')].map((c) => [c.dataset.key, c.querySelector('.dot').style.background])"
    before = dict(page.run(colours))
    assert len({colour for name, colour in before.items() if name != "empty"}) == 8
    page.draw(lightning(0))
    page.until("document.querySelector('.bars li')")
    page.click(page.card("empty", ".teach-this"))
    page.until(f"document.querySelector({page.card('empty', '.count')!r}).textContent === '1'")
    assert dict(page.run(colours)) == before


def test_no_card_is_cut(serve):
    _, page = serve(many(9, 7))
    page.until("document.querySelectorAll('.tile img').length === 63")
    assert page.run("""[...document.querySelectorAll('.card, .thumbs, .cards-scroll')].filter((e) => e.scrollHeight > e.clientHeight + 1).map((e) => e.className)""") == []
    assert page.run("""(() => { const inside = document.querySelector('.teach').getBoundingClientRect();
        return [...document.querySelectorAll('.card')].filter((c) => c.getBoundingClientRect().bottom > inside.bottom).length; })()""") == 0


def test_the_answer_stays_in_sight_beside_many_classes(serve):
    _, page = serve(many(30, 2))
    page.draw(house(0))
    page.until("document.querySelector('.bars li')")
    page.run("document.querySelectorAll('.card')[24].scrollIntoView()")
    assert page.run("scrollY") > 1000
    top, bottom = page.run("(() => { const b = document.querySelector('.word').getBoundingClientRect(); return [b.top, b.bottom]; })()")
    assert 0 <= top < bottom < 900


def test_cards_have_their_height_before_they_are_seen(serve):
    _, page = serve(many(30, 7))
    page.until("document.querySelector('.tile img')")
    before = page.run("document.querySelector('.teach').offsetHeight")
    page.run("document.querySelectorAll('.card')[29].scrollIntoView()")
    page.until("document.querySelectorAll('.card')[29].querySelector('.tile img')")
    assert page.run("document.querySelector('.teach').offsetHeight") == before


SMALL = """[...document.querySelectorAll("button, a, summary, input, .tile")].filter((e) => e.checkVisibility({visibilityProperty: true}) && !e.closest(".skip"))
    .filter((e) => { const b = e.getBoundingClientRect(); return b.width < %d || b.height < %d; }).map((e) => e.outerHTML.slice(0, 120))""" % (FINGER, FINGER)


def test_fingers_hit_what_they_mean(serve):
    _, page = serve(State(sketches()), width=360, height=740)
    page.draw(face(0))
    page.until("document.querySelector('.bars li') && document.querySelector('.next li')")
    assert page.run("document.querySelector('.word').getBoundingClientRect().bottom + scrollY") < 740
    page.run(WHOLE)
    assert page.run(SMALL) == []
    for key in ("e", "?"):
        page.press(key)
        page.until("document.querySelector('dialog[open]')")
        assert page.run(SMALL) == []
        page.press("Escape")
    page.click(".tile")
    page.until("document.querySelector('.picture-dialog').open")
    assert page.run(SMALL) == []


def test_a_classifier_without_pictures_shows_classes_and_numbers(serve):
    state = State(sketches())
    state.has_pictures = False
    _, page = serve(state)
    page.until_classes(butterfly=5, clock=5, coffee_cup=5)
    assert "not the pictures themselves" in page.run("document.querySelector('.no-pictures:not([hidden])').textContent")
    page.draw(face(0))
    page.until("document.querySelector('.bars li') && document.querySelector('.next li')")
    page.run(WHOLE)
    assert page.until("document.querySelectorAll('.neighbours li').length") == 3
    page.click(".next button")
    page.until("document.querySelector('.picture-dialog').open")
    page.press("Escape")
    assert page.run("document.querySelectorAll('.tile, .thumb').length") == 0
    assert not any("/api/pictures/" in address for address in page.requests)


def test_a_picture_that_cannot_be_read_is_not_shown_black(serve, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no picture")
    _, page = serve(State(sketches()))
    page.drop(".ask", tmp_path / "broken.png")
    page.until("document.querySelector('.word').textContent === 'I cannot read this'")
    page.until("document.querySelector('.shown').offsetParent === null && document.querySelector('.pad-hint p').offsetParent !== null")


def standing(told):
    """The same map on its side: x is what goes down, y what goes to the left."""
    width, height = told["cells"]["width"], told["cells"]["height"]
    labels = np.repeat([run[0] for run in told["cells"]["runs"]], [run[1] for run in told["cells"]["runs"]]).reshape(height, width).T
    x0, y0, x1, y1 = told["bounds"]
    return {"points": [{**point, "x": -point["y"], "y": -point["x"]} for point in told["points"]], "bounds": [-y1, -x1, -y0, -x0],
            "cells": {**told["cells"], "width": height, "height": width, "runs": [[int(label), 1] for label in labels.ravel()]}}


def test_a_map_that_stands_is_laid_down(serve):
    seen = []
    for turned in (lambda told: told, standing):
        state = State(sketches())
        state.has_pictures = False
        told = turned(state.map())
        state.map = lambda told=told: told
        _, page = serve(state)
        page.until("document.querySelector('.next li')")
        page.click(".check .tabs button:nth-child(2)")
        page.until("document.querySelector('.map')?.getAttribute('aria-label').startsWith('Map of 15')")
        width, height = page.run("[document.querySelector('.map').clientWidth, document.querySelector('.map').clientHeight]")
        assert height < width and height <= TALLEST_MAP
        page.run("document.querySelector('.map').scrollIntoView()")
        seen.append(np.asarray(Image.open(io.BytesIO(page.picture(".map"))).convert("RGB"), int))
    assert seen[0].std() > 10
    assert np.abs(seen[0] - seen[1]).max() <= 2


def test_reasons_that_are_taller_than_the_screen_can_be_read(serve):
    _, page = serve(many(12, 5), width=1024, height=600)
    page.draw(face(0))
    page.until("document.querySelector('.bars li')")
    page.run(WHOLE)
    page.until("document.querySelector('.ask-inner').offsetHeight > 600")
    # Again as long as reasons come in, which move what is below them.
    page.until("""(() => {
        const form = document.querySelector('.wrong form');
        form.scrollIntoView({block: 'end', behavior: 'instant'});
        return form.getBoundingClientRect().bottom < 601;
    })()""")


def negative(data):
    turned = io.BytesIO()
    Image.open(io.BytesIO(data)).convert("L").point(lambda value: 255 - value).save(turned, "PNG")
    return turned.getvalue()


@pytest.mark.parametrize("kind, inverted", (("sketch", ["clock"]), ("photograph", [])))
def test_light_strokes_are_ink_on_a_light_page_and_other_pictures_as_they_are(serve, kind, inverted):
    clocks = sketches()["clock"]
    _, page = serve(State({"clock": clocks, "paper": [negative(data) for data in clocks]}, kind))
    page.until("[...document.querySelectorAll('.tile img')].filter((i) => i.complete && i.naturalWidth > 0).length === 10")
    page.until(f"document.querySelectorAll('.strokes').length === {len(clocks) * len(inverted)}")
    assert page.run("""[...new Set([...document.querySelectorAll('.tile img')].filter((i) => getComputedStyle(i).filter === 'invert(1)')
        .map((i) => i.closest('.card').dataset.key))]""") == inverted
