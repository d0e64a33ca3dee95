"""
What if one data set is unrelated to the others?
================================================

Here two tasks have their clusters in the same places, and a third has clusters elsewhere. `SPMTC` measures how related
the tasks are, and leaves a task alone that is related to no other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from mtcluster import SPMTC, PerTask
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import task_scores


def make(n_features, seed):
    """Two related tasks and an unrelated one: rows, known clusters and the task of each row."""
    X, y, tasks = make_multitask_blobs(120, n_features, n_tasks=2, n_clusters=4, random_state=seed)
    Z, z, _ = make_multitask_blobs(120, n_features, n_tasks=1, n_clusters=4, random_state=100 + seed)
    names = np.concatenate([np.array(["north", "south"])[tasks], np.full(len(Z), "elsewhere")])
    return np.concatenate([X, Z]), np.concatenate([y, z]), names


# %%
# With 20 features:
X, y, tasks = make(n_features=20, seed=0)
print(SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks).explain())

# %%
# Is the unrelated task always recognised? In few dimensions unrelated clusters can be similar by chance. So we try
# several numbers of features, with two data sets each, and compare with k-means per task, which does not share
# anything.
records = []
for d in (5, 10, 20, 40):
    for seed in range(2):
        X, y, tasks = make(d, seed)
        model = SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks)
        alone = PerTask(KMeans(4, n_init=10, random_state=0)).fit(X, tasks=tasks)
        gain = np.subtract(*(task_scores(y, m.labels_, tasks)["accuracy"] for m in (model, alone)))
        odd = model.tasks_.tolist().index("elsewhere")
        likeness = np.delete(model.task_relatedness_[odd], odd).max()
        records.append(
            (d, bool(model.fitted_.within_weight[odd] == 1), likeness, gain[odd], np.delete(gain, odd).mean())
        )
        apart, rest = str(records[-1][1]), "likeness {:.2f}  gain elsewhere {:+.3f}, north and south {:+.3f}"
        print(f"{d:>2} features  left alone: {apart:<5} ", rest.format(*records[-1][2:]))

# %%
# Left: relatedness of the unrelated task to the most similar other task. Right: accuracy of `SPMTC` minus that of
# k-means per task. In five dimensions the unrelated task may be taken for related, and then it loses accuracy. If it is
# left alone, the related tasks are searched without it, and little is lost. With clusters as clear as here and
# few features, k-means per task is the safer choice, unless clusters have to correspond.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for index, (d, apart, likeness, odd_gain, related_gain) in enumerate(records):
    x, label = index % 2 * 0.14 + [5, 10, 20, 40].index(d), index == 0
    left.plot(x, likeness, "s" if apart else "o", color="#0072B2" if apart else "#D55E00")
    right.plot(x, related_gain, "^", color="#009E73", label="north and south" if label else None)
    right.plot(x, odd_gain, "o", color="#D55E00", fillstyle="none", label="elsewhere" if label else None)
left.plot([], [], "s", color="#0072B2", label="left alone")
left.plot([], [], "o", color="#D55E00", label="taken for related")
left.set(ylabel="relatedness to the most similar task", ylim=(0, 1))
right.axhline(0, color="0.6", linewidth=1, zorder=0)
right.set(ylabel="accuracy − that of k-means per task")
for ax in (left, right):
    ax.set(xticks=np.arange(4) + 0.07, xticklabels=[5, 10, 20, 40], xlabel="features")
    ax.legend()
plt.show()
