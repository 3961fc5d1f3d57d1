"""Real features: independently obtained figures, and the reference score by score."""
import pytest
import reference
from checks import assert_result_follows_from_scores, assert_scores_agree
from reference import Store, Task

ONE_QUERY_PERCENT = 100 / (300 * 75)
NEAR_TIES = 2


@pytest.mark.parametrize(
    "method, shots, accuracy",
    [("vd", 1, 75.5600), ("deepvoro", 1, 77.4133), ("vd", 5, 89.6178), ("deepvoro", 5, 90.9111)],
)
def test_known_figures(evaluate, cub_store, method, shots, accuracy):
    evaluation = evaluate(cub_store, method, task=Task(shots=shots, episodes=300))
    assert evaluation.result["accuracy"] == pytest.approx(accuracy, abs=(NEAR_TIES + 0.1) * ONE_QUERY_PERCENT)
    assert_result_follows_from_scores(evaluation.result, evaluation.scores)


@pytest.mark.parametrize("method", ["vd", "deepvoro", "deepvoro++"])
@pytest.mark.parametrize("shots, protocol, alpha", [(1, "deepvoro", 1), (5, "dc", 1), (5, "deepvoro", -1)])
def test_scores(evaluate, cub_store, method, shots, protocol, alpha):
    task = Task(shots=shots, episodes=8, protocol=protocol)
    store = Store(cub_store)
    pool = reference.default_pool(method, store.views)
    evaluation = evaluate(cub_store, method, "--alpha", alpha, task=task)
    assert_scores_agree(evaluation.scores, reference.ensemble_scores(store, task, pool, float(alpha)))
    assert_result_follows_from_scores(evaluation.result, evaluation.scores)


@pytest.mark.parametrize("method, shots", [("deepvoro", 1), ("deepvoro", 5), ("deepvoro++", 1)])
def test_guided_scheme(evaluate, cub_store, method, shots):
    task = Task(shots=shots, episodes=8)
    store = Store(cub_store)
    members = reference.guided_members(store, task, reference.default_pool(method, store.views))
    evaluation = evaluate(cub_store, method, "--scheme", "guided", task=task)
    assert evaluation.result["members"] == len(members)
    assert_scores_agree(evaluation.scores, reference.ensemble_scores(store, task, members))
    assert_result_follows_from_scores(evaluation.result, evaluation.scores)
