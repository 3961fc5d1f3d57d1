"""The page of a server that others can reach, which wants a token, at a name that is not this machine's own."""
import pytest
from browser import find_browser
from served_page import ServedPage, built_page, lightning
from serving import Serving

if find_browser() is None:
    pytest.skip("no Chromium: apt-get install chromium-headless-shell", allow_module_level=True)

HOST = "lab.test"


@pytest.fixture(scope="module")
def server(program, tmp_path_factory):
    built_page()
    folder = tmp_path_factory.mktemp("public")
    with Serving(program, "--listen", "0.0.0.0", "--host", HOST, "--token-file", folder / "token", data=folder / "data") as served:
        yield served


@pytest.fixture
def page():
    with ServedPage(f"--host-resolver-rules=MAP {HOST} 127.0.0.1") as opened:
        opened.size(1440)
        yield opened


@pytest.mark.parametrize("query", ("", "?token=wrong"))
def test_a_token_that_is_missing_or_wrong_is_told_once(page, server, query):
    address = f"http://{HOST}:{server.port}/"
    page.open(address + query)
    words = page.until("!document.querySelector('.banner').hidden && document.querySelector('.banner').textContent")
    assert words.startswith(f"The token is missing or wrong. Open {address}?token= ")
    page.requests.clear()
    page.run("document.dispatchEvent(new Event('visibilitychange'))")  # as when somebody comes back to the page
    page.run("fetch('/api/health').then((answer) => answer.status)")
    assert page.requests == [f"{address}api/health"]


def test_whoever_has_the_token_teaches_from_elsewhere(page, server):
    page.visit(f"http://{HOST}:{server.port}/?token={server.token}")
    page.until_classes(butterfly=5, clock=5, coffee_cup=5)
    assert page.run("document.querySelector('.promise').textContent") == f"everything stays on {HOST}"
    page.teach_drawings("lightning", lightning, 1)
    # Browsers heed that header over https and on this machine alone, and say so.
    assert [words for words in page.messages if "Cross-Origin-Opener-Policy" not in words] == []
