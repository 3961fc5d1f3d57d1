"""Work in shards: the same bytes as one process, whatever the number of workers, and only what is missing is made."""
import json
import os
import shutil
import signal
import subprocess

import pytest
from conftest import REPOSITORY, task_flags
from reference import Task

TASK = Task(ways=4, shots=2, queries=5, episodes=130, seed=3)
FLAGS = [*task_flags(TASK), "--threads", "1"]
METHODS = "vd,deepvoro,deepvoro++,plda,voronoi-lr,simpleshot,dc"


def with_task(arguments):
    """The flags of the task, but for those that are given."""
    pairs = zip(FLAGS[::2], FLAGS[1::2])
    return [part for flag, value in pairs if flag not in arguments for part in (flag, value)] + list(arguments)


def without_times(file):
    """The text of a result, less the lines that say how long it took."""
    return [line for line in file.read_text().splitlines() if '"selection":' not in line and '"evaluation":' not in line]


@pytest.fixture
def store(make_store):
    return make_store(dim=70, classes=(("base", 6), ("val", 5), ("novel", 6)), class_sizes=(9, 12))


@pytest.fixture
def shards(deepvoro, store, tmp_path):
    def run(count, *arguments, folder="pieces", which=None):
        for i in range(count) if which is None else which:
            process = deepvoro(
                "evaluate", store, *with_task(arguments), "--shard", f"{i}/{count}", "--out", tmp_path / folder
            )
            assert process.returncode == 0, process.stderr
        return process.stdout

    return run


@pytest.fixture
def merge(deepvoro, tmp_path):
    def run(*folders):
        return deepvoro("merge", *(tmp_path / folder for folder in folders), "--json", tmp_path / "merged.json")

    return run


def refused(process, *words):
    assert process.returncode == 3
    assert len(process.stderr.splitlines()) == 1
    for word in words:
        assert word in process.stderr
    return True


def one_process(deepvoro, store, file, *arguments):
    process = deepvoro("evaluate", store, *with_task(arguments), "--json", file)
    assert process.returncode == 0, process.stderr
    return without_times(file)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--method", METHODS, "--episodes", "31"),
        ("--method", "vd"),
        ("--method", "deepvoro--", "--start", "random", "--shots", "1,3"),
        ("--method", "deepvoro", "--scheme", "guided", "--alpha", "1.5"),
        ("--method", "plda", "--scheme", "greedy"),
        ("--method", "deepvoro", "--scheme", "random", "--size", "3", "--protocol", "dc"),
        ("--method", "vd", "--view", "s84_r0_f1", "--episodes", "7"),
    ],
    ids=["methods", "vd", "random-start", "guided", "greedy", "random", "few-episodes"],
)
def test_any_number_of_shards_gives_the_bytes_of_one_process(deepvoro, store, shards, merge, tmp_path, arguments):
    expected = one_process(deepvoro, store, tmp_path / "one.json", *arguments)
    for count in (1, 2, 3, 7, 16) if "vd" in arguments[1] else (3,):
        shards(count, *arguments, folder=f"pieces{count}")
        process = merge(f"pieces{count}")
        assert process.returncode == 0, process.stderr
        assert without_times(tmp_path / "merged.json") == expected


def test_merged_pieces_of_several_folders(deepvoro, store, shards, merge, tmp_path):
    expected = one_process(deepvoro, store, tmp_path / "one.json", "--method", "vd")
    shards(2, "--method", "vd", folder="a", which=[0])
    shards(2, "--method", "vd", folder="b", which=[1])
    assert merge("a", "b").returncode == 0
    assert without_times(tmp_path / "merged.json") == expected


def test_only_what_is_missing_is_made(shards, tmp_path):
    assert "120 pieces made, 0 were there" in shards(1, "--method", "vd")
    before = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "pieces").iterdir()}
    (tmp_path / "pieces/piece-000004").unlink()
    (tmp_path / "pieces/piece-000100").write_bytes((tmp_path / "pieces/piece-000100").read_bytes()[:-1])
    assert "2 pieces made, 118 were there" in shards(1, "--method", "vd")
    after = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "pieces").iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"piece-000004", "piece-000100"}


