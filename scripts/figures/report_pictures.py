#!/usr/bin/env python3
"""Pictures of a report for README: a headless Chromium opens the page and takes them.

    python3 scripts/figures/report_pictures.py build/demo/report.html docs/pictures
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/python"))
from browser import Browser  # noqa: E402

WIDTH, HEIGHT = 1240, 980


def main(page, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        for dark in (False, True):
            name = "dark" if dark else "light"
            browser.size(WIDTH, HEIGHT, dark=dark)
            browser.open(page)
            browser.run("document.fonts.ready")
            (folder / f"report-{name}.png").write_bytes(browser.picture(height=HEIGHT))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    main(Path(sys.argv[1]), Path(sys.argv[2]))
