"""Fitted models that reports are made of."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mtcluster import SPMTC
from mtcluster._utils.tables import Table
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection import LabelDescription
from mtcluster.model_selection import Selection, stability
from mtcluster.preprocessing import TablePreprocessor

from ...changed import changed

HOSTILE = [
    "<script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "</script><script>window.hacked=1</script>",
    "<!--<script>",
    "' onmouseover='window.hacked=1",
    "\u202eright to left \u05d0\u05d1",
    "line\u2028break\u2029 and \x00 control \ud800",
    "${alert(1)} %%BODY%% {{7*7}} \\u003c",
    "javascript:window.hacked=1//",
    "x" * 500,
]


NAN = float("nan")
SELECTION = Selection(
    n_clusters=4,
    named=[2, 4],
    reason="4 clusters: all of the rows keep their cluster in halves of the data, and there are gaps between them.",
    table=Table(
        n_clusters=[1, 2, 3, 4],
        stability=[1.0, 0.99, 0.7, 1.0],
        weakest=[1.0, 0.98, 0.5, 1.0],
        between=[NAN, 0.1, 1.1, 0.2],
        silhouette=[NAN, 0.6, 0.4, 0.7],
        reference=[NAN, 0.5, 0.35, 0.3],
        supported=[False, True, False, True],
    ),
    tree=Table(coarse=[2] * 4, fine=[4] * 4, parent=[0, 0, 1, 1], child=[0, 2, 1, 3], share=[0.4, 0.6, 0.7, 0.3]),
)


@pytest.fixture(scope="session")
def blob_rows():
    """Three tasks, four clusters that lie apart, six features."""
    X, _, tasks = make_multitask_blobs(
        [40, 30, 50], 6, n_tasks=3, n_clusters=4, separation=9, task_shift=2, random_state=0
    )
    return X, np.array(["north", "south", "west"])[np.unique(np.asarray(tasks), return_inverse=True)[1]]


@pytest.fixture(scope="session")
def blob_model(blob_rows):
    """A model of these rows."""
    X, names = blob_rows
    return SPMTC(n_clusters=4, random_state=0).fit(X, tasks=names)


@pytest.fixture(scope="session")
def blob_stability(blob_rows, blob_model):
    """How sure one can be of its clusters."""
    X, names = blob_rows
    return stability(blob_model, X, tasks=names, n_refits=4, random_state=0)


@pytest.fixture(scope="session")
def hostile_arguments():
    """Names that try to be markup or script, wherever a name may stand."""
    return {
        "ids": [HOSTILE[i % len(HOSTILE)] + str(i) for i in range(120)],
        "feature_names": HOSTILE[:6],
        "title": HOSTILE[0] + HOSTILE[2],
        "data": {
            "files": [{"name": name, "rows": 1, "bytes": 2} for name in HOSTILE],
            "lines": list(HOSTILE),
        },
        "cells": lambda rows: [{HOSTILE[0]: HOSTILE[1], HOSTILE[2]: HOSTILE[3], "plain": HOSTILE[6]} for _ in rows],
        "settings": {HOSTILE[0]: HOSTILE[1], "nested": {"list": HOSTILE}},
        "X": np.random.default_rng(0).normal(size=(120, 6)),
        "classes": [HOSTILE[i % len(HOSTILE)] for i in range(120)],
        "cluster_names": {0: HOSTILE[0], 1: HOSTILE[1], 2: HOSTILE[2], 3: HOSTILE[4]},
        "stability": {
            "verdict": "fair",
            "overall": 0.8,
            "reference": [0.5, 0.6],
            "cluster_stability": [0.9, 0.8, None, 0.7],
            "cluster_task_stability": [[0.9, 0.8, None, 0.7]] * 3,
            "tasks": HOSTILE[:3],
            "sentences": HOSTILE[:3],
        },
        "selection": replace(SELECTION, reason=HOSTILE[2]),
    }


@pytest.fixture(scope="session")
def hostile_model():
    """The same blobs in tasks with such names."""
    X, _, tasks = make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=4, separation=9, random_state=0)
    names = np.array(HOSTILE[:3], dtype=object)[np.unique(np.asarray(tasks), return_inverse=True)[1]]
    return SPMTC(n_clusters=4, random_state=0).fit(X, tasks=names)


@pytest.fixture(scope="session")
def large_model():
    """A model of 20 000 rows, without a fit."""
    n, c, m, d = 20_000, 10, 4, 30
    rng = np.random.default_rng(0)
    labels, tasks = rng.integers(c, size=n), rng.integers(m, size=n)
    names = np.array(["1st", "2nd", "3rd", "4th"])[tasks]
    model = LabelDescription("large").fit(rng.normal(size=(n, d)), labels, tasks=names)
    return changed(
        model,
        relatedness=np.ones((m, m)),
        support=np.ones((m, c)),
        within=np.full(m, 0.7),
        traces=(np.array([2.0]), np.array([3.0])),
        rows__losses=rng.gamma(2, size=n),
        rows__map=rng.normal(size=(n, 4)),
        rows__map_rows=np.arange(n),
        rows__fractions=np.array([0.5, 1.0]),
        rows__weights=np.ones((2, n)),
    )


@pytest.fixture(scope="session")
def patients():
    """A table of numbers, categories, missing values and texts, the tasks and classes of its rows, and a model."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    classes, tasks = np.repeat([0, 1, 2], 60), np.tile(["site 2", "site 10", "site 1"], 60)
    age = np.array([30.0, 50.0, 70.0])[classes] + rng.normal(size=180) * 3
    iron = np.array([5.0, 9.0, 5.0])[classes] + rng.normal(size=180) * 0.5
    pulse = 70 + rng.normal(size=180) * 5
    sex = np.where(rng.random(180) < np.array([0.9, 0.5, 0.1])[classes], "male", "female").astype(object)
    table = pandas.DataFrame(
        {"age": age, "iron": iron, "pulse": pulse, "sex": sex, "note": [f"n{i}" for i in range(180)]}
    )
    table.loc[4, "age"], table.loc[9, "sex"] = np.nan, None
    table.loc[5, "pulse"] = 500.0
    preprocessor = TablePreprocessor()
    X = preprocessor.fit_transform(table.drop(columns="note"))
    model = SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks)
    names = [str(name) for name in preprocessor.get_feature_names_out()]
    return SimpleNamespace(
        table=table, tasks=tasks, classes=classes, model=model, X=X, preprocessor=preprocessor, names=names,
        arguments={"X": table, "in_units": preprocessor.inverse_transform_centers, "feature_names": names},
    )  # fmt: skip


@pytest.fixture(scope="session")
def many_tasks():
    """Thirty tasks with long names and five clusters, with everything that a report can be given."""
    pandas = pytest.importorskip("pandas")
    sizes = [20 + 3 * (k % 5) for k in range(30)]
    X, y, tasks = make_multitask_blobs(sizes, 7, n_tasks=30, n_clusters=5, separation=9, random_state=0)
    names = np.array([f"Regional hospital number {k + 1} of the north-western district" for k in range(30)])
    names = names[np.unique(np.asarray(tasks), return_inverse=True)[1]]
    table = pandas.DataFrame(X, columns=[f"laboratory value {i} (mmol per litre)" for i in range(7)])
    model = SPMTC(n_clusters=5, random_state=0).fit(X, tasks=names)
    return SimpleNamespace(
        model=model,
        arguments={
            "X": table, "feature_names": list(table.columns), "classes": [f"class {j}" for j in y],
            "ids": [f"patient-{i}" for i in range(len(X))], "selection": SELECTION,
            "stability": stability(model, X, tasks=names, n_refits=2, random_state=0),
        },
    )  # fmt: skip
