"""
How are rows of a new data set labelled?
========================================

A model is fitted to three data sets. Later, new rows of these arrive, and a fourth data set. `predict` labels both
without another fit: rows of a known task by the centres of the task and the shared centres, rows of a new task as if
it had joined the model (`adapt`).
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from mtcluster import SPMTC
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import clustering_accuracy

X, y, tasks = make_multitask_blobs(n_samples=200, n_features=6, n_tasks=4, n_clusters=4, separation=8, random_state=5)
old, late = tasks < 3, tasks == 3
known = old & (np.arange(len(X)) % 2 == 0)  # half of the rows of three tasks
model = SPMTC(n_clusters=4, random_state=0).fit(X[known], tasks=tasks[known])

new_rows = old & ~known
labels = model.predict(X[new_rows], tasks=tasks[new_rows])
print("new rows of known tasks:", round(clustering_accuracy(y[new_rows], labels), 3))

# %%
# A task that was not in the fit is named in a warning.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    labels = model.predict(X[late], tasks=tasks[late])
print(*(warning.message for warning in caught), sep="\n")
print("rows of a new task:     ", round(clustering_accuracy(y[late], labels), 3))

# %%
# What if the new data set is shifted as a whole? Tasks lie apart in this fit, so `predict` finds where the new one
# lies, by its clusters. Without `tasks`, rows stay where they are. Or fit again with all tasks: this costs one fit.
warnings.simplefilter("ignore")  # the task is known to be new
steps = np.linspace(0, 8, 5)
direction = np.random.default_rng(0).normal(size=X.shape[1])
direction /= np.linalg.norm(direction)
found = {"without tasks": [], "with tasks: located": [], "fitted again with all tasks": []}
for step in steps:
    shifted = X[late] + step * direction
    both, names = np.concatenate([X[known], shifted]), np.concatenate([tasks[known], tasks[late]])
    again = SPMTC(n_clusters=4, random_state=0).fit(both, tasks=names)
    found["without tasks"].append(clustering_accuracy(y[late], model.predict(shifted)))
    placed = model.predict(shifted, tasks=tasks[late])
    found["with tasks: located"].append(clustering_accuracy(y[late], placed))
    found["fitted again with all tasks"].append(clustering_accuracy(y[late], again.labels_[names == 3]))

fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for (name, values), color, marker in zip(found.items(), ["#D55E00", "#0072B2", "#009E73"], "os^", strict=True):
    ax.plot(steps, values, marker=marker, color=color, label=name)
ax.set(xlabel="shift of the new task", ylabel="accuracy on the new task", ylim=(0, 1.03))
ax.legend(loc="lower left")
plt.show()
for name, values in found.items():
    print(f"{name:<28}", "  ".join(f"{value:.3f}" for value in values))