def test_gaps_doubles_damage_and_other_settings_are_refused_by_name(shards, merge, tmp_path):
    shards(4, "--method", "vd", which=[0, 1, 3])
    assert refused(merge("pieces"), "30 of 120 pieces are missing: 60-89")
    shards(4, "--method", "vd", which=[2])
    piece = tmp_path / "pieces/piece-000007"
    whole = piece.read_bytes()
    shards(1, "--method", "vd", folder="again")
    assert refused(merge("pieces", "again"), "pieces/piece-000000 and ", "again/piece-000000 are both piece 0, and differ")
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), whole.replace(b'"seed":3', b'"seed":4'), b""):
        piece.write_bytes(damaged)
        assert refused(merge("pieces"), "piece-000007", "damaged")
    piece.unlink()
    shards(1, "--method", "vd", "--seed", "4", folder="other")
    piece.write_bytes((tmp_path / "other/piece-000007").read_bytes())
    assert refused(merge("pieces"), "piece-000007", "seed 4, not 3")
    assert refused(merge("other", "pieces"), "pieces/piece-000000", "seed 3, not 4")
    assert not (tmp_path / "merged.json").exists()


def test_a_folder_of_other_work_is_refused(deepvoro, store, shards, tmp_path):
    shards(1, "--method", "vd")
    process = deepvoro(
        "evaluate", store, *FLAGS, "--method", "vd", "--alpha", 2, "--shard", "0/1", "--out", tmp_path / "pieces"
    )
    assert refused(process, "piece-000000", "alpha 1.0, not 2.0")
    process = deepvoro("evaluate", store, *FLAGS, "--method", "vd,plda", "--shard", "0/1", "--out", tmp_path / "pieces")
    assert refused(process, "piece-000000", "method vd, not vd,plda")


def test_other_work_is_told_by_what_people_chose(deepvoro, store, make_store, shards, tmp_path):
    shards(1, "--method", "deepvoro", "--shots", "1,2")
    other_store = make_store(dim=5, classes=(("base", 6), ("val", 5), ("novel", 6)), class_sizes=(9, 12))
    member = {"view": "s84_r0_f0", "w": 1, "b": 0, "lambda": 1, "geometry": "vd"}
    (tmp_path / "pool.json").write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": [member]}))
    for where, flags, words in (
        (other_store, ["--method", "deepvoro", "--shots", "1,2"], "(another store)"),
        (store, ["--method", "deepvoro", "--shots", "1"], "(shots 1,2, not 1)"),
        (store, ["--method", "deepvoro", "--shots", "1,2", "--pool", tmp_path / "pool.json"], "(other members)"),
    ):
        process = deepvoro("evaluate", where, *with_task(flags), "--shard", "0/1", "--out", tmp_path / "pieces")
        assert refused(process, "piece-000000", words)


def test_a_damaged_first_piece_hides_no_other_work(deepvoro, store, shards, tmp_path):
    shards(1, "--method", "vd")
    os.truncate(tmp_path / "pieces/piece-000000", 50)
    for i in range(1, 60):
        (tmp_path / f"pieces/piece-{i:06}").unlink()
    flags = with_task(["--method", "vd", "--seed", "4", "--shard", "0/2", "--out", tmp_path / "pieces"])
    process = deepvoro("evaluate", store, *flags)
    assert refused(process, "piece-000060", "seed 3, not 4")


def test_a_share_of_other_work_is_refused_before_it_begins(deepvoro, store, shards, tmp_path):
    shards(2, "--method", "vd", which=[0])
    before = sorted((tmp_path / "pieces").iterdir())
    process = deepvoro("evaluate", store, *FLAGS, "--method", "vd", "--alpha", 2, "--shard", "1/2", "--out", tmp_path / "pieces")
    assert refused(process, "alpha 1.0, not 2.0", "choose another --out")
    assert sorted((tmp_path / "pieces").iterdir()) == before


