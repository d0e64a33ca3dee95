"""The kernel for the membership step: it answers what the reference answers, and is taken on CUDA devices alone."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster.core import fused
from mtcluster.core.arrays import Picked
from mtcluster.core.blocks import Block, Weight, make_block
from mtcluster.core.memberships import Binary
from mtcluster.core.sums import row_sums
from mtcluster.core.terms import TaskTerms

ROOT = Path(__file__).parents[2]


def terms_of(C, xp):
    return TaskTerms(C, xp.sum(C * C, axis=1)[None, :, None] / 2, None, None, True, None, xp)


def compare(n, d, c, picked, some, lacking):
    """The step of the kernel against that of `Binary` with `row_sums`, on tensors of the CPU."""
    import torch
    from sklearn.externals.array_api_compat import torch as xp

    rng = np.random.default_rng(0)
    matrix = torch.asarray(rng.normal(size=(2 * n, d)).astype(np.float32))
    X = Picked(matrix, torch.asarray(np.sort(rng.permutation(2 * n)[:n])), xp) if picked else matrix[:n]
    rows = X[0:n]
    block = Block(X, torch.ones(n), torch.sum(rows * rows, dim=1), np.zeros(d), xp)
    terms = terms_of(torch.asarray(rng.normal(size=(c, d)).astype(np.float32)), xp)
    if lacking:
        terms.h[0, 1] = torch.inf
    P = torch.asarray(rng.integers(c, size=(1, n)))
    P[P == 1] = 0
    v = rng.random((1, n)) * (rng.random((1, n)) < 0.7) if some else rng.random((1, n))
    w = torch.asarray(v.astype(np.float32))
    weight = Weight(w, w > 0 if some else None)
    found = fused.step(block, terms, P, weight)
    labels, losses = Binary().step(P, terms.quadratic(rows, block.sq), weight.selected)
    S, T = row_sums(rows, labels, w, Binary(), c, xp)
    expected = labels, losses, xp.sum(w * losses, axis=1, dtype=xp.float64), S, T
    assert_array_equal(found[0], labels)
    if lacking:
        assert not torch.any(found[0] == 1)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.parametrize("picked", [False, True])
@pytest.mark.parametrize("some", [False, True])
def test_the_kernel_takes_the_step_of_the_reference(picked, some):
    """In Triton's interpreter, which must be asked for before Triton is imported: in a process of its own."""
    for name in ("torch", "triton"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed: the kernel needs torch and triton")
    calls = [f"compare({n}, {d}, {c}, {picked}, {some}, {lacking})"
             for n, d, c, lacking in ((150, 20, 5, False), (64, 16, 16, True), (3, 33, 2, False))]  # fmt: skip
    environment = {**os.environ, "TRITON_INTERPRET": "1", "SCIPY_ARRAY_API": "1"}
    code = f"from tests.core.test_fused import compare; {'; '.join(calls)}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_rows_of_numpy_and_scipy_do_not_take_the_kernel(container):
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    block = make_block(container(X), np.ones(50, np.float32), np.zeros(4))
    assert not fused.available(block, Binary(), terms_of(X[:3], np))


@pytest.mark.gpu
@pytest.mark.parametrize("picked", [False, True])
def test_tensors_of_the_cpu_do_not_take_the_kernel(picked):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from sklearn.externals.array_api_compat import torch as xp

    matrix = torch.asarray(np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32))
    X = Picked(matrix, torch.arange(50), xp) if picked else matrix
    block = Block(X, torch.ones(50), torch.sum(matrix * matrix, dim=1), np.zeros(4), xp)
    assert not fused.available(block, Binary(), terms_of(matrix[:3], xp))
