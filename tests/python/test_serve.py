"""deepvoro serve from outside: the API, files it leaves, and what it withstands."""
import io
import json
import random
import socket
import struct
import subprocess
import threading
import unicodedata
import zipfile
import zlib
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image
from serving import Serving, form
from sketches import sketches_of

CLASSES = ("bed", "car", "chair")


@pytest.fixture(scope="module")
def sketches():
    return sketches_of(CLASSES)


@pytest.fixture
def serve(program, tmp_path):
    started = []

    def start(*arguments):
        started.append(Serving(program, *arguments, data=tmp_path / "data"))
        return started[-1]

    yield start
    for serving in started:
        serving.__exit__()


def teach_sketches(serving, sketches):
    for name in CLASSES:
        serving.teach(name, *sketches[name][:3])
    return serving


@pytest.fixture
def taught(serve, sketches, tmp_path):
    return teach_sketches(serve(tmp_path / "project").wait_until_ready(), sketches)


@pytest.fixture(scope="module")
def unchanged(program, sketches, tmp_path_factory):
    """One server for all tests that change nothing."""
    folder = tmp_path_factory.mktemp("unchanged")
    with Serving(program, folder / "project", data=folder) as serving:
        yield teach_sketches(serving, sketches)


def test_begins_with_sketches_of_its_own(serve, sketches):
    serving = serve().wait_until_ready()
    assert serving.json("GET", "/api/health")["status"] == "ok"
    classes = serving.json("GET", "/api/classes")["classes"]
    assert [one["name"] for one in classes] == ["butterfly", "clock", "coffee cup"]
    assert serving.json("GET", "/api/project")["input"] == "sketch"
    answer = serving.json("POST", "/api/predict", sketches["car"][0][1])["answers"][0]
    assert set(answer["probabilities"]) == {one["name"] for one in classes}


def test_letters_with_accents_are_the_same_composed_or_not(serve, sketches, tmp_path):
    composed, apart = (unicodedata.normalize(form_name, "Käfer") for form_name in ("NFC", "NFD"))
    serving = serve(tmp_path / "project").wait_until_ready()
    serving.teach(apart, sketches["bed"][0])
    serving.teach(composed, sketches["bed"][1])
    assert serving.json("GET", "/api/classes")["classes"] == [{"name": composed, "pictures": 2}]
    assert len(serving.json("GET", f"/api/classes/{quote(apart)}/pictures")["pictures"]) == 2
    status, body = serving.ask("POST", "/api/classes", json.dumps({"name": apart}))
    assert status == 400 and "already" in json.loads(body)["error"]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(f"pictures/{apart}/x.png", sketches["bed"][2][1])
        packed.writestr(f"pictures/{unicodedata.normalize('NFD', 'Mücke')}/", b"")
    serving.json("POST", "/api/project.zip", archive.getvalue())
    assert serving.json("GET", "/api/classes")["classes"] == [{"name": composed, "pictures": 3}, {"name": "Mücke", "pictures": 0}]
    serving.json("DELETE", f"/api/classes/{quote(unicodedata.normalize('NFD', 'Mücke'))}")
    serving.stop()
    # A folder that a Mac has made keeps its name, and goes by both, until it is renamed.
    (tmp_path / "project/pictures" / composed).rename(tmp_path / "project/pictures" / apart)
    again = serve(tmp_path / "project").wait_until_ready()
    again.teach(composed, sketches["bed"][3])
    assert again.json("GET", "/api/classes")["classes"] == [{"name": apart, "pictures": 4}]
    again.json("POST", f"/api/classes/{quote(composed)}/rename", {"to": apart})
    assert again.json("GET", "/api/classes")["classes"] == [{"name": composed, "pictures": 4}]


def test_says_that_a_project_is_new(serve, taught, tmp_path):
    assert taught.messages[-1].startswith(f"serving {tmp_path / 'project'}, a new, empty project")
    taught.stop()
    for arguments in ((tmp_path / "project",), ()):
        again = serve(*arguments).wait_until_ready()
        assert "new" not in again.messages[-1].replace(str(tmp_path), "")
        again.stop()


