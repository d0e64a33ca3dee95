"""Data sets without a common column: match="geometry"."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster import LSSMTC, SPMTC
from mtcluster.metrics import clustering_accuracy, joint_accuracy
from mtcluster.model_selection import stability

ASYMMETRIC = np.array([[0, 0, 0], [9, 0, 0], [0, 16, 0], [4, 5, 22], [-14, 6, 7]], dtype=float)


def view(Z, n, d, seed, unit=1.0):
    """Rows around centres, turned into d columns."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0][: Z.shape[1]]
    y = np.arange(n) % len(Z)
    return unit * (Z[y] @ turn + rng.normal(size=(n, d))), y


def frame(X, name):
    return pd.DataFrame(X, columns=[f"{name}{j}" for j in range(X.shape[1])])


A, YA = view(ASYMMETRIC, 150, 4, seed=0)
B, YB = view(ASYMMETRIC, 120, 6, seed=1)
BOTH, TASKS, Y = {"a": A, "b": B}, np.repeat(["a", "b"], [150, 120]), np.concatenate([YA, YB])


def fitted(X=BOTH, n_clusters=5, method=SPMTC, **parameters):
    return method(n_clusters, match="geometry", random_state=0, **parameters).fit(X)


def declined(X, n_clusters, **parameters):
    with pytest.warns(UserWarning, match=r"could not be matched .* numbers of their own"):
        return fitted(X, n_clusters, **parameters)


@pytest.mark.parametrize("method", [SPMTC, LSSMTC])
def test_an_asymmetric_arrangement_is_matched_in_other_columns(method):
    model = fitted(method=method)
    [found] = model.matching_
    assert found.held
    assert found.tasks == ["b"]
    assert found.reference == ["a"]
    assert_array_equal(found.pairs, np.stack([np.arange(5)] * 2, axis=1))
    assert min(found.evidence, found.stability) >= found.threshold
    assert 0 < found.margin <= 1
    assert model.n_clusters_ == 5
    assert joint_accuracy(Y, model.labels_, TASKS) == 1
    assert model.cluster_presence_.all()


@pytest.mark.parametrize("metric", ["auto", "shared", "euclidean"])
def test_predict_of_the_rows_of_the_fit_gives_its_labels(metric):
    model = fitted(metric=metric)
    assert_array_equal(model.predict(BOTH), model.labels_)
    assert_array_equal(model.predict({"b": B}), model.labels_[150:])
    assert_allclose(model.predict_proba(BOTH).sum(axis=1), 1)
    assert_array_equal(model.predict_proba(BOTH).argmax(axis=1), model.labels_)


def test_labels_are_those_of_the_fits_of_each_data_set():
    model = fitted()
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    for own, X in zip(np.split(model.labels_, [150]), BOTH.values(), strict=True):
        alone = SPMTC(5, random_state=seed).fit(X)
        assert clustering_accuracy(alone.labels_, own) == 1
        losses = model.losses_[:150] if X is A else model.losses_[150:]
        assert_allclose(losses, alone.losses_ * model.n_features_in_ / X.shape[1], rtol=1e-6)  # those of whole rows


@pytest.mark.parametrize("metric", ["auto", "euclidean"])
def test_probabilities_are_those_of_each_data_set_in_its_own_units(metric):
    X = {"a": A, "b": 1e4 * B}
    model = fitted(X, metric=metric)
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    for key, rows in X.items():
        alone = SPMTC(5, metric=metric, random_state=seed).fit(rows)
        own, found = alone.predict_proba(rows), model.predict_proba({key: rows})
        assert_allclose(np.sort(found, axis=1), np.sort(own, axis=1), atol=1e-6)


def test_units_and_shares_of_the_clusters_do_not_matter():
    many = np.concatenate([B, B[YB == 0] + 0.1])
    model = fitted({"a": A, "b": 1e4 * many})
    assert model.matching_[0].held
    assert joint_accuracy(Y, model.labels_[: len(Y)], TASKS) == 1


