"""A stand-in for `deepvoro serve` in the tests of its page: the same API over pictures in memory, with an answer by nearest means of
pixels, and states that a real server seldom has: loading, full disk, thousands of pictures.

    python3 mock_server.py PAGE_FOLDER [PORT]
"""
import email.parser
import email.policy
import io
import json
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
from PIL import Image

SKETCHES = Path(__file__).resolve().parents[2] / "src/serve/sketches"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
CSP = "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
UNKNOWN_BEYOND = 0.93


def sketches():
    """What a new project begins with."""
    return {folder.name: [file.read_bytes() for file in sorted(folder.iterdir())] for folder in sorted(SKETCHES.iterdir())}


def embed(data):
    """A blurred 16x16 thumbnail of unit length, or an Error of one line."""
    try:
        picture = Image.open(io.BytesIO(data)).convert("L").resize((32, 32), Image.BILINEAR)
    except Exception:
        raise ValueError("is not a picture of a kind that can be read") from None
    values = np.asarray(picture, float)
    blurred = sum(np.roll(values, (dy, dx), (0, 1)) for dy in range(-2, 3) for dx in range(-2, 3))[::2, ::2].ravel()
    blurred -= blurred.mean()
    return blurred / (np.linalg.norm(blurred) or 1)


class Refusal(Exception):
    def __init__(self, status, words):
        super().__init__(words)
        self.status = status