def test_exported_classifier_answers_as_the_server_and_is_what_fit_makes(taught, deepvoro, sketches, tmp_path):
    queries = [(f"{name}-{file}", data) for name in CLASSES for file, data in sketches[name][3:6]]
    body, headers = form(queries)
    status, text = taught.ask("POST", "/api/predict", body, headers)
    assert status == 200
    answers = json.loads(text)["answers"]
    exported = tmp_path / "exported.dv"
    exported.write_bytes(taught.ask("GET", "/api/classifier")[1])
    folder = tmp_path / "queries"
    folder.mkdir()
    for name, data in queries:
        (folder / name).write_bytes(data)
    predicted = deepvoro("predict", exported, *(folder / name for name, _ in queries), "--json")
    assert predicted.returncode == 0, predicted.stderr
    rows = predicted.stdout.removeprefix("[\n").removesuffix("\n]\n").split(",\n")
    assert len(rows) == len(answers)
    for row, answer in zip(rows, answers):
        # The server adds whether it is unknown, and why.
        assert row.replace(f"{folder}/", "").removesuffix("}") + ',"unknown":' in text.decode()
        assert answer["unknown"] == (answer["distance"] >= answer["threshold"])
        assert len(answer["why"]["nearest"]) == 5 and len(answer["why"]["views"]) == 4
        assert [one["diagram"] for one in answer["why"]["diagrams"]] == ["ridge", "vd"]
    fitted = tmp_path / "fitted.dv"
    assert deepvoro("fit", tmp_path / "project/pictures", "--out", fitted).returncode == 0
    assert fitted.read_bytes() == exported.read_bytes()
    taught.stop()
    assert (tmp_path / "project/classifier.dv").read_bytes() == exported.read_bytes()


def test_a_classifier_fitted_with_fast_decode_looks_so_at_what_it_is_asked(serve, deepvoro, sketches, tmp_path):
    for name in CLASSES:
        (tmp_path / "support" / name).mkdir(parents=True)
        for file, data in sketches[name][:2]:
            (tmp_path / "support" / name / file).write_bytes(data)
    large = Image.open(io.BytesIO(sketches["car"][3][1])).convert("L").resize((2560, 2560), Image.Resampling.BICUBIC)
    large.save(tmp_path / "large.jpg", quality=50)
    answers = {}
    for flags in ((), ("--fast-decode",)):
        file = tmp_path / f"fitted{len(flags)}.dv"
        assert deepvoro("fit", tmp_path / "support", "--out", file, *flags).returncode == 0
        [answers[flags]] = json.loads(deepvoro("predict", file, tmp_path / "large.jpg", "--json").stdout)
        served = serve(file).wait_until_ready().json("POST", "/api/predict", (tmp_path / "large.jpg").read_bytes())
        assert served["answers"][0]["probabilities"] == answers[flags]["probabilities"]
    assert answers[()]["probabilities"] != answers["--fast-decode",]["probabilities"]


def test_changes_are_made_undone_and_kept(taught, serve, tmp_path):
    before = taught.ask("GET", "/api/classifier")[1]
    pictures = taught.json("GET", "/api/classes/bed/pictures")["pictures"]
    assert len(pictures) == 3
    chosen = pictures[0]["id"]
    assert taught.ask("GET", f"/api/pictures/{chosen}")[1].startswith(b"\x89PNG")
    assert taught.ask("GET", f"/api/pictures/{chosen}/thumbnail")[1].startswith(b"\x89PNG")
    taught.json("POST", f"/api/pictures/{chosen}/move", {"to": "car"})
    taught.json("POST", "/api/classes/chair/rename", {"to": "arm chair"})
    taught.json("DELETE", "/api/classes/bed")
    taught.json("POST", "/api/classes", {"name": "empty"})
    assert taught.json("GET", "/api/classes")["classes"] == [
        {"name": "arm chair", "pictures": 3},
        {"name": "car", "pictures": 4},
        {"name": "empty", "pictures": 0},
    ]
    assert taught.json("GET", "/api/project")["undo"] == "add empty"
    for _ in range(4):
        taught.json("POST", "/api/undo")
    assert taught.ask("GET", "/api/classifier")[1] == before
    taught.json("POST", "/api/redo")
    after = taught.ask("GET", "/api/classifier")[1]
    taught.stop()
    again = serve(tmp_path / "project").wait_until_ready()
    assert again.ask("GET", "/api/classifier")[1] == after


