"""The page of `deepvoro serve` has no serious faults that axe-core finds. A file of its own: where it cannot run, ctest says so."""
import pytest
from axe import SERIOUS, axe_source
from browser import find_browser
from mock_server import State, sketches
from page_fixtures import WHOLE, browser, serve  # noqa: F401
from served_page import face

if find_browser() is None:
    pytest.skip("no Chromium: apt-get install chromium-headless-shell", allow_module_level=True)

AXE = axe_source()


@pytest.fixture
def examined(serve, browser):
    """A page with an answer, its reasons and its corrections, and axe-core in it."""
    def examine(**screen):
        _, page = serve(State(sketches()), **screen)
        page.draw(face(0))
        page.until("document.querySelector('.bars li')")
        page.run(WHOLE)
        page.call("Page.setBypassCSP", enabled=True)
        page.run(AXE + "; undefined")
        return page

    yield examine
    browser.call("Page.setBypassCSP", enabled=False)


@pytest.mark.parametrize("dark", (False, True))
@pytest.mark.parametrize("width", (360, 1440))
def test_everybody_can_use_it(examined, width, dark):
    assert examined(width=width, dark=dark).run(SERIOUS) == []


def test_everybody_can_use_what_opens(examined):
    page = examined()
    for tab in (2, 3):
        page.click(f".check .tabs button:nth-child({tab})")
        assert page.run(SERIOUS) == []
    for key in ("e", "?"):
        page.run("document.activeElement.blur()")
        page.press(key)
        page.until("document.querySelector('dialog[open]')")
        assert page.run(SERIOUS) == []
        page.press("Escape")