def test_arrays_have_columns_of_their_own_even_if_they_are_as_many():
    other, y = view(ASYMMETRIC, 100, 4, seed=5)
    model = fitted([A, other])
    assert model.feature_names_in_.tolist() == [f"{k}.{j}" for k in (0, 1) for j in range(4)]
    assert model.matching_[0].held
    assert joint_accuracy(np.concatenate([YA, y]), model.labels_, np.repeat([0, 1], [150, 100])) == 1


@pytest.mark.parametrize(
    "Z",
    [10 * np.eye(4), 12 * np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([[0.0, 0, 0], [15, 0, 0]])],
    ids=["simplex", "square", "two clusters"],
)
def test_symmetric_arrangements_are_declined(Z):
    c = len(Z)
    X = {"a": view(Z, 120, 5, seed=0)[0], "b": view(Z, 100, 6, seed=1)[0]}
    model = declined(X, c)
    [found] = model.matching_
    assert not found.held
    assert model.n_clusters_ == 2 * c
    assert_array_equal(model.cluster_presence_, np.repeat(np.eye(2, dtype=bool), c, axis=1))
    assert found.pairs[:, 0].max() < c <= found.pairs[:, 1].min()
    assert_array_equal(model.predict(X), model.labels_)
    assert model.task_relatedness_[0, 1] == 0


def test_two_clusters_of_other_sizes_are_declined_too():
    """Shares of the rows are no geometry."""
    Z = np.array([[0.0, 0, 0], [15, 0, 0]])
    X = {}
    for k, d in enumerate((4, 5)):
        rows, y = view(Z, 200, d, seed=k)
        X[k] = rows[(y == 0) | (np.arange(200) < 40)]
    assert not declined(X, 2).matching_[0].held


def test_data_sets_that_common_columns_link_are_fitted_together():
    whole, y = view(ASYMMETRIC, 260, 6, seed=3)
    X = {
        "left": frame(whole[:130], "p").drop(columns="p0"),
        "apart": frame(B, "q"),
        "right": frame(whole[130:], "p").drop(columns="p5"),
    }
    model = fitted(X)
    [found] = model.matching_
    assert found.tasks == ["apart"]
    assert found.reference == ["left", "right"]
    assert found.held
    assert model.fitted_.has.sum(axis=1).tolist() == [5, 6, 5]
    classes = np.concatenate([y[:130], YB, y[130:]])
    tasks = np.repeat(["left", "apart", "right"], [130, 120, 130])
    assert joint_accuracy(classes, model.labels_, tasks) > 0.97
    assert_array_equal(model.predict(X), model.labels_)


def test_a_task_that_is_left_alone_stays_so():
    whole = view(ASYMMETRIC, 200, 4, seed=3)[0]
    strange = view(8 * np.random.default_rng(3).normal(size=(5, 3)), 200, 4, seed=4)[0] + 40
    X = {"a": frame(whole, "p"), "b": frame(B, "q"), "c": frame(whole + 0.1, "p"), "strange": frame(strange, "p")}
    model = fitted(X)
    assert model.fitted_.within_weight.tolist() == [0, 0, 0, 1]
    assert model.matching_[0].held
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(model.predict_proba(X).argmax(axis=1), model.labels_)
    assert model.fitted_.left_alone.tolist() == [False, False, False, True]
    assert model.fitted_.temperatures[3] != model.fitted_.temperature


def test_an_order_of_data_sets_changes_numbers_alone():
    one, other = fitted(), fitted({"b": B, "a": A})
    assert clustering_accuracy(one.labels_, np.roll(other.labels_, 150)) == 1


def test_clusters_that_one_data_set_lacks_are_left_over():
    Z = 10 * np.random.default_rng(0).normal(size=(6, 3))
    (X1, y1), (X2, y2) = view(Z, 300, 4, seed=0), view(Z[:5], 300, 5, seed=1)
    model = fitted({"a": X1, "b": X2}, 6, n_clusters_per_task={"a": 6, "b": 5})
    [found] = model.matching_
    assert found.held
    assert len(found.pairs) == 5
    assert model.cluster_presence_.sum(axis=1).tolist() == [6, 5]
    assert model.n_clusters_ == 6
    assert joint_accuracy(np.concatenate([y1, y2]), model.labels_, np.repeat([0, 1], 300)) > 0.99


