"""Models whose parts do not fit together are refused by name, although their checksum is right."""

import numpy as np
import pytest

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture

pytest.importorskip("skops", reason="skops is not installed: pip install 'mtcluster[files]'")

from mtcluster.interop import dump, load

PARTS = {
    "a parameter": (lambda model: setattr(model, "n_clusters", -1), "'n_clusters' parameter of SPMTC must be"),
    "a part that is missing": (lambda model: delattr(model, "task_centers_"), "task_centers_ is missing"),
    "a kind": (lambda model: setattr(model, "metric_", 3), "metric_ is no str"),
    "a number": (lambda model: setattr(model, "n_clusters_", 9), "n_clusters_ is 9 of 4 numbers"),
    "features": (lambda model: setattr(model, "n_features_in_", 9), r"task_centers_ has the shape \(3, 4, 6\) inst"),
    "dimensions": (lambda model: setattr(model, "task_centers_", "x"), r"the shape \(\) instead of 3 dimensions"),
    "tasks": (lambda model: setattr(model, "tasks_", np.arange(2)), r"tasks_ has the shape \(2,\) instead of \(3,\)"),
    "clusters": (
        lambda model: setattr(model, "cluster_presence_", model.cluster_presence_[:, :1]),
        r"cluster_presence_ has the shape \(3, 1\) instead of \(3, 4\)",
    ),
    "rows": (lambda model: setattr(model, "losses_", model.losses_[:5]), r"losses_ has the shape \(5,\)"),
    "labels": (lambda model: model.labels_.__setitem__(0, 99), "labels_ holds something else than whole numbers"),
    "what predict needs": (lambda model: setattr(model, "decisions_", None), "'NoneType' object has no attribute"),
    "what new tasks need": (lambda model: setattr(model, "novelty_losses_", "x"), ""),
    "proportions": (lambda model: model.fitted_.centers.log_shares.fill(np.nan), "log_proportions_ holds numbers outside of"),
    "a metric": (lambda model: setattr(model, "metric_covariance_", -np.eye(6)), "is not positive definite"),
    "sizes": (lambda model: setattr(model, "cluster_sizes_", -model.cluster_sizes_), "cluster_sizes_ holds numbers"),
    "names": (lambda model: model.tasks_.fill(7), "tasks_ names a task twice"),
    "shares": (lambda model: model.fitted_.within_weight.fill(1e300), "within_weight_ holds numbers outside of 0 to 1"),
    "not finite": (lambda model: model.task_centers_.fill(np.nan), "task_centers_ holds numbers that are not finite"),
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("where", ["alone", "in a dict"])
def test_parts_that_do_not_fit_are_named(blobs, tmp_path, part, where):
    X, _, tasks = blobs
    change, words = PARTS[part]
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    change(model)
    dump(model if where == "alone" else {"model": model}, tmp_path / "m.skops")
    with pytest.raises(ValueError, match=rf"m\.skops is damaged: .*{words}"):
        load(tmp_path / "m.skops")


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
