"""
Do men, women and children speak the same vowels?
=================================================

Twelve vowels of American English, spoken by men, women, boys and girls. A longer vocal tract lowers all resonances
(formants), so that different vowels of two groups can have the same formants. Each group is a task.

The rows are generated from averages of the kind published by Hillenbrand, Getty, Clark and Wheeler (1995): length,
pitch and three formants of each vowel. A voice scatters around the averages of its group, more or less as real ones do.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler, scale

from mtcluster import SPMTC, PerTask, Pooled
from mtcluster.metrics import joint_accuracy, task_scores

MEN = {  # length in ms, pitch and formants in Hz: averages of men
    "i": [240, 136, 342, 2319, 2999], "I": [190, 134, 428, 2030, 2684], "e": [264, 128, 474, 2085, 2684],
    "E": [193, 125, 587, 1799, 2600], "{": [269, 124, 590, 1926, 2592], "A": [257, 125, 754, 1304, 2531],
    "O": [271, 124, 655, 1021, 2515], "o": [262, 128, 496, 905, 2455], "U": [190, 132, 468, 1119, 2431],
    "u": [232, 141, 378, 986, 2352], "V": [191, 127, 621, 1178, 2544], "3'": [260, 129, 474, 1377, 1705],
}  # fmt: skip
GROUPS = {  # factors by which the averages of a group differ from these
    "man": [1, 1, 1, 1, 1], "woman": [1.25, 1.69, 1.17, 1.16, 1.14], "boy": [1.19, 1.81, 1.22, 1.26, 1.21],
    "girl": [1.23, 1.83, 1.26, 1.33, 1.27],
}  # fmt: skip
SPREAD = [0.18, 0.12, 0.087, 0.084, 0.063]  # of logarithms, among voices of a group
rng, names, sizes = np.random.default_rng(0), list(MEN), {"man": 45, "woman": 48, "boy": 27, "girl": 19}
y = np.concatenate([np.repeat(np.arange(12), n) for n in sizes.values()])
tasks = np.repeat(list(sizes), [12 * n for n in sizes.values()])
averages = np.log([np.multiply(MEN[names[j]], GROUPS[task]) for j, task in zip(y, tasks, strict=True)])
logs = averages + rng.normal(size=averages.shape) * SPREAD  # logarithms, as hearing compares ratios of frequencies
scaler = StandardScaler().fit(logs)
together, within = scaler.transform(logs), logs.copy()
for group in np.unique(tasks):
    within[tasks == group] = scale(logs[tasks == group])

# %%
# Features are scaled over all groups, or within each group. To pooled methods this choice matters as much as the
# method: they are better in the second case. `SPMTC` is best in both, and about as good.
methods = {
    "k-means per group": PerTask(KMeans(12, n_init=10, random_state=0)),
    "k-means pooled": Pooled(KMeans(12, n_init=10, random_state=0)),
    "Gaussian mixture pooled": Pooled(GaussianMixture(12, covariance_type="diag", random_state=0)),
    "SPMTC": SPMTC(n_clusters=12, random_state=0),
}
for view, X in {"scaled within each group": within, "scaled over all groups": together}.items():
    print(view)
    for name, method in methods.items():
        labels = method.fit(X, tasks=tasks).labels_
        acc = np.mean(task_scores(y, labels, tasks)["accuracy"])
        print(f"  {name:<24} ACC {acc:.3f}   joint {joint_accuracy(y, labels, tasks):.3f}")

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
    letter = names[np.bincount(y[model.labels_ == j]).argmax()]
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
print(task_scores(y, model.labels_, tasks))
