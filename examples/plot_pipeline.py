"""
How to use pipelines and searches?
==================================

For scikit-learn, the task of each row is metadata. With metadata routing enabled, a pipeline passes it to the steps
that request it, and a search splits it together with the rows. `TaskKFold` makes folds with their share of every task.
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from mtcluster import SPMTC
from mtcluster.datasets import load_digits_tasks
from mtcluster.metrics import joint_accuracy
from mtcluster.model_selection import TaskKFold, joint_accuracy_scorer

X, y, tasks = (part[:900] for part in load_digits_tasks())  # half of the rows, to save time
sklearn.set_config(enable_metadata_routing=True)

# %%
# Each method requests `tasks`.
model = SPMTC(n_clusters=10, random_state=0)
model.set_fit_request(tasks=True).set_predict_request(tasks=True).set_score_request(tasks=True)
pipeline = make_pipeline(MinMaxScaler(), PCA(20, random_state=0), model)
labels = pipeline.fit(X, tasks=tasks).predict(X, tasks=tasks)
print("joint accuracy with 20 components:", round(joint_accuracy(y, labels, tasks), 3))

# %%
# A search by `score`, which is minus the mean loss of held-out rows. It cannot be used to choose the number of
# clusters: more clusters always have smaller losses, also on held-out rows, so the search takes the largest number
# offered.
search = GridSearchCV(
    SPMTC(within_weight=0.5, n_init=1, random_state=0).set_fit_request(tasks=True).set_score_request(tasks=True),
    {"n_clusters": [4, 7, 10, 13]},
    cv=TaskKFold(3),
).fit(X, tasks=tasks)
tried = np.array(search.cv_results_["param_n_clusters"], dtype=int)
fig, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
ax.plot(tried, -search.cv_results_["mean_test_score"], "o-", color="#0072B2")
ax.set(xlabel="number of clusters", ylabel="mean loss, rows held out", xticks=tried)
plt.show()
print("the search by score takes", search.best_params_["n_clusters"], "of", tried.tolist())

# %%
# Use `select_n_clusters` for the number of clusters. A search is useful with a meaningful score: here the classes of
# the rows are known, and `joint_accuracy_scorer` compares parameters by them, on held-out rows. The default, "auto",
# does not use labels; a search that uses them may find better values.
search = GridSearchCV(
    SPMTC(n_clusters=10, n_init=1, random_state=0).set_fit_request(tasks=True),
    {"within_weight": [0.3, 0.7, "auto"]},
    scoring=joint_accuracy_scorer,
    cv=TaskKFold(3),
).fit(X, y, tasks=tasks)
for setting, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
    print(setting, round(score, 3))
sklearn.set_config(enable_metadata_routing=False)