def test_check_is_what_info_says(unchanged, deepvoro, tmp_path):
    check = unchanged.json("GET", "/api/check")
    exported = tmp_path / "exported.dv"
    exported.write_bytes(unchanged.ask("GET", "/api/classifier")[1])
    info = json.loads(deepvoro("info", exported, "--json").stdout)
    assert (check["of"], check["right"]) == (info["left_out"]["pictures"], info["left_out"]["right"])
    counts = check["confusion"]["counts"]
    assert sum(map(sum, counts)) == check["of"]
    assert sum(counts[i][i] for i in range(len(counts))) == check["right"]
    assert len(check["wrong"]) == check["of"] - check["right"]
    doubts = [one["doubt"] for one in check["doubtful"]]
    assert doubts == sorted(doubts, reverse=True)


def test_the_same_picture_is_added_once_and_told_in_another_class(taught, sketches):
    chosen = sketches["bed"][0]
    before = taught.json("GET", "/api/classes")
    again = taught.teach("bed", chosen)
    assert again["added"] == [] and again["notes"] == []
    (known,) = again["known"]
    assert (known["index"], known["name"]) == (0, chosen[0])
    assert taught.ask("GET", f"/api/pictures/{known['id']}")[1] == chosen[1]
    archive = taught.ask("GET", "/api/project.zip")[1]
    imported = taught.json("POST", "/api/project.zip", archive)
    assert imported["added"] == [] and len(imported["known"]) == 9
    assert taught.json("GET", "/api/classes") == before
    other = taught.teach("car", chosen)
    assert len(other["added"]) == 1
    assert other["notes"] == [f"{chosen[0]} is the same picture as bed/{known['id']}.png; remove it from the wrong class"]


def test_the_commands_that_are_told_work_beside_an_empty_class(taught, program, serve, tmp_path):
    taught.json("POST", "/api/classes", {"name": "not yet"})
    for shown in taught.json("GET", "/api/project")["commands"]:
        before = taught.ask("GET", "/api/classifier")[1]
        command = shown.replace("deepvoro", str(program), 1).replace("PICTURE...", str(next((tmp_path / "project/pictures/bed").iterdir())))
        process = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        assert (tmp_path / "project/classifier.dv").read_bytes() == before
    # The archive has the class too.
    other = serve(tmp_path / "other").wait_until_ready()
    assert other.json("GET", "/api/project")["commands"] == []
    other.json("POST", "/api/project.zip", taught.ask("GET", "/api/project.zip")[1])
    assert other.json("GET", "/api/classes")["classes"] == taught.json("GET", "/api/classes")["classes"]
    other.json("POST", "/api/undo")
    assert other.json("GET", "/api/classes")["classes"] == []


def test_archive_holds_pictures_and_classifier(unchanged):
    archive = zipfile.ZipFile(io.BytesIO(unchanged.ask("GET", "/api/project.zip")[1]))
    assert archive.testzip() is None
    names = archive.namelist()
    assert sum(name.startswith("pictures/") for name in names) == 9
    assert archive.read("classifier.dv") == unchanged.ask("GET", "/api/classifier")[1]