class State:
    """Classes in order, each a list of ids, newest first; every change keeps the old order for undo."""

    def __init__(self, classes, input_kind="sketch"):
        self.lock = threading.RLock()
        self.bytes, self.rows, self.order = {}, {}, {}
        self.revision, self.number = 1, 0
        self.undo, self.redo = [], []
        self.answered, self.group = {}, None
        self.token, self.read_only, self.loading, self.full, self.input = "secret", False, None, False, input_kind
        self.has_pictures = True
        for name, pictures in classes.items():
            self.order[name] = [self.keep(data) for data in pictures][::-1]

    def keep(self, data):
        row = embed(data)
        self.number += 1
        identity = f"p{self.number}"
        self.bytes[identity], self.rows[identity] = data, row
        return identity

    def change(self, words, make, group=None):
        if self.full:
            raise Refusal(507, "No space left on device.")
        before = {name: list(ids) for name, ids in self.order.items()}
        answer = make() or {}
        if group is None or group != self.group:
            self.undo.append((words, before))
        self.group = group
        self.redo.clear()
        self.revision += 1
        return {**answer, "revision": self.revision}

    def step(self, source, target):
        if not source:
            raise Refusal(400, "nothing to undo")
        words, before = source.pop()
        target.append((words, self.order))
        self.order, self.group = before, None
        self.revision += 1
        return {"revision": self.revision, "did": words}

    def class_of(self, identity):
        for name, ids in self.order.items():
            if identity in ids:
                return name
        raise Refusal(404, f"there is no picture {identity}")

    def means(self, without=None):
        found = {}
        for name, ids in self.order.items():
            rows = [self.rows[i] for i in ids if i != without]
            if rows:
                found[name] = np.mean(rows, axis=0)
        return found

    def answer(self, row, means):
        distances = {name: float(np.linalg.norm(row - mean)) for name, mean in means.items()}
        weights = {name: np.exp(-12 * distance ** 2) for name, distance in distances.items()}
        total = sum(weights.values())
        nearest = min(distances, key=distances.get)
        return {"class": "unknown" if distances[nearest] > UNKNOWN_BEYOND else nearest, "nearest": nearest, "unknown": distances[nearest] > UNKNOWN_BEYOND, "distance": distances[nearest],
                "threshold": UNKNOWN_BEYOND, "probabilities": {name: weight / total for name, weight in weights.items()}}

    def predict(self, data):
        try:
            row = embed(data)
        except ValueError as error:
            return {"error": f"the picture {error}"}
        means = self.means()
        if not means:
            raise Refusal(400, "there are no pictures yet")
        answer = self.answer(row, means)
        near = sorted((float(np.linalg.norm(row - self.rows[i])), i) for ids in self.order.values() for i in ids)[:5]
        votes = [{"view": view, "class": self.answer(turned, means)["nearest"]} for view, turned in
                 (("s28_r0_f0", row), ("s28_r0_f1", row.reshape(16, 16)[:, ::-1].ravel()), ("s26_r0_f0", row), ("s26_r0_f1", row))]
        answer["why"] = {"nearest": [{"id": i, "class": self.class_of(i), "distance": d} for d, i in near], "views": votes, "diagrams": [{"diagram": "ridge", "class": answer["nearest"]}, {"diagram": "vd", "class": answer["nearest"]}],
                         "distance": answer["distance"], "threshold": UNKNOWN_BEYOND}
        return answer

    def left_out(self):
        found = []
        for name, ids in self.order.items():
            for i in ids:
                answer = self.answer(self.rows[i], self.means(i))
                found.append({"id": i, "class": name, "answer": answer["nearest"], "probability": answer["probabilities"][answer["nearest"]]})
        return found

    def check(self):
        found = self.left_out()
        names = list(self.order)
        counts = [[sum(f["class"] == a and f["answer"] == b for f in found) for b in names] for a in names]
        wrong = sorted((f for f in found if f["class"] != f["answer"]), key=lambda f: -f["probability"])
        doubtful = sorted((f for f in found if f["class"] == f["answer"] and f["probability"] < 0.7), key=lambda f: f["probability"])
        return {"accuracy": 100 * (1 - len(wrong) / len(found)), "right": len(found) - len(wrong), "of": len(found),
                "confusion": {"classes": names, "counts": counts}, "wrong": wrong, "doubtful": doubtful}

    def map(self):
        ids = [(i, name) for name, members in self.order.items() for i in members]
        rows = np.array([self.rows[i] for i, _ in ids])
        plane = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:2]
        points = (rows - rows.mean(axis=0)) @ plane.T
        names = list(self.order)
        centers = np.array([points[[k for k, (_, n) in enumerate(ids) if n == name]].mean(axis=0) for name in names])
        (x0, y0), (x1, y1) = points.min(axis=0) - 0.1, points.max(axis=0) + 0.1
        width, height = 160, 100
        grid = np.stack(np.meshgrid(np.linspace(x0, x1, width), np.linspace(y1, y0, height)), -1)
        cells = np.linalg.norm(grid[:, :, None] - centers, axis=3).argmin(axis=2).ravel()
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        lengths = np.diff(np.append(starts, len(cells)))
        return {"points": [{"id": i, "class": name, "x": x, "y": y} for (i, name), (x, y) in zip(ids, points.tolist())],
                "cells": {"width": width, "height": height, "classes": names, "runs": [[int(cells[s]), int(n)] for s, n in zip(starts, lengths)]},
                "bounds": [x0, y0, x1, y1]}

    def zip(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, ids in self.order.items():
                for i in ids:
                    archive.writestr(f"pictures/{name}/{i}.png", self.bytes[i])
        return out.getvalue()

    def take_zip(self, data):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.namelist():
                name = Path(entry).parent.name
                self.order.setdefault(name, []).insert(0, self.keep(archive.read(entry)))


def parts_of(kind, body):
    """(file name, bytes) of one picture or of a form with several."""
    if not kind.startswith("multipart/"):
        return [("picture", body)]
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    return [(part.get_filename(), part.get_payload(decode=True)) for part in message.iter_parts()]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body, kind="application/json", headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", len(data)), ("Content-Security-Policy", CSP), *headers):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def handle_any(self):
        if self.server.is_gone:
            self.close_connection = True
            return
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        address = urlsplit(self.path)
        steps = [unquote(step) for step in address.path.split("/")[1:]]
        state = self.server.state
        try:
            if state.loading is not None and steps[0] == "api" and steps != ["api", "health"]:
                raise Refusal(503, "the network is being loaded")
            with state.lock:
                if self.command == "GET":
                    self.answer_get(state, steps, parse_qs(address.query))
                else:
                    self.answer_change(state, steps, body)
        except Refusal as refusal:
            self.reply(refusal.status, {"error": str(refusal)})

    do_GET = do_POST = do_DELETE = handle_any

    def answer_get(self, state, steps, query):
        match steps:
            case [""]:
                page = (self.server.page / "index.html").read_text().replace("@token@", state.token)
                self.reply(200, page.encode(), TYPES[".html"])
            case ["assets", name]:
                self.reply(200, (self.server.page / "assets" / name).read_bytes(), TYPES[Path(name).suffix])
            case ["api", "health"]:
                loading = state.loading is not None
                self.reply(200, {"status": "loading" if loading else "ok", "version": "0", "backbone": "quickdraw-conv4", **({"seconds_left": state.loading} if loading else {})})
            case ["api", "project"]:
                self.reply(200, {"name": "sketches", "folder": "/home/ada/deepvoro/projects/sketches", "read_only": state.read_only, "has_pictures": state.has_pictures, "backbone": "quickdraw-conv4",
                                 "size": 28, "input": state.input, "revision": state.revision, "undo": state.undo[-1][0] if state.undo else None,
                                 "redo": state.redo[-1][0] if state.redo else None,
                                 "commands": ["deepvoro fit sketches/pictures --out sketches.dv", "deepvoro predict sketches.dv PICTURE", "deepvoro serve sketches"]})
            case ["api", "classes"]:
                self.reply(200, {"revision": state.revision, "classes": [{"name": name, "pictures": len(ids)} for name, ids in state.order.items()]})
            case ["api", "classes", name, "pictures"]:
                if name not in state.order:
                    raise Refusal(404, f"there is no class {name}")
                start, count = int(query["from"][0]), int(query["count"][0])
                wrong = {f["id"] for f in state.check()["wrong"]} if len(state.rows) < 200 and len(state.means()) > 1 else set()
                self.reply(200, {"pictures": [{"id": i, "kind": "picture", "wrong": i in wrong, "doubt": 0} for i in state.order[name][start:start + count]]})
            case ["api", "pictures", identity, *_]:
                self.reply(200, state.bytes[identity], "image/png", [("Cache-Control", "private, max-age=31536000, immutable")])
            case ["api", "check"]:
                self.reply(200, state.check())
            case ["api", "map"]:
                self.reply(200, state.map())
            case ["api", "classifier"]:
                self.reply(200, b"classifier", "application/octet-stream")
            case ["api", "project.zip"]:
                self.reply(200, state.zip(), "application/zip")
            case _:
                raise Refusal(404, "there is nothing here")

    def answer_change(self, state, steps, body):
        if steps == ["api", "predict"]:
            return self.reply(200, {"answers": [state.predict(data) for _, data in parts_of(self.headers["Content-Type"], body)]})
        if self.headers.get("X-Deepvoro-Token") != state.token:
            raise Refusal(403, "the token is not the one of this server")
        if state.read_only:
            raise Refusal(403, "this server is read-only")
        number = self.headers.get("X-Deepvoro-Request")
        if number not in state.answered:
            state.answered[number] = self.make_change(state, steps, body)
        return self.reply(200, state.answered[number])

    def make_change(self, state, steps, body):
        def asked():
            return json.loads(body)

        match (self.command, steps):
            case ("POST", ["api", "classes"]):
                return state.change(f"new class {asked()['name']}", lambda: state.order.setdefault(asked()["name"], []) and None)
            case ("POST", ["api", "classes", name, "pictures"]):
                return state.change(f"teach {name}", lambda: self.teach(state, name, body), self.headers.get("X-Deepvoro-Group"))
            case ("POST", ["api", "classes", name, "rename"]):
                def rename():
                    state.order = {asked()["to"] if n == name else n: ids for n, ids in state.order.items()}
                return state.change(f"rename {name}", rename)
            case ("DELETE", ["api", "classes", name]):
                return state.change(f"remove {name}", lambda: state.order.pop(name) and None)
            case ("POST", ["api", "pictures", identity, "move"]):
                def move():
                    state.order[state.class_of(identity)].remove(identity)
                    state.order.setdefault(asked()["to"], []).insert(0, identity)
                return state.change(f"move a picture to {asked()['to']}", move)
            case ("DELETE", ["api", "pictures", identity]):
                return state.change("remove a picture", lambda: state.order[state.class_of(identity)].remove(identity))
            case ("POST", ["api", "undo"]):
                return state.step(state.undo, state.redo)
            case ("POST", ["api", "redo"]):
                return state.step(state.redo, state.undo)
            case ("POST", ["api", "project.zip"]):
                return state.change("import", lambda: state.take_zip(body))
        raise Refusal(404, "there is nothing here")

    def teach(self, state, name, body):
        added, refused = [], []
        for index, (file, data) in enumerate(parts_of(self.headers["Content-Type"], body)):
            try:
                identity = state.keep(data)
            except ValueError as error:
                refused.append({"index": index, "name": file, "error": str(error)})
                continue
            state.order.setdefault(name, []).insert(0, identity)
            added.append({"id": identity})
        return {"added": added, "known": [], "refused": refused, "notes": []}


class MockServer:
    """Serves until the end of a with block; can go away and come back at the same port."""

    def __init__(self, page, state, port=0):
        self.page, self.state, self.port = Path(page), state, port

    def start(self):
        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self._server.page, self._server.state, self._server.is_gone = self.page, self.state, False
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def stop(self):
        self._server.is_gone = True  # also for connections that are open
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}/"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


def main():
    with MockServer(sys.argv[1], State(sketches()), int(sys.argv[2]) if len(sys.argv) > 2 else 8081) as server:
        print(server.address)
        server._thread.join()


if __name__ == "__main__":
    main()
