"""
What of a data set that arrives later?
======================================

A model was fitted on three data sets. Then new rows of these arrive, and a fourth data set. `predict` labels both
without another fit: rows of a known task by the centres of their task, rows of a new one by the shared centres.
"""

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
labels = model.predict(X[late], tasks=tasks[late])
print("rows of a new task:     ", round(clustering_accuracy(y[late], labels), 3))

# %%
# A data set that lies elsewhere as a whole is another matter. The shared centres lie at the middle of the tasks that
# were fitted; a new task that is shifted against them should be brought there first, by its own mean. That is right
# where it holds about the same share of each cluster. Or fit again with all tasks: that costs one fit, and the new
# task gets centres of its own.
steps = np.linspace(0, 8, 5)
direction = np.random.default_rng(0).normal(size=X.shape[1])
direction /= np.linalg.norm(direction)
middle = X[known].mean(axis=0)
found = {"as it came": [], "mean moved to the middle": [], "fitted again with all": []}
for step in steps:
    shifted = X[late] + step * direction
    moved = shifted - shifted.mean(axis=0) + middle
    both, names = np.concatenate([X[known], shifted]), np.concatenate([tasks[known], tasks[late]])
    again = SPMTC(n_clusters=4, random_state=0).fit(both, tasks=names)
    found["as it came"].append(clustering_accuracy(y[late], model.predict(shifted)))
    found["mean moved to the middle"].append(clustering_accuracy(y[late], model.predict(moved)))
    found["fitted again with all"].append(clustering_accuracy(y[late], again.labels_[names == 3]))

fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for (name, values), color, marker in zip(found.items(), ["#D55E00", "#0072B2", "#009E73"], "os^", strict=True):
    ax.plot(steps, values, marker=marker, color=color, label=name)
ax.set(xlabel="how far the new task is shifted", ylabel="accuracy on the new task", ylim=(0, 1.03))
ax.legend(loc="lower left")
plt.show()