def test_describes_every_path_that_it_has(unchanged):
    described = unchanged.json("GET", "/api/openapi.json")["paths"]
    for path in ("/api/project", "/api/classes", "/api/check", "/api/map", "/api/classifier"):
        assert "get" in described[path]
        assert unchanged.ask("GET", path)[0] == 200
    for path, methods in described.items():
        status, _ = unchanged.ask("PATCH", path.replace("{name}", "x").replace("{id}", "x"))
        assert status == 405, path
        assert methods
    text = unchanged.ask("GET", "/api/metrics")[1].decode()
    assert "deepvoro_pictures 9\n" in text
    assert 'deepvoro_requests_total{route="POST /api/classes/*/pictures",status="200"} 3\n' in text


def test_a_project_keeps_its_network_without_a_classifier(serve, tmp_path):
    """As after a kill before it was saved; by its pictures alone the network would be that of photographs."""
    png = io.BytesIO()
    Image.effect_noise((40, 40), 60).convert("RGB").save(png, "PNG")
    serving = serve(tmp_path / "project").wait_until_ready()
    serving.teach("noise", ("a.png", png.getvalue()))
    serving.kill()
    (tmp_path / "project/classifier.dv").unlink(missing_ok=True)
    serving = serve(tmp_path / "project").wait_until_ready()
    assert serving.json("GET", "/api/project")["backbone"] == "quickdraw-conv4"
    assert [one["pictures"] for one in serving.json("GET", "/api/classes")["classes"]] == [1]


def installed_copy(folder, name):
    """A network of another name and hash: the built-in one, but for the last bit of its last weight."""
    model = bytearray((Path(__file__).resolve().parents[2] / "data/backbones/quickdraw-conv4.safetensors").read_bytes())
    model[-4] ^= 1
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.safetensors").write_bytes(model)


def test_a_project_changes_its_network_when_told_to(serve, sketches, tmp_path):
    teach_sketches(serve(tmp_path / "project").wait_until_ready(), sketches).stop()
    installed_copy(tmp_path / "data/backbones", "another")
    for arguments in (["--backbone", "another"], []):
        serving = serve(tmp_path / "project", *arguments).wait_until_ready()
        assert serving.json("GET", "/api/project")["backbone"] == "another"
        assert [one["pictures"] for one in serving.json("GET", "/api/classes")["classes"]] == [3, 3, 3]
        serving.stop()


def test_a_new_folder_is_for_photographs_where_these_are_known(serve, tmp_path):
    installed_copy(tmp_path / "data/backbones", "resnet50")
    assert serve(tmp_path / "birds").wait_until_ready().json("GET", "/api/project")["backbone"] == "resnet50"
    assert serve().wait_until_ready().json("GET", "/api/project")["backbone"] == "quickdraw-conv4"


def test_every_acknowledged_picture_outlives_a_kill(serve, sketches, tmp_path):
    drawings = [data for name in CLASSES for _, data in sketches[name]]
    chance = random.Random(5)
    acknowledged = set()
    for round_number in range(3):
        serving = serve(tmp_path / "project").wait_until_ready()
        there = {one["id"] for name in CLASSES[:2] if name in {c["name"] for c in serving.json("GET", "/api/classes")["classes"]}
                 for one in serving.json("GET", f"/api/classes/{name}/pictures?count=10000")["pictures"]}
        assert acknowledged <= there
        enough = threading.Event()
        wanted = chance.randint(1, 6)

        def teach(name, seed, serving=serving, enough=enough, wanted=wanted):
            own = random.Random(seed)
            done = 0
            try:
                while True:
                    answer = serving.teach(name, ("x.png", own.choice(drawings) + own.randbytes(8)))
                    acknowledged.update(one["id"] for one in answer["added"])
                    done += 1
                    if done >= wanted:
                        enough.set()
            except (OSError, AssertionError, ValueError):
                enough.set()

        threads = [threading.Thread(target=teach, args=(CLASSES[i % 2], 10 * round_number + i)) for i in range(3)]
        for thread in threads:
            thread.start()
        enough.wait()
        serving.kill()
        for thread in threads:
            thread.join()
    serving = serve(tmp_path / "project").wait_until_ready()
    there = {one["id"] for name in CLASSES[:2] for one in serving.json("GET", f"/api/classes/{name}/pictures?count=10000")["pictures"]}
    assert len(acknowledged) >= 3
    assert acknowledged <= there


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_bomb(side):
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(10**7), 9)) + chunk(b"IEND", b"")


