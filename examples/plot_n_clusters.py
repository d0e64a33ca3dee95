"""
How many clusters are there?
============================

`select_n_clusters` fits each number of clusters again to halves of the rows, and compares with data without clusters.
It suggests the largest number of clusters that are all found again and between which rows are rarer. Numbers that are
supported are filled; the dashed line is that of data without clusters.
"""

import matplotlib.pyplot as plt

from mtcluster.datasets import make_multitask_blobs
from mtcluster.model_selection import select_n_clusters

X, y, tasks = make_multitask_blobs(n_samples=150, n_tasks=3, n_clusters=5, random_state=3)
apart = select_n_clusters(X, tasks=tasks, n_clusters=range(2, 9), random_state=0)
print(apart)

# %%
# The same with clusters that overlap so much that nothing tells them from one group.
X, y, tasks = make_multitask_blobs(n_samples=150, n_tasks=3, n_clusters=5, separation=1.5, random_state=3)
blurred = select_n_clusters(X, tasks=tasks, n_clusters=range(2, 9), random_state=0)
print(blurred)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, found, title in zip(axes, (apart, blurred), ("well apart", "overlapping"), strict=True):
    found.plot(ax)
    ax.set_title(f"five clusters, {title}")
plt.show()
