"""
Four hospitals: does the method matter, or the scaling?
=======================================================

Patients examined for heart disease in Cleveland, Budapest, Switzerland and Long Beach, with 13 findings each in
different units, which have to be scaled: over all hospitals, or within each? The ranking of the methods depends on the
answer.

The data are the heart disease data of the UCI repository, with missing values replaced by medians. They are
read from the folder named by `MTCLUSTER_DATA` and are not part of mtcluster.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import scale

from mtcluster import SPMTC, PerTask, Pooled
from mtcluster.datasets import load_task_set
from mtcluster.metrics import task_scores

heart = load_task_set("heart_disease")
findings = heart.X.astype(float)
together, within = scale(findings), findings.copy()
for hospital in np.unique(heart.tasks):
    within[heart.tasks == hospital] = scale(findings[heart.tasks == hospital])
views = {"scaled over all hospitals": together, "scaled within each hospital": within}
methods = {
    "SPMTC": lambda: SPMTC(n_clusters=2, random_state=0),
    "k-means pooled": lambda: Pooled(KMeans(2, n_init=10, random_state=0)),
    "k-means per hospital": lambda: PerTask(KMeans(2, n_init=10, random_state=0)),
}

# %%
# Mean accuracy over hospitals, with one matching of clusters and classes per hospital and with one for all (joint).
scores = {}
for view, X in views.items():
    print(view)
    for name, make in methods.items():
        table = task_scores(heart.y, make().fit(X, tasks=heart.tasks).labels_, heart.tasks)
        scores[view, name] = table
        means = [np.mean(table[column]) for column in ("accuracy", "joint_accuracy", "nmi")]
        print("  {:<21} accuracy {:.3f}   joint {:.3f}   NMI {:.3f}".format(name, *means))

# %%
# Accuracy by hospital. The diamonds are the shares of ill patients, which differ widely.
tasks = scores[view, name]["task"]
ill = [np.mean(heart.y[heart.tasks == task]) for task in tasks]
fig, axes = plt.subplots(2, 1, figsize=(8, 6), layout="constrained", sharex=True)
for ax, view in zip(axes, views, strict=True):
    for i, (name, color) in enumerate(zip(methods, ["#0072B2", "#E69F00", "#999999"], strict=True)):
        ax.bar(np.arange(4) + 0.27 * (i - 1), scores[view, name]["accuracy"], 0.25, color=color, label=name)
    ax.plot(np.arange(4), ill, "D", color="black", label="share of ill patients")
    ax.set(title=view, ylabel="accuracy", ylim=(0, 1.05), yticks=np.linspace(0, 1, 6))
axes[1].set(xticks=range(4), xticklabels=[task.replace("_", " ") for task in tasks])
fig.legend(*ax.get_legend_handles_labels(), ncols=4, loc="outside lower center")
plt.show()

# %%
# With scaling over all hospitals, pooled k-means is best: it compares patients across hospitals. With scaling within
# each hospital this comparison is lost, pooled k-means is worse, and `SPMTC` is about as good as k-means per hospital,
# with clusters that correspond.
#
# The data do not tell which scaling is right; here it is known because the classes are known. If the level of a task
# comes from the instrument, scale within tasks. If it comes from the patients, scale over all tasks and try pooling
# first.