def test_a_changed_store_is_refused(deepvoro, make_store, merge, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(make_store(dim=5), store)
    flags = ["--method", "vd", "--episodes", 3, "--shard", "0/1", "--out", tmp_path / "pieces"]
    assert deepvoro("evaluate", store, *flags).returncode == 0
    with open(store / "novel/s84_r0_f0.npy", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\0")
    assert refused(merge("pieces"), "no longer the store")


def test_wrong_shares_are_wrong_usage(deepvoro, store, tmp_path):
    bare = {name: "" for name in ("SLURM_ARRAY_TASK_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")}
    general = "name one as I/N"
    reasons = {"8/8": "shares of 8 are 0/8 to 7/8", "5/3": "shares of 3 are 0/3 to 2/3", "auto": "neither a task of a Slurm array"}
    for share in ("", "8/8", "5/3", "1/0", "-1/3", "1", "a/b", "1/2/3", "auto"):
        given = [f"--shard={share}"] if share else ["--shard", ""]
        process = deepvoro("evaluate", store, "--method", "vd", *given, "--out", tmp_path / "p", env=bare)
        assert process.returncode == 2, share
        assert "--shard" in process.stderr
        assert reasons.get(share, general) in process.stderr
    for extra in (["--json", "x.json"], ["--oracle", "--scheme", "guided"], ["--calibration"]):
        arguments = ["--method", "deepvoro", "--shard", "0/2", "--out", tmp_path / "p", *extra]
        process = deepvoro("evaluate", store, *arguments)
        assert process.returncode == 2
        assert extra[0] in process.stderr
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "STORE", "--method", "vd"),
        ("tune", "STORE", "--method", "vd", "--shots", "1"),
        ("study", "shots", "STORE"),
        ("extract", REPOSITORY / "data/quickdraw/pictures", "--model", "quickdraw-conv4"),
    ],
    ids=lambda command: command[0],
)
def test_a_share_that_is_not_set_is_not_the_whole_work(deepvoro, store, tmp_path, command):
    arguments = [store if word == "STORE" else word for word in command]
    process = deepvoro(*arguments, "--shard", "", "--out", tmp_path / "p")
    assert process.returncode == 2
    assert process.stderr == "deepvoro: --shard '': is not a share; name one as I/N, with I from 0 to N - 1, as in 0/8\n"
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    "share, ranks, speakers",
    [("0/2", 2, [1]), ("1/2", 2, [0]), ("0/8", 4, [1]), ("0/3", 2, [0]), ("rank/4", 4, []), ("auto", 2, [])],
)
def test_processes_that_all_do_one_share_are_told_once(deepvoro, store, tmp_path, share, ranks, speakers):
    for rank in range(ranks):
        env = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(ranks)}
        flags = ["--method", "vd", "--shard", share.replace("rank", str(rank)), "--out", tmp_path / "pieces"]
        process = deepvoro("evaluate", store, *with_task(["--episodes", "3", *flags]), env=env)
        assert process.returncode == 0, process.stderr
        notes = [line for line in process.stderr.splitlines() if line.startswith("note: ")]
        assert len(notes) == (rank in speakers)
        assert all(f"mpirun started {ranks} processes" in note and "--shard auto or mpi" in note for note in notes)


def test_auto_is_the_task_of_an_array_and_the_rank_of_mpirun(deepvoro, store, merge, tmp_path):
    expected = one_process(deepvoro, store, tmp_path / "one.json", "--method", "vd")
    environments = [
        {
            "SLURM_ARRAY_TASK_ID": str(5 + task),
            "SLURM_ARRAY_TASK_MIN": "5",
            "SLURM_ARRAY_TASK_MAX": "6",
            "SLURM_ARRAY_TASK_COUNT": "2",
            "OMPI_COMM_WORLD_RANK": str(rank),
            "OMPI_COMM_WORLD_SIZE": "2",
        }
        for task in range(2)
        for rank in range(2)
    ]
    for env in environments:
        process = deepvoro(
            "evaluate", store, *FLAGS, "--method", "vd", "--shard", "auto", "--out", tmp_path / "pieces", env=env
        )
        assert "30 pieces made, 0 were there" in process.stdout
    assert merge("pieces").returncode == 0
    assert without_times(tmp_path / "merged.json") == expected


@pytest.mark.parametrize(
    "tasks, count, reason",
    [
        ((3, 7), 2, "--shard I/N"),
        ((0, 2, 4), 3, "--shard I/N"),
        ((3,), None, "SLURM_ARRAY_TASK_MIN, SLURM_ARRAY_TASK_MAX or SLURM_ARRAY_TASK_COUNT is missing"),
    ],
    ids=["gap", "step", "id-alone"],
)
def test_auto_refuses_every_task_of_an_array_it_cannot_count(deepvoro, store, tmp_path, tasks, count, reason):
    bounds = {"MIN": min(tasks), "MAX": max(tasks), "COUNT": count} if count else {}
    for task in tasks:
        env = {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in {"ID": task, **bounds}.items()}
        process = deepvoro("evaluate", store, "--method", "vd", "--shard", "auto", "--out", tmp_path / "p", env=env)
        assert process.returncode == 2
        assert reason in process.stderr
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--method", "vd,deepvoro,dc", "--shots", "1,3"),
        ("--method", "deepvoro", "--scheme", "guided", "--protocol", "dc"),
        ("--method", "deepvoro", "--scheme", "random", "--size", "3", "--split", "val"),
    ],
    ids=["methods", "guided", "random"],
)
def test_merge_prints_what_one_process_prints(deepvoro, store, shards, merge, tmp_path, arguments):
    flags = with_task(["--episodes", "20", *arguments])
    one = deepvoro("evaluate", store, *flags)
    shards(2, *flags)
    merged = merge("pieces")
    assert merged.returncode == 0, merged.stderr
    *printed, last = merged.stdout.splitlines()
    assert printed == one.stdout.splitlines()
    assert last.startswith(f"{tmp_path}/merged.json: ")
    assert merged.stderr == one.stderr == ""