def test_withstands_what_would_fill_its_memory(unchanged):
    before = unchanged.resident_bytes()
    connection = socket.create_connection(("127.0.0.1", unchanged.port))
    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
    try:
        for _ in range(300):
            connection.sendall(b"x" * 2**20)
    except OSError:
        pass
    connection.close()
    for side in (20_001, 60_000):
        status, body = unchanged.ask("POST", "/api/predict", png_bomb(side))
        assert status == 400 and b"pixels" in body
    status, _ = unchanged.ask("POST", "/api/predict", None, {"Content-Length": str(2**40)})
    assert status == 413
    assert unchanged.resident_bytes() - before < 64 * 2**20
    assert unchanged.json("GET", "/api/health")["status"] == "ok"


def test_refuses_other_sites_and_those_without_a_token(unchanged):
    assert unchanged.ask("GET", "/api/classes", headers={"Host": "rebound.example"})[0] == 403
    assert unchanged.ask("GET", "/api/classes", headers={"Origin": "http://rebound.example"})[0] == 403
    assert unchanged.ask("DELETE", "/api/classes/bed", headers={"X-Deepvoro-Token": ""})[0] == 403
    assert len(unchanged.json("GET", "/api/classes")["classes"]) == 3


@pytest.mark.parametrize(
    "method, path, error",
    [
        ("GET", "/api/classes?page=2", "there is no parameter 'page' here; none is taken"),
        ("GET", "/api/classes/bed/pictures?offset=2", "there is no parameter 'offset' here; those that there are: count, from"),
        ("GET", "/api/classes/bed/pictures?from=-1", "the parameter 'from' must be a whole number, not '-1'"),
        ("GET", "/api/classes/bed/pictures?count=many", "the parameter 'count' must be a whole number, not 'many'"),
        ("GET", "/api/classes/bed/pictures?count=", "the parameter 'count' must be a whole number, not ''"),
        ("GET", "/api/classes/bed/pictures?count=1&count=2", "the address of the request is broken, or has a parameter twice"),
        ("POST", "/api/predict?why=no", "the parameter 'why' must be 0 or 1, not 'no'"),
        ("POST", "/api/predict?reject=true", "the parameter 'reject' must be 0 or 1, not 'true'"),
        ("POST", "/api/undo?steps=2", "there is no parameter 'steps' here; none is taken"),
        ("POST", "/api/classes//pictures", "a class cannot be called '': the name is empty; choose another"),
        ("POST", f"/api/classes/{80 * '%F0%9F%A6%89'}/pictures", f"a class cannot be called '{80 * '🦉'}': the name takes more than the 255 bytes that a folder's name may have (an emoji takes 4); choose another"),
        ("POST", f"/api/classes/{81 * 'a'}/pictures", f"a class cannot be called '{81 * 'a'}': the name is longer than 80 characters; choose another"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(unchanged, sketches, method, path, error):
    status, body = unchanged.ask(method, path, sketches["car"][4][1] if method == "POST" else None)
    assert (status, json.loads(body)) == (400, {"error": error})


def test_token_is_kept_in_a_file(program, serve, tmp_path):
    token = tmp_path / "token"
    first = serve(tmp_path / "project", "--token-file", token).wait_until_ready()
    first.json("POST", "/api/classes", {"name": "new"})
    assert first.token not in first.url + "".join(first.messages)
    assert token.stat().st_mode & 0o077 == 0
    first.stop()
    assert serve(tmp_path / "project", "--token-file", token).token == first.token


def test_read_only_changes_nothing(taught, serve, tmp_path):
    taught.stop()
    before = {path: path.read_bytes() for path in (tmp_path / "project").rglob("*") if path.is_file()}
    serving = serve(tmp_path / "project", "--read-only").wait_until_ready()
    assert serving.ask("DELETE", "/api/classes/bed")[0] == 403
    assert serving.json("GET", "/api/project")["read_only"] is True
    serving.stop()
    assert {path: path.read_bytes() for path in (tmp_path / "project").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        (["--listen", "0.0.0.0"], 2, "--token-file"),
        (["--listen", "nowhere"], 2, "not an address"),
        (["--port", "99999"], 2, "--port is 99999, but ports go from 1 to 65535"),
        (["--port", "-1"], 2, "--port is -1, but ports go from 1 to 65535"),
        (["missing.dv"], 3, "missing.dv"),
        (["damaged.dv"], 3, "damaged.dv"),
        (["damaged"], 3, "classifier.dv"),
        (["picture.png"], 3, "picture.png: is neither a classifier (.dv) nor a folder with a folder of pictures for each class"),
        (["missing", "--read-only"], 3, "missing: is not there"),
        (["/proc/deepvoro/new"], 3, "/proc/deepvoro/new: nothing can be written there"),
        (["/proc/self/task"], 3, "/proc/self/task: nothing can be written there"),
        (["picture.png/new"], 3, "picture.png/new: nothing can be written there"),
        (["new", "--backbone", "nothing"], 3, "'nothing' is neither a file nor an installed backbone"),
        (["new", "--token-file", "no/such/folder/token"], 3, "no/such/folder/token"),
    ],
)
def test_says_what_is_wrong_in_one_line_and_writes_nothing(deepvoro, sketches, tmp_path, monkeypatch, arguments, code, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture.png").write_bytes(sketches["car"][0][1])
    (tmp_path / "damaged.dv").write_bytes(b"PK\x03\x04 and nothing more")
    (tmp_path / "damaged/pictures").mkdir(parents=True)
    (tmp_path / "damaged/classifier.dv").write_bytes(b"")
    before = sorted(tmp_path.rglob("*"))
    token_file = [] if "--token-file" in arguments or code == 2 else ["--token-file", "token"]
    port = [] if "--port" in arguments else ["--port", "0"]
    process = deepvoro("serve", *arguments, *token_file, *port, env={"DEEPVORO_DATA": str(tmp_path / "data")})
    assert process.returncode == code
    assert process.stdout == ""
    assert process.stderr.count("\n") == 1 and text in process.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_port_that_is_taken_is_told_and_nothing_is_made(deepvoro, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = deepvoro("serve", tmp_path / "new", "--port", port)
    assert (process.returncode, process.stdout) == (3, "")
    assert process.stderr == f"deepvoro: cannot listen at 127.0.0.1, port {port}: Address already in use; stop what is there, or use --port 0 for a port that is free\n"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_served_once(taught, deepvoro, tmp_path):
    process = deepvoro("serve", tmp_path / "project", "--port", "0")
    assert (process.returncode, process.stdout) == (3, "")
    assert "is served by another process already" in process.stderr


def test_a_class_folder_may_be_empty(serve, sketches, tmp_path):
    for name, count in (("bed", 2), ("car", 2), ("empty", 0)):
        (tmp_path / "mine" / name).mkdir(parents=True)
        for file, data in sketches[name][:count] if count else ():
            (tmp_path / "mine" / name / file).write_bytes(data)
    serving = serve(tmp_path / "mine").wait_until_ready()
    assert serving.json("GET", "/api/classes")["classes"] == [
        {"name": "bed", "pictures": 2}, {"name": "car", "pictures": 2}, {"name": "empty", "pictures": 0}]
    assert serving.json("GET", "/api/classes/empty/pictures")["pictures"] == []
    assert serving.json("POST", "/api/predict", sketches["car"][3][1])["answers"][0]["class"] == "car"
    serving.teach("empty", *sketches["chair"][:2])
    serving.stop()
    assert len(list((tmp_path / "mine/empty").iterdir())) == 2
