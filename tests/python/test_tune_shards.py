"""tune --shard: any number of workers choose what one process chooses, and write the same file."""
import pytest
from test_shards import refused

FLAGS = ["--ways", "4", "--shots", "2", "--queries", "5", "--episodes", "50", "--seed", "3", "--threads", "1"]
GRID = ["--lambdas", "0,0.5,1", "--biases", "0.02,0.5"]


@pytest.fixture
def store(make_store):
    return make_store(dim=70, classes=(("base", 6), ("val", 5), ("novel", 6)), class_sizes=(9, 12))


@pytest.fixture
def share(deepvoro, store, tmp_path):
    def run(i, count, *arguments):
        process = deepvoro("tune", store, *FLAGS, *arguments, "--shard", f"{i}/{count}", "--out", tmp_path / "pieces")
        assert process.returncode == 0, process.stderr
        return process.stdout

    return run


@pytest.fixture
def merge(deepvoro, tmp_path):
    return lambda: deepvoro("merge", tmp_path / "pieces", "--out", tmp_path / "merged.json")


def one_process(deepvoro, store, tmp_path, *arguments):
    process = deepvoro("tune", store, *FLAGS, *arguments, "--out", tmp_path / "one.json")
    assert process.returncode == 0, process.stderr
    return (tmp_path / "one.json").read_bytes(), process.stdout


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
@pytest.mark.parametrize(
    "arguments",
    [
        ("--method", "vd", *GRID),
        ("--method", "deepvoro", *GRID, "--top-k", "2"),
        ("--method", "deepvoro++", *GRID, "--neighbours", "1,3", "--betas", "1,4"),
        ("--method", "plda", "--shrink-within", "0.3,0.6", "--shrink-between", "0.1", "--kappas", "1,2"),
    ],
    ids=["vd", "deepvoro", "deepvoro++", "plda"],
)
def test_any_number_of_shards_gives_the_bytes_of_one_process(deepvoro, store, share, merge, tmp_path, arguments, count):
    chooses_twice = arguments[1] in ("deepvoro++", "plda")
    for i in range(count):
        waits = "on pieces of other shares that are missing; run this share again" in share(i, count, *arguments)
        assert waits == (chooses_twice and i < count - 1)
    if chooses_twice and count > 1:
        assert refused(merge(), "pieces are missing")
        for i in range(count):
            assert "is done" in share(i, count, *arguments)
    process = merge()
    assert process.returncode == 0, process.stderr
    expected, printed = one_process(deepvoro, store, tmp_path, *arguments)
    assert (tmp_path / "merged.json").read_bytes() == expected
    assert process.stdout == printed.replace("one.json", "merged.json")


def test_only_what_is_missing_is_made(share, tmp_path):
    share(0, 1, "--method", "deepvoro", *GRID)
    pieces = tmp_path / "pieces"
    before = {file.name: file.stat().st_mtime_ns for file in pieces.iterdir()}
    (pieces / "piece-000004").unlink()
    (pieces / "piece-000010").write_bytes((pieces / "piece-000010").read_bytes()[:-1])
    assert f"2 pieces made, {len(before) - 2} were there" in share(0, 1, "--method", "deepvoro", *GRID)
    after = {file.name: file.stat().st_mtime_ns for file in pieces.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"piece-000004", "piece-000010"}


def test_other_settings_and_damage_are_refused(deepvoro, store, share, merge, tmp_path):
    share(0, 1, "--method", "deepvoro", *GRID)
    flags = ["--method", "deepvoro", *GRID[:2], "--biases", "0.02,0.4", "--shard", "0/1", "--out", tmp_path / "pieces"]
    assert refused(deepvoro("tune", store, *FLAGS, *flags), "piece-000000", "biases [0.02,0.5], not [0.02,0.4]")
    flags = ["--method", "deepvoro++", *GRID, "--shard", "0/1", "--out", tmp_path / "pieces"]
    assert refused(deepvoro("tune", store, *FLAGS, *flags), "piece-000000", "(method deepvoro, not deepvoro++)")
    piece = tmp_path / "pieces/piece-000003"
    whole = piece.read_bytes()
    for damaged in (whole[:-8], whole[:-1] + b"\x7f"):
        piece.write_bytes(damaged)
        assert refused(merge(), "piece-000003", "damaged")
    assert not (tmp_path / "merged.json").exists()
