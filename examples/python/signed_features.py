# %% [markdown]
# # Features with negative values: DINO, CLIP and their like
# Outputs of transformers are signed. Powers of negative numbers do not exist, so `DeepVoroClassifier` takes their
# signed forms; nothing has to be asked for.

# %% Features of any library are an array [samples, features]. These stand in for `model(images).numpy()`.
import numpy as np

import deepvoro

random = np.random.default_rng(0)
names = np.array(["sparrow", "finch", "wren", "robin", "thrush"])
centers = random.normal(size=(5, 384)).astype(np.float32)


def embed(kinds: np.ndarray) -> np.ndarray:
    return centers[kinds] + random.normal(scale=3.0, size=(len(kinds), 384)).astype(np.float32)


support_kinds = np.repeat(np.arange(5), 5)  # five pictures of each bird
query_kinds = np.repeat(np.arange(5), 200)
support, query = embed(support_kinds), embed(query_kinds)

# %% Fit on the few labelled ones, ask about the others.
model = deepvoro.DeepVoroClassifier().fit(support, names[support_kinds])
print(f"accuracy: {model.score(query, names[query_kinds]):.3f}")

# %% How sure is it? The temperature was found by leaving support rows out in turn.
probabilities = model.predict_proba(query)
print(f"mean probability of the answer: {probabilities.max(axis=1).mean():.3f}")

# %% Several views of the same pictures (flipped, cropped) go side by side.
two_views = deepvoro.DeepVoroClassifier(views=2).fit(
    np.hstack([support, embed(support_kinds)]), names[support_kinds]
)
print(f"accuracy with two views: {two_views.score(np.hstack([query, embed(query_kinds)]), names[query_kinds]):.3f}")

# %% What belongs to none of the classes is far from all of them.
strangers = random.normal(scale=3.0, size=(200, 384)).astype(np.float32)
unknown = model.distances(strangers).min(axis=1) > model.threshold_
print(f"strangers found: {unknown.mean():.2f}, birds given up: {(model.distances(query).min(axis=1) > model.threshold_).mean():.2f}")

# %% It is a classifier of scikit-learn: choose the exponent of the influence of an ensemble by cross-validation.
from sklearn.model_selection import GridSearchCV

search = GridSearchCV(deepvoro.DeepVoroClassifier(geometry="vd"), {"alpha": [0.5, 1.0, 2.0]}, cv=5).fit(support, names[support_kinds])
print("best alpha:", search.best_params_["alpha"])