def test_a_pool_for_other_shots_is_noted_by_shares_and_by_merge(deepvoro, store, merge, tmp_path):
    pool = tmp_path / "pool.json"
    tuning = ["--method", "deepvoro", "--ways", "4", "--queries", "5", "--shots", "2", "--episodes", "20", "--top-k", "2"]
    assert deepvoro("tune", store, *tuning, "--out", pool).returncode == 0
    flags = with_task(["--method", "deepvoro", "--shots", "1,2,3", "--pool", pool])
    share = deepvoro("evaluate", store, *flags, "--shard", "0/1", "--out", tmp_path / "pieces")
    note = "".join(f"note: {pool} was tuned with --shots 2, not {shots}\n" for shots in (1, 3))
    for process in (deepvoro("evaluate", store, *flags), share, merge("pieces")):
        assert process.returncode == 0
        assert process.stderr == note


def test_a_network_that_has_seen_the_classes_is_told_by_merge(deepvoro, make_store, merge, tmp_path):
    store = tmp_path / "imagenet"
    shutil.copytree(make_store(dim=5), store)
    description = json.loads((store / "store.json").read_text())
    description["provenance"] = {"backbone": {"name": "big", "trained_on": "ImageNet"}}
    (store / "store.json").write_text(json.dumps(description))
    flags = ["--method", "vd", "--episodes", 3, "--shard", "0/1", "--out", tmp_path / "pieces"]
    share = deepvoro("evaluate", store, *flags)
    assert "was trained on ImageNet" in share.stderr
    assert merge("pieces").stderr == share.stderr


def test_merge_replaces_a_result_but_writes_none_among_pieces(deepvoro, shards, merge, tmp_path):
    shards(1, "--method", "vd")
    (tmp_path / "merged.json").write_text("earlier")
    assert merge("pieces").returncode == 0
    assert json.loads((tmp_path / "merged.json").read_text())
    before = sorted((tmp_path / "pieces").iterdir())
    pieces = tmp_path / "pieces"
    for output, words in ((pieces / "merged.json", f"lies in {pieces}, a folder"), (pieces, "is a folder")):
        process = deepvoro("merge", pieces, "--json", output)
        assert process.returncode == 2
        assert f"--json {output}: {words} of pieces; write it elsewhere" in process.stderr
    assert sorted((tmp_path / "pieces").iterdir()) == before


