"""
What does a fit look like?
==========================

The pictures of `mtcluster.plotting`: each takes a fitted model and, if you like, the axes to draw on. The data are
handwritten digits, the five digits from 0 to 4, on three scanners; one of the scanners has never seen a 3.
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
# **Where rows lie**, in the directions that tell clusters apart best. All tasks are in one frame; the marker says
# which task a row belongs to.
fig, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
plot_tasks(model, ax)
plt.show()

# %%
# **Which clusters a task has.** A cross marks clusters that a task hardly has. Below the picture: which digits they
# are. The threes have a cluster, and the scanner without threes puts a few other digits there: that is what the cross
# says.
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
plot_cluster_sizes(model, ax)
plt.show()
for j in range(5):
    for task in model.tasks_.tolist():
        counts = np.bincount(y[(model.labels_ == j) & (tasks == task)], minlength=5)
        print(f"cluster {j}, {task:<8} digits 0 to 4:", *(f"{count:>4}" for count in counts))

# %%
# **How alike the tasks are**, and **how the fit went**: which rows had a say, stage by stage, and the objective. It
# grows from stage to stage because rows are let in.
fig, ax = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
plot_relatedness(model, ax)
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
plot_pace(model, left)
plot_objective(model, right)
plt.show()