def test_a_data_set_of_one_row_has_a_cluster_of_its_own():
    X = {**BOTH, "one": np.array([[1.0, 2.0]])}
    model = declined(X, 5)
    assert [one.held for one in model.matching_] == [True, False]
    assert model.labels_[-1] == 5
    assert model.decisions_.metric == "shared"
    assert_array_equal(model.labels_[:-1], fitted().labels_)
    assert_array_equal(model.predict(X), model.labels_)


def test_missing_values_and_rows_without_any():
    holes = A.copy()
    holes[::4, 1] = np.nan
    holes[7] = np.nan
    with pytest.warns(UserWarning, match=r"1 row\(s\) of X have no value at all"):
        model = fitted({"a": holes, "b": B})
    assert model.labels_[7] == -1
    assert model.matching_[0].held


def test_a_new_data_set_joins_with_the_columns_of_one():
    X = {"a": frame(A, "p"), "b": frame(B, "q")}
    model = fitted(X)
    rows = A + 0.01
    new = model.adapt({"c": frame(rows, "p")}, novelty="none")
    assert new.tasks_.tolist() == ["a", "b", "c"]
    assert_array_equal(new.labels_, model.labels_[:150])


def test_reports_tell_how_clusters_were_matched():
    said = str(fitted().explain())
    assert "Matching: task 'b' and task 'a' have no column in common, and their clusters were matched" in said
    assert "model_selection.stability" not in said  # which refuses such a model
    Z = 10 * np.eye(3)
    model = declined({"a": view(Z, 90, 4, 0)[0], "b": view(Z, 90, 4, 1)[0]}, 3)
    assert "could not be matched by the geometry of their centres, so they have numbers" in str(model.explain())
    summary = model.report().summary
    assert any(line.startswith("Matching:") for line in summary["decisions"])
    assert not any("stability" in line for line in summary["certainty"]["sentences"])


def test_the_number_of_clusters_may_be_left_open():
    model = fitted(n_clusters=(3, 7))
    assert model.n_clusters_ == 5
    assert model.selection_ is not None


def test_the_largest_data_set_chooses_the_number_of_clusters():
    X = {"one": np.array([[1.0, 2.0]]), **BOTH}
    with pytest.warns(UserWarning, match="could not be matched"):
        model = fitted(X, n_clusters=(3, 7))
    assert model.n_clusters_ == 6
    assert model.selection_.n_clusters == 5
    assert [one.held for one in model.matching_] == [False, True]
    assert model.matching_[1].reference == ["a"]


def test_a_third_data_set_is_matched_with_one_of_the_others():
    other, y = view(ASYMMETRIC, 100, 5, seed=7)
    model = fitted({**BOTH, "c": other})
    assert [one.held for one in model.matching_] == [True, True]
    assert model.n_clusters_ == 5
    assert np.all(model.task_relatedness_ > 0.95)
    assert joint_accuracy(np.concatenate([Y, y]), model.labels_, np.concatenate([TASKS, ["c"] * 100])) == 1


@pytest.mark.parametrize("weights", [np.ones(270), {"a": np.ones(150), "b": np.ones(120)}, 1.0])
def test_sample_weights_come_as_for_other_fits(weights):
    model = SPMTC(5, match="geometry", random_state=0).fit(BOTH, sample_weight=weights)
    assert_array_equal(model.labels_, fitted().labels_)


def test_single_precision_stays():
    model = fitted({key: X.astype(np.float32) for key, X in BOTH.items()})
    assert model.losses_.dtype == np.float32
    assert joint_accuracy(Y, model.labels_, TASKS) == 1


