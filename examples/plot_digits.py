"""
Is a digit the same cluster on every scanner?
=============================================

Handwritten digits on three simulated scanners: one leaves them as they are, one is out of focus, one slants them. Each
scanner is a task. k-means per task finds digits, but numbers them arbitrarily. `SPMTC` gives them the same numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from mtcluster import SPMTC, PerTask, Pooled
from mtcluster.datasets import load_digits_tasks
from mtcluster.metrics import joint_accuracy, task_scores

X, y, tasks = load_digits_tasks()
methods = {
    "k-means per task": PerTask(KMeans(10, n_init=10, random_state=0)),
    "k-means pooled": Pooled(KMeans(10, n_init=10, random_state=0)),
    "SPMTC": SPMTC(n_clusters=10, random_state=0),
}
labels = {name: method.fit(X, tasks=tasks).labels_ for name, method in methods.items()}

# %%
# The known digits are used for scoring only. ACC scores each task separately; for *joint*, a cluster has to be the same
# digit in all three.
for name, found in labels.items():
    acc = np.mean(task_scores(y, found, tasks)["accuracy"])
    print(f"{name:<17} ACC {acc:.3f}   joint {joint_accuracy(y, found, tasks):.3f}")

# %%
# The mean image of each cluster: one column per cluster, one row per scanner. With SPMTC a column shows one shape,
# sharp, blurred and slanted. With k-means per task the rows of a column usually show different digits.
fig, parts = plt.figure(figsize=(8, 5.4), layout="constrained"), ["SPMTC", "k-means per task"]
names = ["plain", "blurred", "slanted"]
for part, method in zip(fig.subfigures(2, 1), parts, strict=True):
    part.suptitle(method)
    for row, name in zip(part.subplots(3, 10), names, strict=True):
        row[0].set_ylabel(name, rotation=0, ha="right", va="center")
        for j, ax in enumerate(row):
            own = (tasks == name) & (labels[method] == j)
            if own.any():  # a task may lack a cluster
                ax.imshow(X[own].mean(axis=0).reshape(8, 8), cmap="gray_r")
            ax.set(xticks=[], yticks=[])
plt.show()

# %%
# What the fit decided, and on what evidence:
print(methods["SPMTC"].explain())
