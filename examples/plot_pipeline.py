"""
How does it go with pipelines and searches?
===========================================

The task of each row is metadata to scikit-learn. With metadata routing switched on, a pipeline hands it to the step
that asked for it, and a search splits it along with the rows. `TaskKFold` makes folds with their share of every task.
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

X, y, tasks = (part[:900] for part in load_digits_tasks())  # half of the rows: it is about the how
sklearn.set_config(enable_metadata_routing=True)

# %%
# Each method says once that it wants `tasks`.
model = SPMTC(n_clusters=10, random_state=0)
model.set_fit_request(tasks=True).set_predict_request(tasks=True).set_score_request(tasks=True)
pipeline = make_pipeline(MinMaxScaler(), PCA(20, random_state=0), model)
labels = pipeline.fit(X, tasks=tasks).predict(X, tasks=tasks)
print("joint accuracy with 20 components:", round(joint_accuracy(y, labels, tasks), 3))

# %%
# A search over a setting. `score` is minus the mean loss of rows that were held out; it may be compared between
# models of the same settings alone, and a number of clusters is a setting: more clusters always fit more closely,
# held-out rows included. The curve has no top, so a search by `score` would take the largest number offered.
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
print("a search by score takes", search.best_params_["n_clusters"], "of", tried.tolist())

# %%
# For the number of clusters ask `select_n_clusters` instead. What a search is good for is a score that means
# something: here the classes of the rows are known, and `joint_accuracy_scorer` compares settings by them. Labels of
# rows held out count alone. The default, "auto", was chosen without labels; a search that reads them may find better.
search = GridSearchCV(
    SPMTC(n_clusters=10, n_init=1, random_state=0).set_fit_request(tasks=True),
    {"within_weight": [0.3, 0.7, "auto"]},
    scoring=joint_accuracy_scorer,
    cv=TaskKFold(3),
).fit(X, y, tasks=tasks)
for setting, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
    print(setting, round(score, 3))
sklearn.set_config(enable_metadata_routing=False)
