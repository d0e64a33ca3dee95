"""Arrays of other libraries: computed on with their own functions, and the same results."""

import os
import subprocess
import sys

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster import ASI, LSSMTC, SPMTC
from mtcluster.core import arrays, sums
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators import input as reading
from mtcluster.estimators.matrices import library as library_of

pytestmark = pytest.mark.gpu

LIBRARIES = ["array_api_strict", "torch"]
MODELS = {
    "default": SPMTC(4, random_state=0),
    "hard": SPMTC(4, within_weight=0.5, weighting="hard", random_state=0),
    "nonnegative": LSSMTC(4, within_weight=0.5, membership="nonnegative", n_init=1, random_state=0),
    "few components": LSSMTC(4, within_weight=0.5, n_components=2, random_state=0),
    "random": LSSMTC(4, within_weight=0.5, init="random", random_state=0),
    "offsets": SPMTC(4, within_weight=0.5, task_offset="scale", n_init=1, random_state=0),
    "asi": ASI(4, n_init=1, random_state=0),
}


@pytest.fixture(params=LIBRARIES)
def library(request):
    """A library, with scikit-learn's dispatch on."""
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        pytest.skip("SCIPY_ARRAY_API=1 is not set, which scikit-learn's array API dispatch needs")
    found = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    with sklearn.config_context(array_api_dispatch=True):
        yield found


@pytest.fixture
def rows():
    X, _, labels = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], labels[order]


def fresh(model):
    return type(model)(**model.get_params())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("large", [False, True], ids=["copied", "picked"])
def test_the_results_of_numpy_as_arrays_of_the_library(library, rows, name, large, monkeypatch):
    if large:
        monkeypatch.setattr(reading, "COPIED", 0)
        monkeypatch.setattr(sums, "MOST_ROWS", 32)
        monkeypatch.setattr(arrays, "DEVICE_ROWS", 16)
        arrays.batch_of.cache_clear()
    X, labels = rows
    here, there = fresh(MODELS[name]).fit(X, tasks=labels), fresh(MODELS[name]).fit(library.asarray(X), tasks=labels)
    arrays.batch_of.cache_clear()
    found, wanted = there.fitted_.rows, here.fitted_.rows
    pairs = {
        name: (getattr(found, name), getattr(wanted, name)) for name in ("labels", "losses", "weights", "admitted")
    }
    for name, (own, other) in (pairs | {"memberships": (there.memberships_, here.memberships_)}).items():
        assert type(own) is type(library.asarray(X)), name
        assert_allclose(np.asarray(own), other, atol=1e-9, err_msg=name)
    assert_allclose(there.task_centers_, here.task_centers_, atol=1e-9)
    new = np.where(labels == 2, 7, labels)
    for method in ("predict", "predict_proba", "score_samples"):
        found = getattr(there, method)(library.asarray(X), tasks=new)
        assert type(found) is type(library.asarray(X)), method
        assert_allclose(np.asarray(found), getattr(here, method)(X, tasks=new), atol=1e-9)
    assert_allclose(np.asarray(there.transform(library.asarray(X))), here.transform(X), atol=1e-9)
    assert_allclose(there.score(library.asarray(X), tasks=labels), here.score(X, tasks=labels))


def test_float32_stays_float32(library, rows):
    X, labels = rows
    model = SPMTC(4, random_state=0).fit(library.asarray(X.astype(np.float32)), tasks=labels)
    assert model.losses_.dtype == model.memberships_.dtype == library.float32
    assert_array_equal(np.asarray(model.labels_), SPMTC(4, random_state=0).fit(X, tasks=labels).labels_)


def test_a_dict_of_arrays(library, rows):
    X, labels = rows
    apart = {k: library.asarray(X[labels == k]) for k in range(3)}
    here = LSSMTC(4, random_state=0).fit({k: X[labels == k] for k in range(3)})
    assert_array_equal(np.asarray(LSSMTC(4, random_state=0).fit(apart).labels_), here.labels_)


def test_bad_data_are_refused(library, rows):
    X, labels = rows
    holed = X.copy()
    holed[7, 1] = np.inf
    with pytest.raises(ValueError, match=r"contains infinity in 1 row\(s\) .* row 7"):
        LSSMTC(4).fit(library.asarray(holed), tasks=labels)
    with pytest.raises(ValueError, match="projection"):
        LSSMTC(4, coupling="projection", within_weight=0.5).fit(library.asarray(X), tasks=labels)


def test_sparse_tensors_of_torch_are_refused_by_name(rows):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match=r"X is a sparse PyTorch tensor .*CuPy"):
        LSSMTC(4).fit(torch.asarray(rows[0]).to_sparse_csr(), tasks=rows[1])


def test_without_dispatch_tensors_are_read_as_scikit_learn_reads_them(rows):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model = LSSMTC(4, random_state=0).fit(torch.asarray(rows[0]), tasks=rows[1])
    assert isinstance(model.labels_, np.ndarray)


def test_no_library_is_imported_for_numpys_arrays():
    code = (
        "import sys, numpy as np; from mtcluster import LSSMTC; "
        "LSSMTC(2, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 3))); "
        "print([name for name in ('torch', 'cupy', 'dask', 'distributed', 'array_api_strict') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_library_is_numpy_unless_dispatch_is_on(rows):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert library_of(torch.asarray(rows[0])) is np
