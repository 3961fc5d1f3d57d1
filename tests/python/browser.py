"""A headless Chromium, driven by its DevTools protocol over a pair of pipes: needs nothing but Debian's package."""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("chromium-headless-shell", "chromium")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
         "--force-color-profile=srgb", "--remote-debugging-pipe")

PATIENCE_MS = 200_000


def find_browser():
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """One page. Collects what it says on its console and what it asks the network for, which there is only for pages of a server."""

    def __init__(self, *flags, is_online=False):
        self.messages, self.requests, self.events = [], [], []
        self._numbers = itertools.count(1)
        self._unread = b""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4.
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$@" 3<&{read_there} 4>&{write_there}', "bash", find_browser(), *FLAGS, *flags, f"--user-data-dir={self._profile.name}"],
            pass_fds=(read_there, write_there), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_there)
        os.close(write_there)
        self._in, self._out = read_here, write_here
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        if not is_online:
            self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._out)
        os.close(self._in)
        self._process.kill()
        self._process.wait()
        self._profile.cleanup()

    def _read(self, deadline, awaited):
        while b"\0" not in self._unread:
            if not select.select([self._in], [], [], max(0, deadline - time.monotonic()))[0]:
                self._process.kill()  # so that later tests need not wait as long
                raise AssertionError(f"the browser does not answer: {awaited}")
            more = os.read(self._in, 1 << 20)
            assert more, "the browser has gone"
            self._unread += more
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)

    def _take(self, message):
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(a.get("value", a.get("description"))) for a in values["args"]))
        elif method == "Runtime.exceptionThrown":
            self.messages.append(values["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Log.entryAdded":
            self.messages.append(" ".join(filter(None, (values["entry"]["text"], values["entry"].get("url")))))
        elif method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            # A page with changes that wait asks whoever leaves it; until that is answered, the browser answers nothing else.
            assert values["type"] == "beforeunload", values["message"]
            self._send("Page.handleJavaScriptDialog", accept=True)
        self.events.append((method, values))

    def _send(self, method, **values):
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": values}
        if self._session and not method.startswith(("Target.", "Browser.")):
            command["sessionId"] = self._session
        os.write(self._out, json.dumps(command).encode() + b"\0")
        return number

    def _answer(self, number, deadline, awaited):
        """The answer to that command, or None for something else, which is taken."""
        message = self._read(deadline, awaited)
        if "method" in message:
            self._take(message)
        return message if message.get("id") == number else None

    def call(self, method, **values):
        deadline = time.monotonic() + 2 * PATIENCE_MS / 1000  # `until` gives up before
        number = self._send(method, **values)
        while (answer := self._answer(number, deadline, method)) is None:
            pass
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def wait_for(self, method, is_meant=lambda values: True):
        """The next event that is meant, or one that came while something else was asked."""
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while True:
            for i, (name, values) in enumerate(self.events):
                if name == method and is_meant(values):
                    del self.events[i]
                    return values
            self._answer(None, deadline, method)

    def size(self, width, height=900, dark=False, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self, page):
        """A file, or an address. Returns when it is loaded: a browser that is sent on before answers neither."""
        self.events.clear()
        self.call("Page.navigate", url=page if str(page).startswith(("http://", "about:")) else Path(page).resolve().as_uri())
        self.wait_for("Page.loadEventFired")

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, condition):
        """Waits, frame by frame, for what the page has started; what never comes is a failure. Returns what came."""
        return self.run(f"""new Promise((done, failed) => {{ const start = performance.now(); const look = () => {{ const found = {condition};
            if (found) done(found); else if (performance.now() - start > {PATIENCE_MS}) failed(new Error("never: " + {json.dumps(condition)}));
            else setTimeout(look, 16); }}; look(); }})""")

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, selector=None, height=None):
        """PNG of the whole page, or of its top, or of one element."""
        area = "document.documentElement" if selector is None else f"document.querySelector({json.dumps(selector)})"
        box = self.run(f"(() => {{ const b = {area}.getBoundingClientRect(); return [b.x + scrollX, b.y + scrollY, b.width, b.height]; }})()")
        clip = dict(zip(("x", "y", "width", "height"), box), scale=1)
        clip["height"] = height or clip["height"]
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"])
