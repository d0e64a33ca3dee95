"""
What does a fit look like?
==========================

The figures of `mtcluster.plotting`: each function takes a fitted model and, optionally, axes; without axes
it makes a new figure. The data are handwritten digits from 0 to 4 on three simulated scanners; one of the scanners has
no 3.
"""

import matplotlib.pyplot as plt
import numpy as np

from mtcluster import SPMTC
from mtcluster.datasets import load_digits_tasks
from mtcluster.plotting import plot_cluster_sizes, plot_objective, plot_pace, plot_relatedness, plot_tasks

X, y, tasks = load_digits_tasks()
few = (y < 5) & ~((y == 3) & (tasks == "slanted"))
X, y, tasks = X[few], y[few], tasks[few]
model = SPMTC(n_clusters=5, random_state=0).fit(X, tasks=tasks)

# %%
# **The rows**, in the directions that separate the clusters best. All tasks are in one frame; markers show the task of
# each row.
plot_tasks(model)
plt.show()

# %%
# **Clusters by task.** A cross marks clusters that are hardly present in a task. Below the figure: the digits in each
# cluster. The threes are a cluster, and the scanner without threes has a few other digits in it, hence the cross.
plot_cluster_sizes(model)
plt.show()
for j in range(5):
    for task in model.tasks_.tolist():
        counts = np.bincount(y[(model.labels_ == j) & (tasks == task)], minlength=5)
        print(f"cluster {j}, {task:<8} digits 0 to 4:", *(f"{count:>4}" for count in counts))

# %%
# **Relatedness of the tasks**, and **the course of the fit**: the weights of the rows in each stage, and the objective.
# It increases between stages because rows are added.
plot_relatedness(model)
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
plot_pace(model, left)
plot_objective(model, right)
plt.show()
