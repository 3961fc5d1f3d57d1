"""What every result has to satisfy."""
import numpy as np
import reference

RELATIVE_TOLERANCE = 1e-5


def assert_scores_agree(actual, expected, absolute_tolerance=0.0):
    assert actual.dtype == np.float64
    assert actual.shape == expected.shape
    assert not np.isnan(actual).any()
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(np.isinf(actual), infinite)
    np.testing.assert_array_equal(actual[infinite], expected[infinite])
    np.testing.assert_allclose(actual[~infinite], expected[~infinite], RELATIVE_TOLERANCE, absolute_tolerance)
    clear = clear_decisions(expected)
    np.testing.assert_array_equal(actual.argmax(axis=2)[clear], expected.argmax(axis=2)[clear])


def clear_decisions(scores):
    second, best = np.moveaxis(np.sort(scores, axis=2)[:, :, -2:], 2, 0)
    both_infinite = np.isinf(second) & (second == best)
    with np.errstate(invalid="ignore"):
        return both_infinite | (best - second > RELATIVE_TOLERANCE * np.maximum(abs(second), abs(best)))


def assert_result_follows_from_scores(result, scores):
    accuracy = np.array(result["episode_accuracy"])
    np.testing.assert_allclose(accuracy, reference.episode_accuracy_percent(scores), atol=1e-9)
    assert abs(result["accuracy"] - accuracy.mean()) < 1e-9
    assert abs(result["ci95"] - reference.ci95(accuracy)) < 1e-9