def test_wrong_names_are_told_with_advice(deepvoro, store, shards, merge, tmp_path):
    flags = with_task(["--method", "vd", "--episodes", "3"])
    shards(1, *flags)
    pieces = tmp_path / "pieces"
    (tmp_path / "file").write_text("")
    share = ["evaluate", store, *flags, "--shard", "0/1", "--out"]
    for code, arguments, words in (
        (2, [*share, tmp_path / "file"], "file: is a file; --out must be a folder"),
        (2, [*share, ""], "--out"),
        (3, [*share, tmp_path / "file/x"], "does the folder exist?"),
        (2, ["merge", pieces, "--json", "-"], "'-' does not stand for standard output; name a file"),
        (2, ["evaluate", store, *flags, "--json", "-"], "'-' does not stand for standard output; name a file"),
        (3, ["merge", pieces, "--json", tmp_path], "Is a directory; name a file"),
        (3, ["merge", pieces / "piece-000000", "--json", tmp_path / "x"], "is a file; name the folder"),
        (2, ["merge", pieces, f"{pieces}/", "--json", tmp_path / "x"], f"{pieces} is named twice; name it once"),
        (3, ["evaluate", store, "--method", "vd", "--shots", "1", "--queries", "40"], "fewer than 1 shot + 40 queries"),
        (2, ["evaluate", store, "--method", "vd", "--scheme", "random", "--size", "4"], "method vd has 1 member\n"),
    ):
        process = deepvoro(*arguments)
        assert process.returncode == code, process.stderr
        assert words in process.stderr
        assert len(process.stderr.splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_merge_says_what_it_wrote_and_which_output_it_wants(deepvoro, shards, merge, tmp_path):
    shards(1, "--method", "vd")
    assert f"{tmp_path}/merged.json: 1 result" in merge("pieces").stdout.splitlines()
    process = deepvoro("merge", tmp_path / "pieces", "--json", tmp_path / "x.json", "--out", tmp_path / "x")
    assert process.returncode == 2
    assert "--out is not for these" in process.stderr
    assert "merged with --json" in deepvoro("merge", tmp_path / "pieces", "--out", tmp_path / "x").stderr
    assert not (tmp_path / "x").exists()


def test_a_store_that_is_not_there_is_known_from_the_pieces(deepvoro, store, merge, tmp_path):
    shutil.copytree(store, tmp_path / "store")
    flags = [*FLAGS, "--method", "vd", "--shard", "0/1", "--out", tmp_path / "pieces"]
    assert deepvoro("evaluate", tmp_path / "store", *flags).returncode == 0
    shutil.rmtree(tmp_path / "store")
    assert refused(merge("pieces"), f"{tmp_path}/store", "pieces/piece-000000 was made from it")


@pytest.mark.parametrize("script", ["slurm/submit.sh", "slurm/evaluate.sbatch", "slurm/tune.sbatch", "mpi/evaluate.sh"])
def test_examples_say_how_they_are_used(script):
    process = subprocess.run(["bash", REPOSITORY / "examples" / script], capture_output=True, text=True)
    assert process.returncode == 2
    assert process.stderr.startswith("usage: ")


def test_the_example_of_slurm_says_that_there_is_none(tmp_path):
    for tool in ("bash", "dirname"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    command = [tmp_path / "bash", REPOSITORY / "examples/slurm/submit.sh", "store", "pieces", "result.json", "2"]
    process = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert process.returncode == 3
    assert process.stderr.startswith("submit.sh: there is no sbatch here")
    assert len(process.stderr.splitlines()) == 1


@pytest.mark.parametrize("script, out", [("evaluate.sbatch", "--json"), ("tune.sbatch", "--out")])
def test_the_examples_of_slurm_can_be_merged(program, deepvoro, store, tmp_path, script, out):
    path = f"{program.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "STORE": str(store), "PIECES": str(tmp_path / "pieces"), "SHARES": "2"}
    text = (REPOSITORY / "examples/slurm" / script).read_text()
    assert "--queries" not in text
    few = text.replace("--shots", "--ways 3 --queries 4 --episodes 9 --shots")
    for task in ("0", "1", "0", "1"):
        command = ["bash", "-c", few]
        process = subprocess.run(command, env={**env, "SLURM_ARRAY_TASK_ID": task}, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
    process = deepvoro("merge", tmp_path / "pieces", out, tmp_path / "merged.json")
    assert process.returncode == 0, process.stderr


def test_killed_workers_cost_only_what_they_had_not_finished(program, deepvoro, store, merge, tmp_path):
    methods = ["--method", METHODS, "--episodes", "31"]
    arguments = ["evaluate", str(store), *with_task(methods)]
    expected = one_process(deepvoro, store, tmp_path / "one.json", *methods)
    pieces = tmp_path / "pieces"
    command = [program, *arguments, "--shard", "0/1", "--out", str(pieces)]
    finished = {}
    for _ in range(12):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = len(finished) + 13
        while process.poll() is None and sum(1 for _ in pieces.glob("piece-??????")) < wanted:
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = {file.name: file.stat().st_mtime_ns for file in pieces.glob("piece-??????")}
        assert {name: now[name] for name in finished} == finished
        finished = now
    process = deepvoro(*arguments, "--shard", "0/1", "--out", pieces)
    assert process.returncode == 0
    assert f"{7 * 31 - len(finished)} pieces made, {len(finished)} were there" in process.stdout
    assert merge("pieces").returncode == 0
    assert without_times(tmp_path / "merged.json") == expected
    assert json.loads((tmp_path / "merged.json").read_text())[0]["episodes"] == 31
