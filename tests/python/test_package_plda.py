"""plda fitted on rows in memory, classes of any size, against the dense form."""
import deepvoro
import numpy as np
import pytest
from reference import BaseCovariances, plda_distances, transform

GEOMETRY = {"geometry": "plda", "shrink_within": 0.4, "shrink_between": 0.3, "kappa": 2.0}


def rows_of(random, centers, labels):
    return np.maximum(centers[labels] + random.normal(size=(len(labels), centers.shape[1])), 0)


@pytest.mark.parametrize("dim", [2, 5, 63, 64, 130, 700])
@pytest.mark.parametrize("sizes", [(3, 3, 3), (1, 4, 20), (2, 2, 7)])
def test_fitted_on_classes_of_any_size(dim, sizes):
    random = np.random.RandomState(dim)
    shift = 3 if dim < 8 else 0
    base_labels = np.arange(240) % 12
    base = rows_of(random, shift + random.normal(size=(12, dim)), base_labels).astype(np.float32)
    labels = np.repeat(np.arange(3), sizes)
    centers = shift + random.normal(size=(3, dim))
    support = rows_of(random, centers, labels).astype(np.float32)
    queries = rows_of(random, centers, np.arange(10) % 3).astype(np.float32)
    model = deepvoro.DeepVoroClassifier(
        transforms=[{"lambda": 0.5}], geometry=[GEOMETRY], base=(base, base_labels), signed=False, temperature=1.0
    ).fit(support, labels)

    def transformed(rows):
        return transform(rows.astype(np.float64), 1, 0, 0.5)

    covariances = BaseCovariances(transformed(base), base_labels, 0.4, 0.3)
    points = covariances.points(transformed(support))
    expected = -plda_distances(
        covariances, covariances.points(transformed(queries)), [points[labels == k] for k in range(3)], 2.0
    )
    np.testing.assert_allclose(model.decision_function(queries), expected, rtol=1e-5)


def test_geometry_by_name_has_the_usual_parameters():
    random = np.random.RandomState(0)
    labels = np.arange(60) % 6
    base = random.rand(60, 8) + 2 * np.eye(8)[labels], labels
    model = deepvoro.DeepVoroClassifier(geometry="plda", views=["a", "b"], base=(np.tile(base[0], 2), base[1]))
    model.fit(random.rand(4, 16), [0, 0, 1, 1])
    assert model.members_ == [
        {
            "view": view, "w": 1.0, "b": 0.0, "lambda": 0.5, "geometry": "plda",
            "shrink_within": 0.5, "shrink_between": 0.4, "kappa": 1.0,
        }
        for view in ("a", "b")
    ]


def test_needs_base_classes():
    with pytest.raises(ValueError, match="plda members need features of base classes"):
        deepvoro.DeepVoroClassifier(geometry="plda").fit(np.eye(4), [0, 0, 1, 1])