def test_nothing_is_matched_where_columns_link_all():
    X = np.concatenate([A, A + 0.1])
    plain = SPMTC(5, random_state=0).fit(X, tasks=np.repeat([0, 1], 150))
    model = SPMTC(5, match="geometry", random_state=0).fit(X, tasks=np.repeat([0, 1], 150))
    assert model.matching_ == []
    assert_array_equal(model.labels_, plain.labels_)


@pytest.mark.slow
def test_many_clusters_are_matched_by_the_solver():
    pytest.importorskip("ot")
    Z = 8 * np.random.default_rng(0).normal(size=(11, 6))
    (X1, y1), (X2, y2) = view(Z, 500, 7, seed=0), view(Z, 500, 8, seed=1)
    model = fitted({"a": X1, "b": X2}, 11)
    assert model.matching_[0].held
    assert joint_accuracy(np.concatenate([y1, y2]), model.labels_, np.repeat([0, 1], 500)) > 0.99


def test_many_clusters_need_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot.gromov", None)
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(ImportError, match=r"more than 8 clusters needs POT: pip install 'mtcluster\[geometry\]'"):
        fitted(n_clusters=9)
    assert fitted().matching_[0].held  # all matchings of 5 are looked at


@pytest.mark.parametrize(
    ("X", "parameters", "error", "message"),
    [
        ({"a": sparse.csr_matrix(A), "b": B}, {}, TypeError, r"X\['a'\] is a csr_matrix, .* dense NumPy or Dask"),
        (BOTH, {"init": np.ones((270, 5))}, ValueError, "init holds memberships"),
        (BOTH, {"coupling": "projection"}, ValueError, "coupling='projection' cannot work with missing values"),
        (BOTH, {"membership": "nonnegative"}, ValueError, "membership='nonnegative' cannot work with missing"),
        (BOTH, {"n_clusters": "auto", "n_clusters_per_task": [5, 5]}, ValueError, "needs a number of clusters"),
        ({"a": A, "b": frame(B, "q") * np.inf}, {}, ValueError, "infinity"),
    ],
)
def test_what_cannot_be_matched_is_refused_by_name(X, parameters, error, message):
    with pytest.raises(error, match=message):
        fitted(X, **parameters)


def test_other_columns_after_the_fit_are_refused():
    model = fitted()
    with pytest.raises(ValueError, match=r"X\['b'\] has 4 features, but it had 6 in fit"):
        model.predict({"b": A})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="expecting 10 features"):
            model.predict({"c": A})


def test_the_default_tells_of_the_option():
    with pytest.raises(ValueError, match=r"every task needs the same features\. match='geometry' matches clusters"):
        SPMTC(5).fit(BOTH)
    with pytest.raises(ValueError, match=r"No column links 'b' to 'a'.*match='geometry'"):
        SPMTC(5).fit({"a": frame(A, "p"), "b": frame(B, "q")})


def test_stability_of_such_a_fit_is_refused():
    with pytest.raises(ValueError, match="without a common column"):
        stability(fitted(), BOTH)


@pytest.mark.dask
def test_dask_arrays_and_frames_give_the_same():
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    plain = fitted()
    model = fitted({"a": da.from_array(A, chunks=(60, 4)), "b": da.from_array(B, chunks=(50, 6))})
    assert model.matching_[0].held
    assert_array_equal(np.asarray(model.labels_), plain.labels_)
    assert_array_equal(np.asarray(model.predict({"b": da.from_array(B, chunks=(50, 6))})), plain.labels_[150:])
    frames = {key: dd.from_pandas(frame(X, key), npartitions=2) for key, X in BOTH.items()}
    assert_array_equal(np.asarray(fitted(frames).labels_), plain.labels_)


def test_a_model_file_keeps_the_evidence(tmp_path):
    pytest.importorskip("skops")
    from mtcluster.interop import dump, load

    model = fitted()
    dump(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.matching_[0].margin == model.matching_[0].margin
    assert_array_equal(again.predict(BOTH), model.labels_)
