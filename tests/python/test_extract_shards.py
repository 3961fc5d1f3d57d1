"""extract --shard: any number of workers give the feature store of one process, and only what is missing is made."""
import shutil
import signal
import subprocess
import tarfile

import pytest
from conftest import REPOSITORY
from test_shards import refused

MODEL = REPOSITORY / "data/backbones/quickdraw-conv4.safetensors"
# Blocks of one batch: 5 of base and 9 of novel, each with a list and four views.
DRAWINGS = {"base": (2, 9), "novel": (3, 11)}
FLAGS = ["--model", MODEL, "--views", "4", "--batch", "4", "--threads", "1"]
PIECES = (5 + 9) * (1 + 4)


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawings")
    for split, (classes, pictures) in DRAWINGS.items():
        with tarfile.open(REPOSITORY / f"data/quickdraw/pictures/{split}.tar") as tar:
            names = [name for name in tar.getnames() if name.endswith(".png")]
            for name in sorted({name.split("/")[0] for name in names})[:classes]:
                for drawing in [one for one in names if one.split("/")[0] == name][:pictures]:
                    tar.extract(drawing, folder / split)
    return folder


@pytest.fixture
def extract(deepvoro):
    def run(pictures, out, *flags):
        process = deepvoro("extract", pictures, *FLAGS, "--out", out, *flags)
        assert process.returncode == 0, process.stderr
        return process

    return run


@pytest.fixture
def merge(deepvoro, tmp_path):
    def run(*folders):
        shutil.rmtree(tmp_path / "merged", ignore_errors=True)
        return deepvoro("merge", *(tmp_path / folder for folder in folders), "--out", tmp_path / "merged")

    return run


def files_of(store):
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


def times_of(pieces):
    return {file.name: file.stat().st_mtime_ns for file in pieces.glob("piece-??????")}


@pytest.fixture(scope="module")
def one_process(deepvoro, drawings, tmp_path_factory):
    store = tmp_path_factory.mktemp("one") / "store"
    assert deepvoro("extract", drawings, *FLAGS, "--out", store).returncode == 0
    return files_of(store)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
def test_any_number_of_shards_gives_the_bytes_of_one_process(extract, merge, drawings, one_process, tmp_path, count):
    for i in range(count):
        extract(drawings, tmp_path / f"pieces{i % 2}", "--shard", f"{i}/{count}")
    process = merge(*(f"pieces{i}" for i in range(min(count, 2))))
    assert process.returncode == 0, process.stderr
    assert "51 pictures in 4 views of 128 dimensions" in process.stdout
    assert files_of(tmp_path / "merged") == one_process


def test_skipped_pictures_are_those_of_one_process(deepvoro, extract, merge, drawings, tmp_path):
    pictures = tmp_path / "pictures"
    shutil.copytree(drawings / "novel", pictures)
    first, *_, last = sorted(pictures.rglob("*.png"))
    for broken in (first, last):
        broken.write_bytes(broken.read_bytes()[:40])
    extract(pictures, tmp_path / "store", "--skip-bad")
    for i in range(3):
        process = extract(pictures, tmp_path / "pieces", "--skip-bad", "--shard", f"{i}/3")
        assert process.stderr.count("skipped novel:") == 2
    assert merge("pieces").returncode == 0
    assert files_of(tmp_path / "merged") == files_of(tmp_path / "store")
    assert deepvoro("store", "check", tmp_path / "merged").returncode == 0


