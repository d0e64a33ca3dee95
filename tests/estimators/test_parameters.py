"""Parameters and fitted attributes, as scikit-learn has them, also where the start is an object."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mtcluster import LSSMTC, SPMTC, Search

QUICK = Search(n_seedings=2, n_moved=1)


@pytest.mark.parametrize("estimator", [SPMTC, LSSMTC])
def test_a_search_as_start_survives_clone_set_and_pickle(estimator, blobs):
    model = estimator(4, init=QUICK, random_state=0)
    assert model.get_params()["init"] is QUICK
    assert clone(model).init == QUICK
    other = Search(sample=60)
    assert clone(model).set_params(init=other).init is other
    fitted = model.fit(blobs.X, tasks=blobs.tasks)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.init == QUICK
    assert_array_equal(again.predict(blobs.X, tasks=blobs.tasks), fitted.labels_)
    assert_array_equal(clone(fitted).fit(blobs.X, tasks=blobs.tasks).losses_, fitted.losses_)


def test_the_representation_names_the_start():
    assert "init=Search(sample=100" in repr(SPMTC(4, init=Search(sample=100))).replace("\n", "").replace("  ", "")
    assert "init" not in repr(SPMTC(4))


def test_a_fit_changes_no_parameter(blobs):
    model = SPMTC(4, init=QUICK, random_state=0)
    before = dict(model.get_params())
    model.fit(blobs.X, tasks=blobs.tasks)
    assert model.get_params() == before


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sample": 0}, "sample=0 of Search should be a whole number of at least 1"),
        ({"n_seedings": 1.5}, "n_seedings=1.5"),
        ({"n_moved": -1}, "n_moved=-1"),
        ({"n_init": "many"}, "n_init='many'"),
    ],
)
def test_a_search_that_cannot_be_is_refused_when_it_is_made(wrong, message):
    with pytest.raises(ValueError, match=message):
        Search(**wrong)


@pytest.mark.parametrize("membership", ["binary", "nonnegative"])
def test_memberships_are_there_after_a_fit_and_agree_with_labels(membership, blobs):
    model = LSSMTC(4, membership=membership, within_weight=0.5, n_init=1, random_state=0)
    assert not hasattr(model, "memberships_")
    with pytest.raises(NotFittedError):
        model.predict(blobs.X)
    model.fit(blobs.X, tasks=blobs.tasks)
    assert isinstance(type(model).memberships_, property)
    assert model.memberships_.shape == (120, 4)
    assert_array_equal(model.memberships_.argmax(axis=1), model.labels_)
    if membership == "binary":
        assert_array_equal(model.memberships_, np.eye(4)[model.labels_])
    else:
        assert_array_equal(model.predict_proba(blobs.X, tasks=blobs.tasks), model.memberships_)


def test_a_fit_forgets_the_memberships_of_the_fit_before_it(blobs):
    model = LSSMTC(4, membership="nonnegative", within_weight=0.5, n_init=1, random_state=0)
    model.fit(blobs.X, tasks=blobs.tasks)
    assert np.any((model.memberships_ > 0) & (model.memberships_ < 1))
    model.set_params(membership="binary").fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(model.memberships_, np.eye(4)[model.labels_])
