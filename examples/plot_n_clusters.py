"""
How many clusters are there?
============================

`select_n_clusters` splits every task into halves, clusters each half, and measures the agreement of the halves. It
suggests the largest number of clusters that is about as stable as the best.
"""

import matplotlib.pyplot as plt

from mtcluster.datasets import make_multitask_blobs
from mtcluster.model_selection import select_n_clusters

X, y, tasks = make_multitask_blobs(n_samples=150, n_tasks=3, n_clusters=5, random_state=3)
clear = select_n_clusters(X, tasks=tasks, n_clusters=range(2, 9), random_state=0)
print(clear)

# %%
# The same with clusters that overlap so much that the halves do not agree. The answer is then that there is no clear
# structure.
X, y, tasks = make_multitask_blobs(n_samples=150, n_tasks=3, n_clusters=5, separation=1.5, random_state=3)
blurred = select_n_clusters(X, tasks=tasks, n_clusters=range(2, 9), random_state=0)
print(blurred)

# %%
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained", sharey=True)
for ax, found, title in zip(axes, (clear, blurred), ("well apart", "overlapping"), strict=True):
    found.plot(ax)
    ax.set_title(f"five clusters, {title}")
plt.show()
