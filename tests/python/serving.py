"""A running `deepvoro serve`, and a client for it."""
import http.client
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote


class Serving:
    """Started with `arguments`; the port is the system's choice."""

    def __init__(self, program, *arguments, data):
        self.process = subprocess.Popen(
            [program, "serve", *map(str, arguments), "--port", "0"],
            env={**os.environ, "DEEPVORO_DATA": str(data)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.url = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://([^/]+):(\d+)/(?:\?token=(\w+))?", self.url)
        assert found, self.url + self.process.stderr.read()
        self.port, self.token = int(found[2]), found[3]
        if "--token-file" in arguments:
            assert self.token is None
            self.token = Path(arguments[arguments.index("--token-file") + 1]).read_text().strip()
        self.messages = []

    def wait_until_ready(self):
        for line in self.process.stderr:
            self.messages.append(line)
            if line.startswith("serving "):
                return self
        raise AssertionError("".join(self.messages))

    def __enter__(self):
        return self.wait_until_ready()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self):
        """Asks it to stop; its exit code, and what it said since it was ready."""
        self.process.send_signal(signal.SIGTERM)
        _, stderr = self.process.communicate()
        return self.process.returncode, stderr

    def stop(self):
        code, stderr = self.end()
        assert code == 0, stderr

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def ask(self, method, path, body=None, headers=None):
        """Status and body."""
        connection = self.connect()
        try:
            connection.request(method, path, body, {"X-Deepvoro-Token": self.token, **(headers or {})})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=None):
        if isinstance(body, dict):
            body = json.dumps(body)
        status, text = self.ask(method, path, body, headers)
        assert status == 200, (status, text)
        return json.loads(text)

    def teach(self, name, *files):
        body, headers = form(files)
        return self.json("POST", f"/api/classes/{quote(name)}/pictures", body, headers)

    def resident_bytes(self):
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        return int(fields["VmRSS"].split()[0]) * 1024


def form(files):
    """multipart/form-data of (name, bytes)."""
    boundary = b"d33pv0r0"
    parts = b"".join(
        b"--" + boundary + b'\r\nContent-Disposition: form-data; name="picture"; filename="' + name.encode() + b'"\r\n\r\n' + data + b"\r\n"
        for name, data in files
    )
    return parts + b"--" + boundary + b"--\r\n", {"Content-Type": f"multipart/form-data; boundary={boundary.decode()}"}
