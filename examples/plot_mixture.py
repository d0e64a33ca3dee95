"""
How sure is a cluster, and what shape has it?
=============================================

`MultiTaskGaussianMixture` is the model as a mixture: it tells the probability of each cluster, the density of each row,
and the shape of the clusters. Here three data sets hold the same groups in different places, and two of them lack one
of the groups.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from mtcluster import MultiTaskGaussianMixture
from mtcluster.metrics import joint_accuracy

rng = np.random.default_rng(0)
centers, shifts = np.array([[0, 0], [8, 1], [2, 9], [11, 9]]), np.array([[0, 0], [2, -1], [-1, 2]])
tasks = np.repeat([0, 1, 2], 150)
y = np.concatenate([rng.choice([0, 1, 2, 3], 150), rng.choice([0, 1, 2], 150), rng.choice([1, 2, 3], 150)])
X = centers[y] + shifts[tasks] + rng.normal(size=(450, 2)) @ [[1.5, 1], [0, 0.7]]  # clusters are stretched
model = MultiTaskGaussianMixture(n_clusters=4, random_state=0).fit(X, tasks=tasks)
print(f"joint accuracy {joint_accuracy(y, model.labels_, tasks):.3f}")
print("clusters that the tasks hold:", model.cluster_presence_.astype(int), sep="\n")

# %%
# Which form of the covariances describes the rows best? The lower the BIC, the better.
for kind in ("tied", "full", "diag", "spherical"):
    other = MultiTaskGaussianMixture(n_clusters=4, covariance_type=kind, random_state=0).fit(X, tasks=tasks)
    print(f"{kind:<10} BIC {other.bic(X, tasks=tasks):.0f}")

# %%
# The clusters of each task are where its own centres are; the ellipses hold about 86 % of their rows. Pale rows lie
# between clusters: their most probable cluster is not sure.
values, vectors = np.linalg.eigh(model.covariances_)
angle = np.degrees(np.arctan2(*vectors[::-1, -1]))
fig, axes = plt.subplots(1, 3, figsize=(10, 3.5), sharex=True, sharey=True, layout="constrained")
for k, ax in enumerate(axes):
    rows = tasks == k
    sure = model.memberships_[rows].max(axis=1)
    ax.scatter(*X[rows].T, c=model.labels_[rows], cmap="viridis", vmin=0, vmax=3, s=14, alpha=sure**4)
    for j in np.flatnonzero(model.cluster_presence_[k]):
        width, height = 4 * np.sqrt(values[::-1])
        ax.add_patch(Ellipse(model.task_centers_[k, j], width, height, angle=angle, fill=False, color="0.4"))
    ax.set_title(f"task {k}")
plt.show()
