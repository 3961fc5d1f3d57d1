"""What a program shows on a terminal."""
import os
import pty
import signal
import subprocess

import pytest


def run_on_terminal(command, ctrl_c_at=None, **environment):
    """Exit code and what stderr shows; `ctrl_c_at`: Ctrl-C comes as soon as that has this text in it."""
    terminal, stderr = open_terminal()
    process = subprocess.Popen(list(map(str, command)), stderr=stderr, stdout=subprocess.DEVNULL,
                               env={**os.environ, **environment})
    os.close(stderr)
    shown = b""
    while chunk := read_terminal(terminal):
        shown += chunk
        if ctrl_c_at and ctrl_c_at.encode() in shown:
            process.send_signal(signal.SIGINT)
            ctrl_c_at = None
    os.close(terminal)
    assert ctrl_c_at is None, shown
    return process.wait(), shown.decode()


def open_terminal():
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"this machine gives no terminal: {error}")


def read_terminal(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # all has been read, and nobody writes any more
        return b""
