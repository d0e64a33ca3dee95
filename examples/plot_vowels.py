"""
Do men, women and children speak the same vowels?
=================================================

Twelve vowels of American English, spoken by men, women, boys and girls. A longer vocal tract lowers all resonances
(formants), so that different vowels of two groups can have the same formants. Each group is a task.

The data are measurements of the kind published by Hillenbrand, Getty, Clark and Wheeler (1995): length, pitch and
three formants of each vowel. They are read from the folder named by `MTCLUSTER_DATA` and are not part of mtcluster.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler, scale

from mtcluster import SPMTC, PerTask, Pooled
from mtcluster.datasets import load_task_set
from mtcluster.metrics import joint_accuracy, task_scores

vowels = load_task_set("vowels_hillenbrand95")
logs = np.log(vowels.X.astype(float))  # hearing compares ratios of frequencies
scaler = StandardScaler().fit(logs)
together, within = scaler.transform(logs), logs.copy()
for group in np.unique(vowels.tasks):
    within[vowels.tasks == group] = scale(logs[vowels.tasks == group])

# %%
# Features are scaled over all groups, or within each group. To a pooled Gaussian mixture this choice matters as much as
# the method: in the second case it is better than k-means. `SPMTC` is best in both.
methods = {
    "k-means per group": PerTask(KMeans(12, n_init=10, random_state=0)),
    "k-means pooled": Pooled(KMeans(12, n_init=10, random_state=0)),
    "Gaussian mixture pooled": Pooled(GaussianMixture(12, covariance_type="diag", random_state=0)),
    "SPMTC": SPMTC(n_clusters=12, random_state=0),
}
for view, X in {"scaled within each group": within, "scaled over all groups": together}.items():
    print(view)
    for name, method in methods.items():
        labels = method.fit(X, tasks=vowels.tasks).labels_
        acc = np.mean(task_scores(vowels.y, labels, vowels.tasks)["accuracy"])
        print(f"  {name:<24} ACC {acc:.3f}   joint {joint_accuracy(vowels.y, labels, vowels.tasks):.3f}")

# %%
# The centres of each cluster in the plane of the first two formants, from men to girls, with scaling over all groups.
# Most clusters move up and to the right on a line: the same vowel with a shorter vocal tract. The letter is the most
# frequent vowel of the cluster.
model = methods["SPMTC"]
flat = model.task_centers_.reshape(-1, logs.shape[1])
centers = np.exp(scaler.inverse_transform(flat)).reshape(model.task_centers_.shape)
order = [model.tasks_.tolist().index(task) for task in ("man", "woman", "boy", "girl")]
fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
for j in range(12):
    ax.plot(*centers[order, j, 2:4].T, color="0.6", linewidth=1, zorder=0)
    letter = vowels.class_names[np.bincount(vowels.y[model.labels_ == j]).argmax()]
    ax.annotate(letter, centers[order[-1], j, 2:4], xytext=(6, 3), textcoords="offset points", weight="bold")
for k, color, marker in zip(order, ["#0072B2", "#E69F00", "#009E73", "#CC79A7"], "os^D", strict=True):
    ax.scatter(*centers[k, :, 2:4].T, color=color, marker=marker, label=model.tasks_[k])
ax.set(xscale="log", yscale="log", xlabel="first formant, Hz", ylabel="second formant, Hz")
ax.set(xticks=[300, 500, 800], xticklabels=[300, 500, 800], yticks=[800, 1500, 3000], yticklabels=[800, 1500, 3000])
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# Scores by group. The two accuracies agree if clusters are the same vowels as in the other groups.
print(task_scores(vowels.y, model.labels_, vowels.tasks))
