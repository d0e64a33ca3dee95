"""
What if sensors drift from batch to batch?
==========================================

Chemical analyses of wines from three growers, measured in three batches. The instrument drifts between batches. Here
the drift is simulated, so that its size is known. Each batch is a task.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from mtcluster import SPMTC, PerTask, Pooled
from mtcluster.metrics import joint_accuracy

wine = load_wine()
rng = np.random.default_rng(0)
batch = rng.integers(3, size=len(wine.target))
direction = rng.normal(size=wine.data.shape[1])
standard = StandardScaler().fit_transform(wine.data)


def drifted(size):
    """The analyses with a drift of `size` standard deviations per batch, on average over the features."""
    return standard + size * batch[:, None] * direction


# %%
# How much drift does each method tolerate? For *joint accuracy*, a cluster has to be the same grower in all batches.
sizes = [0, 0.5, 1, 1.5, 2]
makers = {
    "SPMTC": lambda: SPMTC(n_clusters=3, random_state=0),
    "k-means pooled": lambda: Pooled(KMeans(3, n_init=10, random_state=0)),
    "k-means per batch": lambda: PerTask(KMeans(3, n_init=10, random_state=0)),
}
joint = {
    name: [joint_accuracy(wine.target, make().fit(drifted(size), tasks=batch).labels_, batch) for size in sizes]
    for name, make in makers.items()
}

# %%
# Without drift, pooled k-means is as good. With drift, it finds batches instead of growers. k-means per batch is not
# affected by the drift, but its clusters do not correspond.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
plane = PCA(2, random_state=0).fit_transform(drifted(sizes[-1]))
for j, (color, marker) in enumerate(zip(["#0072B2", "#E69F00", "#009E73"], "o^s", strict=True)):
    own = batch == j
    left.scatter(*plane[own].T, s=14, color=color, marker=marker, label=f"batch {j}")
left.set(xticks=[], yticks=[], title=f"two leading directions, drift {sizes[-1]:g}")
left.legend()
for (name, values), color, marker in zip(joint.items(), ["#0072B2", "#D55E00", "#999999"], "osv", strict=True):
    right.plot(sizes, values, marker=marker, color=color, label=name)
right.set(xlabel="drift from batch to batch, in standard deviations", ylabel="joint accuracy", ylim=(0, 1.03))
right.legend(loc="lower left")
plt.show()

for name, values in joint.items():
    print(f"{name:<18}", "  ".join(f"{value:.3f}" for value in values))
