# %% [markdown]
# # A Voronoi diagram and its soft borders
# In two dimensions cells can be seen. Rows are taken as they are (`un`), so the diagram lies in the plane of the features.

# %%
import sys

import matplotlib

if "ipykernel" not in sys.modules:
    matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import deepvoro

random = np.random.default_rng(3)
centers = random.uniform(0, 1, size=(6, 2))
support = np.repeat(centers, 3, axis=0) + random.normal(scale=0.04, size=(18, 2))
labels = np.repeat(np.arange(6), 3)
model = deepvoro.SimpleShotClassifier(normalisation="un", temperature=0.05).fit(support, labels)

# %% Which class every point of the plane belongs to, and with what probability.
steps = np.linspace(-0.1, 1.1, 300)
plane = np.stack(np.meshgrid(steps, steps), axis=-1)
probability = model.predict_proba(plane.reshape(-1, 2)).reshape(300, 300, 6)

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 5), sharex=True, sharey=True)
extent = (steps[0], steps[-1], steps[0], steps[-1])
axes[0].imshow(probability.argmax(axis=-1), origin="lower", extent=extent, cmap="Pastel1")
axes[0].set_title("cells")
axes[1].imshow(probability.max(axis=-1), origin="lower", extent=extent, cmap="gray")
axes[1].set_title("probability of the answer")
for panel in axes:
    panel.scatter(*support.T, c=labels, cmap="Set1", edgecolors="black")
figure.savefig("diagram.png", dpi=100)
print("diagram.png")
