"""
Which rows do not belong?
=========================

Some rows lie far from all clusters. `SPMTC` lets rows far from all others count less when it looks for a start, begins
with the rows that fit best and lets the hardest in last, with little weight. So outliers can be told by their losses.
Do they harm the clusters of the other rows?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from mtcluster import SPMTC
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import clustering_accuracy


def make(share, seed):
    """Four clusters in three tasks, a share of the rows replaced by outliers."""
    return make_multitask_blobs(n_samples=200, n_features=5, outliers=share, separation=8, random_state=seed)


def multiples(model):
    """The loss of each row as a multiple of the usual one in its task."""
    usual = np.array([np.median(model.losses_[model.task_indices_ == k]) for k in range(len(model.tasks_))])
    return model.losses_ / usual[model.task_indices_]


# %%
# A tenth of the rows are outliers. On the left the losses; on the right when rows were let in, in stages from the
# easiest half to all.
X, y, tasks = make(0.1, seed=0)
strange = y == -1
model = SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks)
found = multiples(model)
print("area under the ROC curve, outliers by loss:", round(roc_auc_score(strange, found), 3))

fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained")
bins = np.geomspace(found.min(), found.max(), 40)
kinds = {"rows of clusters": (~strange, "#56B4E9"), "outliers": (strange, "#D55E00")}
for shift, (name, (part, color)) in zip((-0.02, 0.02), kinds.items(), strict=True):
    left.hist(found[part], bins, color=color, label=name)
    share = [np.mean(model.admitted_[part] == fraction) for fraction in model.fractions_]
    right.bar(model.fractions_ + shift, share, 0.04, color=color)
left.set(xscale="log", xlabel="loss, as a multiple of the median of the task", ylabel="rows")
left.legend()
right.set(xlabel="stage: fraction of rows let in", ylabel="share of the rows of this kind")
plt.show()

# %%
# How many outliers does a fit stand? Beside the plain fit, one in two steps: rows of more than ten times the usual
# loss are set aside, and the others fitted again. Means of two sets each.
shares = [0, 0.1, 0.15, 0.2]
plain, again = [], []
for share in shares:
    pairs = []
    for seed in range(2):
        X, y, tasks = make(share, seed)
        model = SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks)
        kept, real = multiples(model) < 10, y >= 0
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
# A tenth of such rows do no harm; when a fifth of all rows are outliers, some do. They are found by their losses all
# the same, and the second step mends it.
#
# Outliers that are alike are another matter: they form a cluster of their own, fit well, and no loss gives them away.
# That asks for one cluster more.
