"""The page of `deepvoro serve` in a browser, as a person uses it: mouse, keys, dropped files."""
import json
import math
import os
from pathlib import Path

import pytest
from browser import Browser
from conftest import REPOSITORY

CAMERA = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
CODES = {"Enter": 13, "Escape": 27, "Delete": 46, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "ArrowUp": 38, " ": 32}
CONTROL, SHIFT = 2, 8


def built_page():
    folder = Path(os.environ.get("DEEPVORO_BUILD", REPOSITORY / "build")) / "page"
    if not (folder / "index.html").is_file():
        pytest.skip("the page is not built: apt-get install esbuild, then make build")
    return folder


class ServedPage(Browser):
    def __init__(self, *flags):
        super().__init__(*CAMERA, *flags, is_online=True)

    def visit(self, address, width=1440, height=900, dark=False):
        self.messages.clear()
        self.requests.clear()
        self.size(width, height, dark=dark)
        self.open(address)
        self.until("document.querySelector('.summary')?.textContent")

    # --- what is there ---
    def box(self, selector):
        self.until(f"document.querySelector({json.dumps(selector)})")
        return self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}}); const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()")

    def middle(self, selector):
        x, y, width, height = self.box(selector)
        return x + width / 2, y + height / 2

    def classes(self):
        """Names and numbers of pictures, as the cards tell them."""
        return dict(self.run("[...document.querySelectorAll('.card:not(.new)')].map((c) => [c.querySelector('.name').textContent, Number(c.querySelector('.count').textContent)])"))

    def until_classes(self, **expected):
        """Cards with these numbers, and no others."""
        wanted = json.dumps({name.replace("_", " "): count for name, count in sorted(expected.items())})
        self.until("JSON.stringify(Object.fromEntries([...document.querySelectorAll('.card:not(.new)')].map((c) => [c.querySelector('.name')?.textContent, Number(c.querySelector('.count').textContent)]).sort()))"
                   f" === JSON.stringify({wanted})")

    def until_answer(self, word):
        self.until(f"document.querySelector('.word:not(.quiet)')?.textContent === {json.dumps(word)}")

    def card(self, name, part=""):
        return f".card[data-key={json.dumps(name)}] {part}"

    def active(self):
        return self.run("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")

    # --- what a person does ---
    def mouse(self, kind, x, y, buttons=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if kind != "mouseMoved" or buttons else "none", buttons=buttons, clickCount=1)

    def click(self, selector):
        x, y = self.middle(selector)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y)

    def press(self, key, modifiers=0):
        values = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": CODES.get(key, ord(key[0].upper())), "code": f"Key{key.upper()}" if key.isalpha() and len(key) == 1 else key}
        text = "\r" if key == "Enter" else key if len(key) == 1 and not modifiers & CONTROL else None
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **values, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **values)

    def type(self, words):
        self.call("Input.insertText", text=words)

    def draw(self, strokes):
        """Strokes of points in a square from 0 to 1."""
        x, y, width, height = self.box(".pad")
        for stroke in strokes:
            places = [(x + width * (0.15 + 0.7 * u), y + height * (0.15 + 0.7 * v)) for u, v in stroke]
            self.mouse("mousePressed", *places[0], 1)
            for place in places[1:]:
                self.mouse("mouseMoved", *place, 1)
            self.mouse("mouseReleased", *places[-1])

    def teach_drawings(self, name, drawing, count):
        """Draws and teaches as a visitor would: the first one by a new name, the others by the button of its card."""
        for k in range(count):
            self.draw(drawing(k))
            self.until("document.querySelector('.bars li') && !document.querySelector('.teach-this:disabled')")
            if k == 0:
                self.click("#new-class")
                self.type(name)
                self.press("Enter")
            else:
                self.click(self.card(name, ".teach-this"))
            self.until(f"document.querySelector({json.dumps(self.card(name, '.count'))})?.textContent === '{k + 1}'")

    def drop(self, selector, *paths):
        x, y = self.middle(selector)
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def drag(self, source, target):
        """Drags an element of the page onto another."""
        self.call("Input.setInterceptDrags", enabled=True)
        x, y = self.middle(source)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseMoved", x + 8, y + 8, 1)
        self.mouse("mouseMoved", x + 16, y + 8, 1)
        data = self.wait_for("Input.dragIntercepted")["data"]
        x, y = self.middle(target)
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)
        self.mouse("mouseReleased", x, y)
        self.call("Input.setInterceptDrags", enabled=False)


# --- drawings ---
def circle(x=0.5, y=0.5, radius=0.5, wobble=0.0, turn=0.0):
    return [(x + radius * (1 + wobble * math.sin(3 * t + turn)) * math.cos(t), y + radius * math.sin(t)) for t in (turn + 2 * math.pi * i / 24 for i in range(25))]


def face(k):
    return [circle(wobble=0.04 * k, turn=k), circle(0.3, 0.35, 0.06), circle(0.7, 0.35, 0.06), [(0.28, 0.65), (0.4, 0.76 + 0.02 * k), (0.6, 0.76 + 0.02 * k), (0.72, 0.65)]]


def house(k):
    roof = 0.38 + 0.03 * k
    return [[(0, roof), (0.5, 0.02 * k), (1, roof)], [(0.08, roof), (0.08, 1), (0.92, 1), (0.92, roof)], [(0.42, 1), (0.42, 0.68), (0.6, 0.68), (0.6, 1)]]


def lightning(k):
    return [[(0.62, 0), (0.3 + 0.03 * k, 0.55), (0.55, 0.5), (0.36, 1)]]


def cross(k):
    """Nothing like the others."""
    return [[(0.03 * k, 0), (1, 1)], [(1, 0.03 * k), (0, 1)]]
