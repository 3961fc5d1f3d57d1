#!/usr/bin/env python3
"""Pictures of the page of `deepvoro serve` for docs/SERVE.md: a headless Chromium draws and takes them.

    python3 scripts/figures/serve_pictures.py build/bin/deepvoro docs/pictures
"""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/python"))
from served_page import ServedPage, cross, face, house  # noqa: E402
from serving import Serving  # noqa: E402

WIDTH, HEIGHT = 1360, 860
SETTLED = "[...document.images].every((i) => i.complete) && document.querySelector('.check-words strong')"


def take(page, file, selector=None):
    page.until(SETTLED)
    page.run("scrollTo(0, 0)")
    file.write_bytes(page.picture(selector))


def main(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, Serving(program, data=data) as server, ServedPage() as page:
        page.visit(server.url, WIDTH, HEIGHT)
        page.teach_drawings("face", face, 3)
        page.teach_drawings("house", house, 3)
        page.press("x")
        page.draw(face(1.5))
        page.until_answer("face")
        page.until("document.querySelector('.check-words strong')?.textContent.endsWith('of 21')")
        take(page, folder / "serve-light.png")
        page.press("x")
        page.draw(cross(0))
        page.until("document.querySelector('.bars li')")
        page.run("document.querySelector('.why').open = true")
        page.size(WIDTH, HEIGHT, dark=True)
        page.until("document.querySelector('.neighbours img')")
        take(page, folder / "serve-why-dark.png", ".ask")
        page.size(WIDTH, HEIGHT)
        page.click(".check .tabs button:nth-child(2)")
        page.until("document.querySelector('.map')?.getAttribute('aria-label').startsWith('Map of 21')")
        page.run("Promise.all([...performance.getEntriesByType('resource')].filter((e) => e.name.endsWith('thumbnail')).map((e) => fetch(e.name)))")
        page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        take(page, folder / "serve-map.png", ".check")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
