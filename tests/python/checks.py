"""What every result has to satisfy."""
import itertools

import numpy as np
import reference

RELATIVE_TOLERANCE = 1e-5
STANDARD_ERRORS = 4.5
ROUNDING = 1e-9


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


def assert_like_another_seed(scores, seeds):
    """Scores lie where one more seed of a reference would lie; it takes three seeds to tell.

    Each seed in turn is held against the others; how far that comes from 0 in an episode gives the standard error
    of the program's mean over episodes.
    """
    for measure in (accuracy_difference, spread_difference, log_likelihood_difference, agreement_difference):
        held_out = [measure(seeds[s], seeds[:s] + seeds[s + 1 :]) for s in range(len(seeds))]
        standard_error = np.sqrt(np.square(held_out).mean() / len(scores))
        mean = measure(scores, seeds).mean()
        shortfall = -mean if measure is agreement_difference else abs(mean)
        assert shortfall <= STANDARD_ERRORS * standard_error + ROUNDING, (measure.__name__, mean, standard_error)


def difference(statistic, scores, others):
    return statistic(scores) - np.mean([statistic(other) for other in others], axis=0)


def accuracy_difference(scores, others):
    return difference(reference.episode_accuracy_percent, scores, others)


def spread_difference(scores, others):
    """How far apart the scores of a query lie."""
    return difference(lambda values: values.std(axis=2).mean(axis=1), scores, others)


def log_likelihood_difference(scores, others):
    def of_true_class(values):
        _, rows, ways = values.shape
        shifted = values - values.max(axis=2, keepdims=True)
        likelihoods = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))
        return likelihoods[:, np.arange(rows), np.repeat(np.arange(ways), rows // ways)].mean(axis=1)

    return difference(of_true_class, scores, others)


def agreement_difference(scores, others):
    """How much more often the predictions of an episode agree with the others than those among themselves."""
    among_themselves = [agreement(a, b) for a, b in itertools.combinations(others, 2)]
    return np.mean([agreement(scores, other) for other in others], axis=0) - np.mean(among_themselves, axis=0)


def agreement(scores, other):
    return (scores.argmax(axis=2) == other.argmax(axis=2)).mean(axis=1)
