"""study --shard: the tables and pools of one process, from any number of workers."""
import pytest
from stores import random_store
from test_shards import refused

FLAGS = ["--ways", "4", "--queries", "5", "--episodes", "6", "--seed", "3", "--shots", "1,2", "--threads", "1"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    splits = (("base", 6), ("val", 5), ("novel", 6))
    return [random_store(folder / name, dim=12, classes=splits, class_sizes=(9, 12)) for name in ("one", "two")]


@pytest.fixture
def share(deepvoro, stores, tmp_path):
    def run(study, i, count):
        flags = [*FLAGS, "--shard", f"{i}/{count}", "--out", tmp_path / "pieces"]
        process = deepvoro("study", study, *stores, *flags)
        assert process.returncode == 0, process.stderr
        return process.stdout

    return run


def files_of(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and ".steps" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("study, count", [("members", 3), *(("shots", count) for count in (1, 2, 3, 7, 16))])
def test_any_number_of_shards_gives_the_bytes_of_one_process(deepvoro, stores, share, tmp_path, study, count):
    out = tmp_path / "out"
    for i in range(count):
        share(study, i, count)
    process = deepvoro("merge", tmp_path / "pieces", "--out", out)
    assert process.returncode == 0, process.stderr
    merged = files_of(out)
    out.rename(tmp_path / "merged")
    process = deepvoro("study", study, *stores, *FLAGS, "--out", out)
    assert process.returncode == 0, process.stderr
    assert merged == files_of(out)
    assert f"{study}.json" in merged
    assert not (tmp_path / "merged/.steps").exists()


def test_a_study_with_shots_of_its_own(deepvoro, stores, tmp_path):
    flags = FLAGS[: FLAGS.index("--shots")]
    for i in range(2):
        process = deepvoro("study", "ablation", *stores, *flags, "--shard", f"{i}/2", "--out", tmp_path / "pieces")
        assert process.returncode == 0, process.stderr
    for command in (("merge", tmp_path / "pieces"), ("study", "ablation", *stores, *flags)):
        process = deepvoro(*command, "--out", tmp_path / "out")
        assert process.returncode == 0, process.stderr
        (tmp_path / "out").rename(tmp_path / command[0])
    assert files_of(tmp_path / "merge") == files_of(tmp_path / "study")


def test_gaps_and_other_settings_are_refused(deepvoro, stores, share, tmp_path):
    assert "2 pieces made, 0 were there" in share("shots", 0, 2)
    assert refused(deepvoro("merge", tmp_path / "pieces", "--out", tmp_path / "out"), "2 of 4 pieces are missing: 2-3")
    assert "2 pieces made, 2 were there" in share("shots", 0, 1)
    flags = [*FLAGS, "--signed", "--shard", "0/1", "--out", tmp_path / "pieces"]
    assert refused(deepvoro("study", "shots", *stores, *flags), "piece-000000", "signed false, not true")
    other = ["study", "members", *stores, *FLAGS[:-4], "--shots", "1", "--shard", "0/1", "--out", tmp_path / "pieces"]
    assert refused(deepvoro(*other), "piece-000000", 'study "shots", not "members"')
    process = deepvoro("merge", tmp_path / "pieces", "--out", tmp_path / "pieces")
    assert process.returncode == 2 and "a folder of pieces" in process.stderr
    assert not (tmp_path / "out").exists()


def test_a_study_goes_to_a_folder(deepvoro, stores, share, tmp_path):
    share("shots", 0, 1)
    (tmp_path / "file").write_text("")
    process = deepvoro("merge", tmp_path / "pieces", "--out", tmp_path / "file/x")
    assert process.returncode == 3
    assert f"{tmp_path}/file/x: the folder cannot be made: " in process.stderr
    assert "does the folder exist?" in process.stderr
    for command in (("merge", tmp_path / "pieces"), ("study", "shots", *stores, *FLAGS)):
        process = deepvoro(*command, "--out", tmp_path / "file")
        assert process.returncode == 2
        assert f"{tmp_path}/file: is a file; --out must be a folder" in process.stderr


def test_times_cannot_be_divided(deepvoro, stores, tmp_path):
    flags = ["--shard", "0/2", "--out", tmp_path / "pieces"]
    process = deepvoro("study", "time", *stores, *flags)
    assert process.returncode == 2
    assert "times" in process.stderr and "--shard" in process.stderr
    assert not (tmp_path / "pieces").exists()
