"""
Do collections of texts have the same topics?
=============================================

A newspaper, private letters and a forum. All are about the same four topics, but each has words of its own, so that the
words of a text depend on both topic and collection. The texts are generated from word lists, so that the
example runs anywhere; with your own texts the steps are the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from mtcluster import SPMTC, PerTask, Pooled
from mtcluster.metrics import joint_accuracy, task_scores

topics = {
    "garden": "soil seeds roses weeds pruning compost lawn tulips hedge watering bulbs greenhouse",
    "kitchen": "recipe oven flour butter onions simmer sauce baking pepper dough garlic roast",
    "sky": "telescope planet comet orbit eclipse moon galaxy lens stars meteor saturn constellation",
    "football": "goal referee penalty league striker coach match defender stadium season transfer keeper",
}
styles = {
    "newspaper": "yesterday according reported officials spokesman announced percent region editor",
    "letters": "dear love hope weather yours write soon remember grandmother",
    "forum": "thanks anyone thread post link question solved reply edit",
}

# %%
# Each collection prefers some words of a topic, and most words of a text are those of the collection.
rng = np.random.default_rng(0)
texts, y, tasks = [], [], []
for style, own in styles.items():
    liked = {topic: rng.dirichlet(np.full(12, 0.7)) for topic in topics}
    for topic in rng.choice(list(topics), size=150):
        about = rng.choice(topics[topic].split(), size=4, p=liked[topic])
        texts.append(" ".join([*about, *rng.choice(own.split(), size=8)]))
        y.append(topic)
        tasks.append(style)
print(texts[0])
print(texts[-1])

# %%
# The TF-IDF matrix is sparse and stays sparse.
vectorizer = TfidfVectorizer()
X = vectorizer.fit_transform(texts)
methods = {
    "k-means per task": PerTask(KMeans(4, n_init=10, random_state=0)),
    "k-means pooled": Pooled(KMeans(4, n_init=10, random_state=0)),
    "SPMTC": SPMTC(n_clusters=4, random_state=0),
}
for name, method in methods.items():
    found = method.fit(X, tasks=tasks).labels_
    acc, joint = np.mean(task_scores(y, found, tasks)["accuracy"]), joint_accuracy(y, found, tasks)
    print(f"{name:<17} ACC {acc:.3f}   joint {joint:.3f}")

# %%
# The words that distinguish a cluster from the others of its collection. Each row of the figure is a cluster, the same
# in all columns.
model, words = methods["SPMTC"], vectorizer.get_feature_names_out()
fig, axes = plt.subplots(4, 3, figsize=(8.5, 7), layout="constrained", sharex=True)
for k, task in enumerate(model.tasks_.tolist()):
    contrast = model.task_centers_[k] - model.task_centers_[k].mean(axis=0)
    for j, ax in enumerate(axes[:, k]):
        top = np.argsort(contrast[j])[-5:]
        ax.barh(words[top], contrast[j, top], color="#0072B2")
        if j == 0:
            ax.set_title(task)
        if k == 0:
            ax.set_ylabel(f"cluster {j}")
plt.show()
