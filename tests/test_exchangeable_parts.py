"""A part is one class and one line of registration: fits take it by name, and what it cannot do is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

from mtcluster import LSSMTC, SPMTC, Search
from mtcluster.core.capabilities import Capabilities
from mtcluster.core.couplings import COUPLINGS, Reconstruction
from mtcluster.core.memberships import MEMBERSHIPS, Binary
from mtcluster.core.starts import STARTS, SampledStart, Start
from mtcluster.core.weightings import WEIGHTINGS, Hard, Weighting
from mtcluster.estimators.plan import Asked, check_capabilities


class HalfWeights(Weighting):
    """Full weight up to the quantile, half weight beyond."""

    name = "half"

    def quantiles(self, fraction):
        return (fraction,)

    def weights(self, L, found, xp=np):
        return xp.where(L <= found[0], xp.ones_like(L), 0.5 * xp.ones_like(L))


class FirstFeature(SampledStart):
    """Clusters by the order of the first feature."""

    name = "first-feature"
    n_init, max_iter = 2, 7

    def labels(self, blocks, model, rng):
        c = model.n_clusters
        return [np.argsort(np.argsort(b.X[:, 0])) * c // len(b) for b in blocks]


class Constant(Start):
    """All rows in one cluster."""

    name = "constant"

    def __call__(self, rows, model, rng):
        return rows.scatter([np.zeros(n, dtype=int) for n in rows.summary.rows])


class Limited(Reconstruction):
    """The reconstruction coupling for small tables that lie in one place, without offsets."""

    name = "limited"
    supports = Capabilities(dask=False, gpu=False, offsets=False, task_shares=False, max_order=10)


class Grounded(Binary):
    """Binary memberships without offsets."""

    name = "grounded"
    supports = Capabilities(offsets=False, dask=False)


@pytest.fixture
def registered(monkeypatch):
    """Add parts to their registries for the time of a test."""

    def register(registry, part):
        monkeypatch.setitem(registry, part.name, part)

    return register


def test_a_new_weighting_rule_is_taken_by_name_while_it_is_registered(blobs, registered, monkeypatch):
    model = SPMTC(4, weighting="half", within_weight=0.5, n_init=1, random_state=0)
    with pytest.raises(InvalidParameterError, match=r"'weighting' parameter of SPMTC must be a str among .*'hard'"):
        model.fit(blobs.X, tasks=blobs.tasks)
    registered(WEIGHTINGS, HalfWeights)
    fitted = clone(model).fit(blobs.X, tasks=blobs.tasks)
    assert fitted.decisions_.weighting == "half"
    assert set(np.unique(fitted.fitted_.rows.weights[0])) == {0.5, 1.0}
    for fraction, weights in zip(fitted.fitted_.rows.fractions, fitted.fitted_.rows.weights, strict=True):
        assert np.mean(weights == 1) == pytest.approx(fraction, abs=0.03)
    monkeypatch.undo()
    assert "half" not in WEIGHTINGS
    with pytest.raises(InvalidParameterError, match="'weighting'"):
        clone(model).fit(blobs.X, tasks=blobs.tasks)


def test_a_new_start_is_taken_by_name_and_leads_what_is_left_open(blobs, registered, monkeypatch):
    model = LSSMTC(4, init="first-feature", within_weight=0.5, random_state=0)
    with pytest.raises(InvalidParameterError, match="'init' parameter of LSSMTC"):
        model.fit(blobs.X, tasks=blobs.tasks)
    registered(STARTS, FirstFeature())
    found = model.fit(blobs.X, tasks=blobs.tasks).decisions_
    assert (found.start, found.n_starts, found.max_iter) == ("first-feature", 2, 7)
    monkeypatch.undo()
    with pytest.raises(InvalidParameterError, match="'init'"):
        model.fit(blobs.X, tasks=blobs.tasks)


def test_a_start_decides_where_a_fit_begins(blobs, registered):
    registered(STARTS, Constant())
    model = LSSMTC(4, init="constant", within_weight=1.0, max_iter=1)
    with pytest.warns(UserWarning, match="of 4 clusters have no rows"):
        model.fit(blobs.X, tasks=blobs.tasks)
    for k, center in enumerate(model.task_centers_[:, 0]):
        np.testing.assert_allclose(center, blobs.X[blobs.tasks == k].mean(axis=0))


def test_a_new_coupling_fits_by_name_and_is_refused_where_it_says_so(blobs, registered):
    registered(COUPLINGS, Limited())
    known = LSSMTC(4, within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    model = LSSMTC(4, coupling="limited", within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(model.labels_, known.labels_)
    assert model.decisions_.coupling == "limited"
    assert_array_equal(model.predict(blobs.X, tasks=blobs.tasks), model.labels_)
    with pytest.raises(ValueError, match=r"task_offset='mean' cannot go with coupling='limited': take task_offset="):
        clone(model).set_params(task_offset="mean").fit(blobs.X, tasks=blobs.tasks)
    wide = np.tile(blobs.X, 2)
    with pytest.raises(ValueError, match=r"coupling='limited' needs .* = 12, and at most 10 .*'reconstruction' has no"):
        clone(model).fit(wide, tasks=blobs.tasks)


def test_an_open_fit_asks_a_coupling_what_it_can_do(blobs, registered):
    registered(COUPLINGS, Limited())
    model = SPMTC(4, coupling="limited", random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert (model.fitted_.task_offset, model.decisions_.task_offset_reason) == ("none", "unsupported")
    assert model.decisions_.within_weight_reason == "coupling"
    assert_array_equal(model.fitted_.within_weight, Search().within_weight)


def test_a_new_form_of_memberships_is_refused_where_it_says_so(blobs, registered):
    registered(MEMBERSHIPS, Grounded())
    model = LSSMTC(4, membership="grounded", within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert model.decisions_.membership == "grounded"
    with pytest.raises(ValueError, match="task_offset='scale' cannot go with membership='grounded'"):
        clone(model).set_params(task_offset="scale").fit(blobs.X, tasks=blobs.tasks)


def engine(*needs, rows=100, features=5):
    return SimpleNamespace(needs=needs, instead="do something else", sizes=[rows], n_features=features)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (engine("dask"), r"'limited' works on NumPy .* take coupling='reconstruction', or do something else."),
        (engine("gpu"), "coupling='limited' works on NumPy arrays in one process only"),
        (engine(features=11), "min.rows, features. = 11, and at most 10 is allowed"),
        (engine(rows=11, features=50), "min.rows, features. = 11"),
    ],
)
def test_errors_are_made_from_what_a_part_says_it_can_do(where, message):
    asked = Asked("SPMTC", 3, Limited(), Binary(), task_offset="auto")
    with pytest.raises(ValueError, match=message):
        check_capabilities(asked, where)
    with_all = SimpleNamespace(name="anything", supports=Capabilities())
    assert check_capabilities(replace(asked, coupling=with_all), where) is None


def test_a_form_of_memberships_that_needs_all_rows_names_itself():
    asked = Asked("SPMTC", 3, Reconstruction(), Grounded())
    with pytest.raises(ValueError, match=r"membership='grounded' works on NumPy arrays .*: take membership='binary'"):
        check_capabilities(asked, engine("dask"))


def test_parts_without_options_take_none():
    rule = Hard.make(soft_rule="quantile", full_weight_share=0.3)
    assert isinstance(rule, Hard)
    assert rule.full_weight_share == 1
