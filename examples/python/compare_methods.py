# %% [markdown]
# # Ten methods on your own features
# All of them on the very same episodes, with paired differences to the first.

# %% Features of three sets of classes that do not overlap. These stand in for outputs of a network.
import tempfile
from pathlib import Path

import numpy as np

import deepvoro

random = np.random.default_rng(0)


def classes(count: int, samples: int = 30, dim: int = 64) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat(np.arange(count), samples)
    centers = random.gamma(0.3, size=(count, dim))
    rows = np.maximum(centers[labels] + random.normal(scale=0.8, size=(len(labels), dim)), 0)
    return rows.astype(np.float32), labels


# %% A store holds them. Methods may learn from `base`; `val` is for choices; `novel` is what is evaluated.
with tempfile.TemporaryDirectory() as folder:
    store = deepvoro.create_store(
        Path(folder) / "store", base=classes(20), val=classes(10), novel=classes(10), note="made up"
    )

    # %% Every method, one and five shots.
    methods = ["vd", "power-lr", "voronoi-lr", "deepvoro--", "deepvoro", "deepvoro++", "simpleshot", "pt-ncm", "s2m2", "dc"]
    results = deepvoro.evaluate(store, methods, shots=[1, 5], episodes=50)
    print(results)

    # %% As plain dicts, for `pandas.DataFrame(results.to_dicts())` or a plot.
    best = max(results.to_dicts(), key=lambda row: (row["shots"], row["accuracy"]))
    print(f"best with {best['shots']} shots: {best['method']}, {best['accuracy']:.2f} ± {best['ci95']:.2f}")

    # %% Which transformations suit these features? Chosen on `val`, then evaluated on `novel`.
    tuned = deepvoro.tune(store, "deepvoro", shots=5, episodes=50)
    print("the best transformation on val:", tuned.transforms[0])
    print(deepvoro.evaluate(store, "deepvoro", shots=5, episodes=50, pool=tuned))
