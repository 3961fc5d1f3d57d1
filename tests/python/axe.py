"""Faults of a page that keep people out, as axe-core finds them. It comes by npm, and only where there is one."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import REPOSITORY

NAME, VERSION, SHA256 = "axe-core", "4.10.2", "9ea2d2d6917da998122bdacfd3b473e31ead53f4b87146c716a12edf89158100"
SERIOUS = """axe.run({resultTypes: ["violations"]}).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
    .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`))"""


def axe_source():
    if shutil.which("npm") is None:
        pytest.skip("axe-core comes by npm, and there is none", allow_module_level=True)
    folder = Path(os.environ.get("DEEPVORO_BUILD", REPOSITORY / "build")) / "axe"
    source = folder / "package" / "axe.min.js"
    if not source.is_file():
        fetched = subprocess.run([REPOSITORY / "scripts/npm_package.sh", NAME, VERSION, SHA256, folder], capture_output=True, text=True)
        if fetched.returncode != 0:
            pytest.skip(f"{NAME} cannot be fetched: {fetched.stderr.strip()}", allow_module_level=True)
    return source.read_text(encoding="utf-8")
