"""The page of a stand-in server, in a browser."""
import pytest
from mock_server import MockServer
from served_page import ServedPage, built_page

WHOLE = "(() => { document.querySelector('.why').open = true; document.querySelector('.wrong').open = true; })()"


@pytest.fixture(scope="module")
def browser():
    with ServedPage() as opened:
        yield opened


@pytest.fixture
def serve(browser):
    """A page of a stand-in server with that state."""
    servers = []

    def start(state, **screen):
        server = MockServer(built_page(), state)
        servers.append(server)
        server.start()
        browser.visit(server.address, **screen)
        return server, browser

    yield start
    try:
        browser.open("about:blank")
    finally:
        for server in servers:
            server.stop()
