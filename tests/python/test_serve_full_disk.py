"""deepvoro serve on a disk that is full: what cannot be kept is refused, and nothing else is lost."""
import json
import subprocess

import pytest
from serving import Serving
from sketches import sketches_of

CLASSES = ("bed", "car", "chair")


@pytest.fixture
def disk(tmp_path):
    """A file system of its own, with little room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(disk):
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as out:
        try:
            while out.write(bytes(4096)):
                pass
        except OSError as error:
            assert error.strerror == "No space left on device"
    return filler


def files_in(folder):
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_a_picture_is_refused_while_the_disk_is_full(program, deepvoro, disk, tmp_path):
    sketches = sketches_of(CLASSES)
    project = disk / "project"
    with Serving(program, project, data=tmp_path) as serving:
        for name in CLASSES:
            serving.teach(name, *sketches[name][:2])
        before = serving.json("GET", "/api/classes")
        taught = files_in(project / "pictures")
        filler = fill(disk)
        for name in ("bed", "new class"):
            headers = {"X-Deepvoro-Request": f"sent again: {name}"}
            status, text = serving.ask("POST", f"/api/classes/{name.replace(' ', '%20')}/pictures", sketches["bed"][2][1], headers)
            assert status == 507
            error = json.loads(text)["error"]
            assert "\n" not in error and "No space left on device" in error
        assert serving.json("GET", "/api/classes") == before
        assert files_in(project / "pictures") == taught
        assert serving.json("POST", "/api/predict", sketches["car"][3][1])["answers"][0]["class"] in CLASSES

        filler.unlink()
        for name in ("bed", "new class"):
            headers = {"X-Deepvoro-Request": f"sent again: {name}"}
            assert len(serving.json("POST", f"/api/classes/{name.replace(' ', '%20')}/pictures", sketches["bed"][2][1], headers)["added"]) == 1
        counts = {one["name"]: one["pictures"] for one in serving.json("GET", "/api/classes")["classes"]}
        assert counts == {"bed": 3, "car": 2, "chair": 2, "new class": 1}
        serving.stop()
    fitted = deepvoro("fit", project / "pictures", "--out", tmp_path / "fitted.dv")
    assert fitted.returncode == 0, fitted.stderr
    assert (project / "classifier.dv").read_bytes() == (tmp_path / "fitted.dv").read_bytes()


def test_a_classifier_that_cannot_be_saved_is_made_again(program, disk, tmp_path):
    sketches = sketches_of(CLASSES)
    project = disk / "project"
    with Serving(program, project, data=tmp_path) as serving:
        for name in CLASSES:
            serving.teach(name, *sketches[name][:2])
        exported = serving.ask("GET", "/api/classifier")[1]
        serving.kill()
    (project / "classifier.dv").unlink(missing_ok=True)
    filler = fill(disk)
    with Serving(program, project, data=tmp_path) as serving:
        assert serving.ask("GET", "/api/classifier") == (200, exported)
        code, stderr = serving.end()
        assert code == 3 and "classifier.dv" in stderr and "No space left on device" in stderr
    assert [path.name for path in project.iterdir() if path.is_file()] == [".backbone"]
    filler.unlink()
    with Serving(program, project, data=tmp_path) as serving:
        serving.stop()
    assert (project / "classifier.dv").read_bytes() == exported
