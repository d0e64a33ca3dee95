"""Models whose parts do not fit together are refused by name, although their checksum is right."""

import json
import zipfile
from copy import copy

import numpy as np
import pytest

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators.publish import public

pytest.importorskip("skops", reason="skops is not installed: pip install 'mtcluster[files]'")

from mtcluster.interop import _persistence, dump, load

from ..changed import altered

PARTS = {
    "a parameter": ({}, "'n_clusters' parameter of SPMTC must be"),
    "a kind": ({"decisions_": 3}, "decisions_ is missing, or something else"),
    "no record": ({"fitted_": 3}, "fitted_ is missing, or something else"),
    "features": ({"n_features_in_": 9}, r"has has the shape \(3, 6\) instead of \(3, 9\)"),
    "a number": ({"n_asked": 9}, "n_clusters_ is 9 of 4 numbers"),
    "a part that is missing": ({"centers__Ms": None}, "'NoneType' object has no attribute"),
    "no array": ({"centers__Ms": "x"}, "centers.Ms holds something else than numbers"),
    "dimensions": ({"centers__Ms": np.ones((3, 4))}, r"Ms has the shape \(3, 4\) instead of \(3, 4, 6\)"),
    "dimensions of a table": ({"support": np.ones(4)}, r"support has the shape \(4,\) instead of \(3, 4\)"),
    "tasks": ({"tasks": np.arange(2)}, r"sizes has the shape \(3, 4\) instead of \(2, 4\)"),
    "clusters": ({"holds": np.ones((3, 2), dtype=bool)}, r"holds has the shape \(1, 3, 2\) instead of \(1, 3, 4\)"),
    "rows": ({"rows__losses": np.ones(5)}, r"losses has the shape \(5,\) instead of \(120,\)"),
    "labels that are no numbers": ({"rows__labels": np.zeros(120)}, "rows.labels holds something else than numbers"),
    "labels": ({"rows__labels": np.full(120, 99)}, "rows.labels holds something else than numbers from -1 to 3"),
    "kinds of numbers": ({"support": np.full((3, 4), "x")}, "support holds something else than numbers"),
    "what predict needs": ({"model": 3}, "'int' object has no attribute"),
    "what new tasks need": ({"ordinary__losses": "x"}, ""),
    "proportions": ({"centers__log_shares": np.full((3, 4), np.nan)}, "centers.log_shares holds something else"),
    "a metric": ({"centers__geometry__K": -np.eye(6)}, "is not positive definite"),
    "sizes": ({"sizes": np.full((3, 4), -1.0)}, "sizes holds something else than numbers from 0"),
    "names": ({"tasks": np.full(3, 7)}, "tasks names a task twice"),
    "shares": ({"within": np.full(3, 1e300)}, "model.sharing.within holds something else than numbers from 0 to 1"),
    "not finite": ({"centers__Ms": np.full((3, 4, 6), np.nan)}, "centers.Ms holds something else than numbers"),
}  # fmt: skip


@pytest.fixture(scope="module")
def sound():
    X, _, tasks = make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=4, separation=9, random_state=0)
    return SPMTC(4, random_state=0).fit(X, tasks=tasks)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("where", ["alone", "in a dict"])
def test_parts_that_do_not_fit_are_named(sound, tmp_path, monkeypatch, part, where):
    changes, words = PARTS[part]
    model, known = copy(sound), public(sound, sound.fitted_)
    model.fitted_ = altered(sound.fitted_, **{name: value for name, value in changes.items() if name[-1] != "_"})
    vars(model).update({name: value for name, value in changes.items() if name[-1] == "_"})
    if part == "a parameter":
        model.n_clusters = -1
    monkeypatch.setattr(_persistence, "public", lambda *_: known)  # of what does not fit it cannot be made
    dump(model if where == "alone" else {"model": model}, tmp_path / "m.skops")
    with pytest.raises(ValueError, match=rf"m\.skops is damaged: .*{words}"):
        load(tmp_path / "m.skops")


def test_public_attributes_are_made_of_the_record_alone(sound, tmp_path, monkeypatch):
    model = copy(sound)
    model.labels_, model.task_centers_ = np.zeros(120), "x"
    dump(model, tmp_path / "m.skops")
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        schema = json.loads(archive.read("schema.json"))
    there = set(schema["content"]["content"])
    assert {name for name in there if name.endswith("_")} == {"fitted_", "decisions_", "n_features_in_"}
    monkeypatch.setattr(_persistence, "public", lambda *_: {})  # somebody writes them all the same
    dump(model, tmp_path / "changed.skops")
    for file in ("m.skops", "changed.skops"):
        again = load(tmp_path / file)
        np.testing.assert_array_equal(again.labels_, sound.labels_)
        np.testing.assert_array_equal(again.task_centers_, sound.task_centers_)


@pytest.mark.parametrize(
    "model",
    [
        LSSMTC(4, within_weight=0.5, task_offset="scale", random_state=0),
        LSSMTC(4, within_weight=0.5, membership="nonnegative", random_state=0),
        MultiTaskGaussianMixture(4, covariance_type="diag", random_state=0),
        ASI(4, random_state=0),
    ],
)
def test_models_of_all_kinds_are_sound(blobs, tmp_path, model):
    X, _, tasks = blobs
    dump(model, tmp_path / "unfitted.skops")
    assert type(load(tmp_path / "unfitted.skops")) is type(model)
    model.fit(np.abs(X), tasks=tasks)
    dump(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(load(tmp_path / "m.skops").labels_, model.labels_)


def test_models_that_live_on_are_sound(blobs, tmp_path):
    X, _, tasks = blobs
    new = tasks == 2
    first = SPMTC(4, random_state=0).fit(X[~new], tasks=tasks[~new])
    for later in (
        first.adapt(X[new], tasks=tasks[new]),
        SPMTC(3, random_state=0).fit(X, tasks=tasks, previous=first),
        first.partial_fit(X[new], tasks=tasks[new]),
        LSSMTC(4, within_weight=0.5, random_state=0).partial_fit(X, tasks=tasks),
    ):
        dump(later, tmp_path / "m.skops")
        np.testing.assert_array_equal(load(tmp_path / "m.skops").labels_, later.labels_)


def test_models_of_other_columns_and_without_a_common_one_are_sound(blobs, tmp_path):
    X, _, tasks = blobs
    gaps = np.where((tasks == 0)[:, None] & (np.arange(6) < 2), np.nan, X)
    for model in (
        SPMTC(4, random_state=0).fit(gaps, tasks=tasks),
        SPMTC(4, match="geometry", random_state=0).fit({"a": X[:, :3], "b": X[:, 3:]}),
    ):
        dump(model, tmp_path / "m.skops")
        np.testing.assert_array_equal(load(tmp_path / "m.skops").labels_, model.labels_)
