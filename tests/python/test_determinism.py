"""Same inputs, same bits: at any thread count and at any instruction set."""
import re
from pathlib import Path

import pytest
from reference import Task

TASK = Task(ways=4, shots=3, queries=7, episodes=9, seed=1)
CASES = [
    ("vd", 640, "float16", 1),
    ("vd", 31, "float32", -1),
    ("deepvoro", 31, "float16", 1),
    ("deepvoro", 100, "float32", 1),
    ("deepvoro", 640, "float16", 1.7),
    ("deepvoro++", 31, "float32", 1),
    ("deepvoro++", 100, "float16", 1),
    ("deepvoro++", 65, "float32", 0.3),
]


def cpu_flags():
    match = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return set(match.group(1).split()) if match else set()


def available_instruction_sets():
    flags = cpu_flags()
    needed = {
        "generic": set(),
        "avx2": {"avx2", "fma", "f16c"},
        "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
    }
    return [name for name, required in needed.items() if required <= flags]


@pytest.mark.parametrize("method, dim, dtype, alpha", CASES)
def test_thread_count_does_not_change_a_bit(evaluate, make_store, method, dim, dtype, alpha):
    store = make_store(dim=dim, dtype=dtype)
    runs = [evaluate(store, method, "--alpha", alpha, "--threads", n, task=TASK) for n in (1, 2, 7)]
    assert runs[1].scores_bytes == runs[0].scores_bytes
    assert runs[2].scores_bytes == runs[0].scores_bytes


@pytest.mark.parametrize("method, dim, dtype, alpha", CASES)
def test_instruction_set_does_not_change_a_bit(evaluate, make_store, method, dim, dtype, alpha):
    store = make_store(dim=dim, dtype=dtype)
    scores = {}
    for name in available_instruction_sets():
        evaluation = evaluate(store, method, "--alpha", alpha, task=TASK, env={"DEEPVORO_ISA": name})
        assert evaluation.result["program"]["isa"] == name
        scores[name] = evaluation.scores_bytes
    assert [name for name in scores if scores[name] != scores["generic"]] == []


def test_guided_choice_does_not_depend_on_threads_or_instruction_set(evaluate, make_store):
    store = make_store(dim=64)
    settings = [(1, "generic"), (7, available_instruction_sets()[-1])]
    first, second = (
        evaluate(store, "deepvoro", "--scheme", "guided", "--threads", n, task=TASK, env={"DEEPVORO_ISA": isa})
        for n, isa in settings
    )
    assert second.result["pool"] == first.result["pool"]
    assert second.scores_bytes == first.scores_bytes


def test_unknown_instruction_set_is_wrong_usage(deepvoro, make_store):
    store = make_store(dim=64)
    process = deepvoro("evaluate", store, "--method", "vd", "--episodes", 1, env={"DEEPVORO_ISA": "sse9"})
    assert process.returncode == 2
    assert len(process.stderr.splitlines()) == 1
    assert "sse9" in process.stderr
