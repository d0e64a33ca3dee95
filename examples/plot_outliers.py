"""
Which rows are outliers?
========================

Some rows lie far from all clusters. `SPMTC` leaves rows far from all others out of its search, begins with the
rows that fit best, and adds the hardest last, with little weight. So outliers have large losses. How much
do they affect the clusters of the other rows?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from mtcluster import SPMTC
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection import outlier_scores
from mtcluster.metrics import clustering_accuracy


def make(share, seed):
    """Four clusters in three tasks, with a share of the rows replaced by outliers."""
    return make_multitask_blobs(n_samples=200, n_features=5, outliers=share, separation=8, random_state=seed)


# %%
# A tenth of the rows are outliers. Left: outlier scores, the loss divided by the median loss of the task. Right: the
# stage at which rows were first selected, from the easiest half to all rows.
X, y, tasks = make(0.1, seed=0)
strange = y == -1
model = SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks)
rows = model.fitted_.rows  # what was found for them
found = outlier_scores(rows.losses, rows.tasks)
print("area under the ROC curve:", round(roc_auc_score(strange, found), 3))

fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained")
bins = np.geomspace(found.min(), found.max(), 40)
kinds = {"rows of clusters": (~strange, "#56B4E9"), "outliers": (strange, "#D55E00")}
for shift, (name, (part, color)) in zip((-0.02, 0.02), kinds.items(), strict=True):
    left.hist(found[part], bins, color=color, label=name)
    share = [np.mean(rows.admitted[part] == fraction) for fraction in rows.fractions]
    right.bar(rows.fractions + shift, share, 0.04, color=color)
left.set(xscale="log", xlabel="outlier score", ylabel="rows")
left.legend()
right.set(xlabel="stage: fraction of rows selected", ylabel="share of the rows of this kind")
plt.show()

# %%
# How many outliers does a fit tolerate? Compared are one fit, and two steps: rows with an outlier score above 10 are
# set aside, and the model is fitted again. Means over two data sets.
shares = [0, 0.1, 0.15, 0.2]
plain, again = [], []
for share in shares:
    pairs = []
    for seed in range(2):
        X, y, tasks = make(share, seed)
        model = SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks)
        kept, real = outlier_scores(model.losses_, model.fitted_.rows.tasks) < 10, y >= 0
        second = SPMTC(n_clusters=4, random_state=0).fit(X[kept], tasks=tasks[kept])
        labels = (model.labels_, second.predict(X, tasks=tasks))
        pairs.append([clustering_accuracy(y[real], each[real]) for each in labels])
    plain.append(np.mean(pairs, axis=0)[0])
    again.append(np.mean(pairs, axis=0)[1])
    print(f"{share:.0%} outliers: accuracy on the other rows {plain[-1]:.3f}, in two steps {again[-1]:.3f}")

fig, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
ax.plot(shares, plain, "o-", color="#D55E00", label="one fit")
ax.plot(shares, again, "s-", color="#0072B2", label="outliers set aside, fitted again")
ax.set(xlabel="share of outliers", ylabel="accuracy on the other rows", ylim=(0, 1.03), xticks=shares)
ax.legend(loc="lower left")
plt.show()

# %%
# A tenth of outliers does no harm; a fifth costs some accuracy. The outliers are still found by their scores, and the
# second step restores the accuracy.
#
# Outliers that are similar to each other form a cluster, have small losses and cannot be found in this way: add a
# cluster.