def test_gaps_doubles_and_other_settings_are_refused_by_name(deepvoro, extract, merge, drawings, tmp_path):
    extract(drawings, tmp_path / "pieces", "--shard", "0/2")
    assert refused(merge("pieces"), f"35 of {PIECES} pieces are missing: 35-69")
    others = {
        "batch 4, not 5": [*FLAGS[:5], "5"],
        "views": [*FLAGS[:3], "1", *FLAGS[4:]],
        "without --fast-decode": [*FLAGS, "--fast-decode"],
        "splits base,novel, not novel": [*FLAGS, "--split", "novel"],
    }
    for name, flags in others.items():
        process = deepvoro("extract", drawings, *flags, "--shard", "0/2", "--out", tmp_path / "pieces")
        assert refused(process, "piece-000000", name)
    extract(drawings, tmp_path / "pieces", "--shard", "1/2")
    shutil.copy(tmp_path / "pieces/piece-000007", tmp_path / "pieces/piece-000070")
    assert refused(merge("pieces"), "piece-000070", "behind the last of 70 pieces; remove it")
    assert not (tmp_path / "merged").exists()
    (tmp_path / "pieces/piece-000070").unlink()
    process = deepvoro("merge", tmp_path / "pieces", "--out", tmp_path / "pieces/store")
    assert process.returncode == 2 and "a folder of pieces" in process.stderr
    (tmp_path / "copies").mkdir()
    shutil.copy(tmp_path / "pieces/piece-000007", tmp_path / "copies")
    assert merge("pieces", "copies").returncode == 0


def test_pictures_that_changed_between_shards_are_refused(deepvoro, extract, merge, drawings, tmp_path):
    pictures = tmp_path / "pictures"
    shutil.copytree(drawings, pictures)
    extract(pictures, tmp_path / "pieces", "--shard", "0/1")
    larger, smaller = sorted(sorted((pictures / "base").rglob("*.png"))[:2], key=lambda p: -p.stat().st_size)
    other, size = smaller.read_bytes(), larger.stat().st_size
    assert len(other) < size
    larger.write_bytes(other)
    process = deepvoro("extract", pictures, *FLAGS, "--shard", "0/1", "--out", tmp_path / "pieces")
    assert refused(process, "piece-000000", "(the pictures of base have changed since)")
    larger.write_bytes(other.ljust(size, b"\0"))  # decoders read no further than the end of the picture
    (tmp_path / "pieces/piece-000003").unlink()
    extract(pictures, tmp_path / "pieces", "--shard", "0/1")
    assert refused(merge("pieces"), "piece-000003", "made from other pictures than", "piece-000000")
    assert not (tmp_path / "merged").exists()


def test_merge_asks_for_the_output_of_the_command(deepvoro, extract, drawings, tmp_path):
    extract(drawings, tmp_path / "pieces", "--shard", "0/1")
    process = deepvoro("merge", tmp_path / "pieces", "--json", tmp_path / "result.json")
    assert process.returncode == 2
    assert "'extract'" in process.stderr and "--out" in process.stderr
    assert not (tmp_path / "result.json").exists()


def test_pieces_of_another_command_are_named_by_it(deepvoro, drawings, make_store, tmp_path):
    flags = ["--method", "vd", "--episodes", 3, "--shard", "0/1", "--out", tmp_path / "pieces"]
    assert deepvoro("evaluate", make_store(dim=5), *flags).returncode == 0
    process = deepvoro("extract", drawings, *FLAGS, "--shard", "0/1", "--out", tmp_path / "pieces")
    assert refused(process, "piece-000000", 'command "evaluate", not "extract"')


def test_killed_workers_cost_only_what_they_had_not_finished(program, extract, merge, drawings, one_process, tmp_path):
    pieces = tmp_path / "pieces"
    command = [program, "extract", drawings, *FLAGS, "--shard", "0/1", "--out", pieces]
    finished = {}
    for _ in range(5):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = len(finished) + 9
        while process.poll() is None and len(times_of(pieces)) < wanted:
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = times_of(pieces)
        assert {name: now[name] for name in finished} == finished
        finished = now
    process = extract(drawings, pieces, "--shard", "0/1")
    assert f"{PIECES - len(finished)} pieces made, {len(finished)} were there" in process.stdout
    assert merge("pieces").returncode == 0
    assert files_of(tmp_path / "merged") == one_process
