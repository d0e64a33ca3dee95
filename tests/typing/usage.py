"""The public API as a program of a user calls it, for type checkers: `tests/test_packaging.py` runs mypy on it."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

import mtcluster
from mtcluster import ASI, LSSMTC, SPMTC, Decisions, MultiTaskGaussianMixture, PerTask, Pooled, Search
from mtcluster.datasets import TaskSet, load_digits_tasks, make_multitask_blobs
from mtcluster.inspection import (
    Explanation,
    Judgement,
    LabelDescription,
    Relations,
    Report,
    explain,
    judge_labels,
    make_report,
    outlier_scores,
    relations,
)
from mtcluster.interop import dump, load
from mtcluster.metrics import clustering_accuracy, joint_accuracy, task_scores
from mtcluster.model_selection import Selection, Stability, TaskKFold, select_n_clusters, stability
from mtcluster.plotting import plot_cluster_sizes, plot_tasks
from mtcluster.preprocessing import TableCheck, TablePreprocessor, check

Array = np.ndarray[tuple[Any, ...], np.dtype[Any]]


def fit_and_read() -> None:
    """A fit, its attributes and its methods."""
    data = make_multitask_blobs([40, 30], n_tasks=2, random_state=0)
    assert_type(data, TaskSet)
    assert_type(data.y, Array)
    X, _, tasks = load_digits_tasks()
    model = SPMTC(n_clusters=10, random_state=0).fit(X, tasks=tasks)
    assert_type(model, SPMTC)
    assert_type(model.labels_, Array)
    assert_type(model.weights_, Array)
    assert_type(model.n_clusters_, int)
    assert_type(model.fitted_.rows.admitted, Array)
    assert_type(model.decisions_, Decisions)
    assert_type(model.fit_predict(X, tasks=tasks), Array)
    assert_type(model.predict(X, tasks=tasks), Array)
    assert_type(model.predict_proba(X, tasks=tasks), Array)
    assert_type(model.score_samples(X, tasks=tasks), Array)
    assert_type(model.transform(X, tasks=tasks), Array)
    assert_type(model.adapt({"new": X}), SPMTC)
    assert_type(model.partial_fit(X, tasks=tasks), SPMTC)
    assert_type(SPMTC(10).fit(X, tasks=tasks, previous=model), SPMTC)
    assert_type(mtcluster.__version__, str)
    assert_type(mtcluster.datasets.load_digits_tasks(), TaskSet)


def other_estimators(X: Array, tasks: list[str]) -> None:
    """Every estimator keeps its own type."""
    assert_type(LSSMTC("auto").fit(X, tasks=tasks), LSSMTC)
    assert_type(LSSMTC((2, 6), init=Search(sample=500)).fit(X, tasks=tasks), LSSMTC)
    assert_type(ASI(3).fit(X), ASI)
    assert_type(PerTask(KMeans(3)).fit(X, tasks=tasks), PerTask)
    assert_type(Pooled(KMeans(3), center=True).fit_predict(X, tasks=tasks), Array)
    mixture = MultiTaskGaussianMixture(3, covariance_type="full").fit(X, tasks=tasks)
    assert_type(mixture, MultiTaskGaussianMixture)
    assert_type(mixture.bic(X, tasks=tasks), float)
    assert_type(mixture.sample(10), tuple[Array, Array])


def tell(model: SPMTC, X: Array, tasks: list[str]) -> None:
    """Explanations, reports and figures."""
    assert_type(model.explain(), Explanation)
    assert_type(explain(model), Explanation)
    assert_type(model.relations(), Relations)
    assert_type(relations(model).sentences, list[str])
    assert_type(model.report(title="Cells"), Report)
    assert_type(make_report(model, cluster_names={0: "T cells"}, anonymous=True).save("report.html"), Path)
    assert_type(outlier_scores(model.losses_, model.task_indices_), Array)
    assert_type(judge_labels(X, model.labels_, tasks=tasks), Judgement)
    assert_type(LabelDescription().fit(X, model.labels_, tasks=tasks), LabelDescription)
    plot_cluster_sizes(model).set_title("Sizes of the clusters")
    plot_tasks(model, color="task").set_title("The map")


def choose(X: Array, tasks: list[str]) -> None:
    """The number of clusters, stability and splits."""
    selection = select_n_clusters(X, tasks=tasks, n_clusters=range(2, 7), random_state=0)
    assert_type(selection, Selection)
    assert_type(selection.n_clusters, int | None)
    sure = stability(SPMTC(4).fit(X, tasks=tasks), X, tasks=tasks, n_refits=10)
    assert_type(sure, Stability)
    assert_type(sure.verdict, str)
    for train, test in TaskKFold(5).split(X, tasks=tasks):
        assert_type((train, test), tuple[Array, Array])


def score(y: Array, labels: Array, tasks: list[str]) -> float:
    """Metrics."""
    assert_type(task_scores(y, labels, tasks)["task"], list[Any])
    return clustering_accuracy(y, labels) + joint_accuracy(y, labels, tasks)


def prepare_and_keep(table: Any, model: SPMTC) -> None:
    """Tables, and files of models."""
    found = check(table, task="country")
    assert_type(found, TableCheck)
    assert_type(TablePreprocessor(impute="median").fit(found.X, tasks=found.tasks), TablePreprocessor)
    assert_type(dump(model, Path("model.skops")), None)
    assert_type(load("model.skops"), Any)


def mistakes() -> None:
    """What a type checker reports; an ignore that is not needed is an error of mypy --strict."""
    SPMTC(n_cluster=3)  # type: ignore[call-arg]
    SPMTC(2.5)  # type: ignore[arg-type]
    mtcluster.SPMCT(3)  # type: ignore[attr-defined]
