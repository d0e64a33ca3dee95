"""Forms of the memberships P: one class per form, registered by name; and losses as quadratics of them (eq. 8)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType
from typing import ClassVar

import numpy as np

from .arrays import Array, Dtype, arange, host, like, zero
from .capabilities import Capabilities


@dataclass(frozen=True)
class Quadratic:
    """The loss L = e − 2 p·a + p B pᵀ of some rows, as a function of their memberships p.

    For a label j it is e − 2 a_j + 2 h_j, where h is half the diagonal of B plus a correction for the origin. Rows come
    last: the least over clusters is then found for many rows at a time.
    """

    e: Array | None  # (n,), or (R, n); None: losses are wanted up to it
    A: Array  # (R, c, n)
    h: Array  # (R, c, 1)
    B: Array | None  # (R, c, c), in NumPy's memory in float64: it may be close to singular; None: labels do without
    xp: ModuleType = np
    prior: Array | None = None  # (R, c, 1) the part of h that proportions of the clusters make

    @cached_property
    def D(self) -> Array:  # noqa: N802
        """(R, c, n) half of what a label adds to e. It takes the place of A where only labels are asked for."""
        if self.xp is np and self.B is None and self.A.flags.c_contiguous:
            return np.subtract(self.h, self.A, out=self.A)
        return np.subtract(self.h, self.A, order="C") if self.xp is np else self.h - self.A

    @cached_property
    def least(self) -> Array:
        """(R, n) the least of D."""
        return self.xp.min(self.D, axis=1)

    def small(self, values: Array) -> Array:
        """Make a small NumPy array in the type and place of the rows."""
        return like(values, self.A, self.xp)

    def with_energy(self, cross: Array) -> Array:
        """Compute E + cross, at least 0 in spite of rounding; `cross` is given up."""
        if self.e is None:
            return cross
        if self.xp is np:
            L = np.add(cross, self.e, out=cross)
            return np.maximum(L, 0, out=L)
        L = self.e + cross
        return self.xp.maximum(L, zero(L.dtype, L.device, self.xp))


class Membership(ABC):
    """One form of the memberships P of the rows of a task.

    The solver keeps those of R runs with rows last: labels (R, n), or memberships (R, c, n). Those of one fit, as they
    are given and reported, have rows first: labels (n,), or memberships (n, c).
    """

    name: ClassVar[str]
    supports: ClassVar[Capabilities]
    labels_only: ClassVar[bool] = False  # are memberships labels (n,)?
    diagonal: ClassVar[bool] = False  # does a row belong to one cluster, known or not? Then S and B are diagonal
    explanation: ClassVar[str]  # a sentence

    @abstractmethod
    def start(self, P: Array, like: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Get starting memberships of one run, given as labels (n,) or memberships (n, c), as the solver keeps them."""

    @abstractmethod
    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Dtype) -> Array:
        """Return memberships of n rows, drawn at random."""

    @abstractmethod
    def step(self, P: Array, form: Quadratic, selected: Array | None) -> tuple[Array, Array]:
        """Make a membership step that never raises the loss of a row, and the losses after it.

        Rows that are not `selected` (R, n) keep their memberships; None: all are.
        """

    @abstractmethod
    def exact(self, form: Quadratic) -> Array:
        """Return the memberships of least loss."""

    @abstractmethod
    def losses(self, P: Array, form: Quadratic) -> Array:
        """Return the loss of each row (R, n) (eq. 8), at least 0 in spite of rounding."""

    def nearest(self, form: Quadratic) -> tuple[Array, Array]:
        """Return the memberships of least loss, and the losses."""
        P = self.exact(form)
        return P, self.losses(P, form)

    def columns(self, P: Array, like: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Compute P (R, c, n), in the type of an array."""
        return P

    def moments(self, P: Array, weighted: Array, xp: ModuleType = np) -> Array:
        """Compute S = PᵀVP (R, c, c) in float64, from P and PV (R, c, n); its diagonal (R, c) where that is all."""
        return xp.sum(weighted, axis=2, dtype=xp.float64)

    @abstractmethod
    def reported(self, P: Array, form: Quadratic) -> Array:
        """Return memberships of one run as they are reported, rows first; those of a row sum to 1."""

    @abstractmethod
    def sizes(self, P: Array, u: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Compute Σ u p of each cluster."""

    def fitted(self, P: Array, M: Array) -> Array:
        """Compute P M (n, d), for memberships of one run as the solver keeps them."""
        return P.T @ M


class Binary(Membership):
    """One cluster per row."""

    name = "binary"
    supports = Capabilities()
    labels_only = diagonal = True
    explanation = "Each row has one cluster, and zero needs no special meaning in X."

    def start(self, P: Array, like: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Labels."""
        labels = P if P.ndim == 1 else xp.argmax(P, axis=1)
        return labels.astype(_label_type(n_clusters), copy=False) if xp is np else xp.astype(labels, xp.int64)

    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Dtype) -> Array:
        """Return labels drawn at random."""
        return rng.integers(n_clusters, size=n)

    def step(self, P: Array, form: Quadratic, selected: Array | None) -> tuple[Array, Array]:
        """Return the label of least loss; proportions of the clusters count in labels and losses alike."""
        labels = self.exact(form)
        if selected is None:
            return labels, form.with_energy(2 * form.least)
        labels = form.xp.where(selected, labels, P)
        return labels, form.with_energy(2 * _at(form.D, labels, form.xp))

    def exact(self, form: Quadratic) -> Array:
        """Return the label of least loss; the first of several."""
        D, xp = form.D, form.xp
        if xp is not np:
            return xp.argmin(D, axis=1)
        R, c, n = D.shape
        kind = _label_type(c)
        best = D == form.least[:, None]
        if np.count_nonzero(best) != R * n:  # a tie, or not a number
            return np.argmin(D, axis=1).astype(kind)
        return np.sum(np.multiply(best, np.arange(c, dtype=kind)[:, None]), axis=1, dtype=kind)

    def losses(self, P: Array, form: Quadratic) -> Array:
        """Return losses at the given labels, without what the proportions of the clusters add to them."""
        D = form.D if form.prior is None else form.D - form.prior
        return form.with_energy(2 * _at(D, P, form.xp))

    def columns(self, P: Array, like: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Return labels become 0/1 columns where they meet X, piece by piece."""
        if xp is np:
            return (P[:, None] == np.arange(n_clusters, dtype=P.dtype)[:, None]).astype(like.dtype)
        return xp.astype(P[:, None, :] == arange(n_clusters, P.device, xp)[:, None], like.dtype)

    def reported(self, P: Array, form: Quadratic) -> Array:
        """Return labels are what they are."""
        return P[0, :].astype(np.intp) if form.xp is np else P[0, :]

    def sizes(self, P: Array, u: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Compute Σ u of each cluster."""
        return np.bincount(host(P), weights=host(u), minlength=n_clusters)

    def fitted(self, P: Array, M: Array) -> Array:
        """Return the centre of each row."""
        return M[P]


def _at(D: Array, labels: Array, xp: ModuleType) -> Array:
    """Compute (R, n) the values of D (R, c, n) at labels (R, n)."""
    return xp.take_along_axis(D, labels[:, None, :], axis=1)[:, 0, :]


@lru_cache
def _label_type(n_clusters: int) -> Dtype:
    """Get the smallest integers that number the clusters: labels are compared with all of them in every iteration."""
    return np.min_scalar_type(n_clusters - 1)


def one_hot(labels: Array, n_clusters: int, dtype: Dtype, xp: ModuleType = np) -> Array:
    """Return labels as 0/1 memberships (n, c)."""
    number = xp.arange(n_clusters, device=getattr(labels, "device", None))
    return xp.astype(labels[:, None] == number, dtype)


UNLOCK = 0.2  # added to 0/1 starts: a multiplicative update never leaves 0
MAX_RATIO = 1e10  # of a multiplicative step: memberships near the smallest float would overflow
PIVOT_NUMBERS = 2**21  # entries of the c × c systems that the exact solve keeps in memory at a time


class NonNegative(Membership):
    """Non-negative mixtures of centres, (n, c)."""

    name = "nonnegative"
    supports = Capabilities(offsets=False, missing=False)
    explanation = "Rows are non-negative mixtures of centres, so zero must have a meaning in X."

    def start(self, P: Array, like: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Return memberships that are not locked at 0."""
        P = P if P.ndim == 2 else one_hot(P, n_clusters, like.dtype, xp) + UNLOCK
        return np.ascontiguousarray(P.T) if xp is np else P.T

    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Dtype) -> Array:
        """Return memberships drawn at random."""
        return (rng.random((n, n_clusters)) + UNLOCK).astype(dtype)

    def step(self, P: Array, form: Quadratic, selected: Array | None) -> tuple[Array, Array]:
        """Return one multiplicative step P ← P √((A⁺ + PB⁻) / (A⁻ + PB⁺)) (eq. 22); 0/0 is read as 1."""
        A, xp = form.A, form.xp
        B = np.asarray(form.B)
        up = xp.clip(A, 0, None) + form.small(np.maximum(-B, 0)) @ P
        down = xp.clip(-A, 0, None) + form.small(np.maximum(B, 0)) @ P
        down = xp.maximum(down, up / MAX_RATIO)
        usable = down > 0
        one = xp.ones_like(down[:1, :1, :1])
        new = P * xp.sqrt(xp.where(usable, up / xp.where(usable, down, one), one))
        new = new if selected is None else xp.where(selected[:, None, :], new, P)
        return new, self.losses(new, form)

    def exact(self, form: Quadratic) -> Array:
        """Return the least loss over all p ≥ 0, row by row, by block principal pivoting.

        A ridge makes the answer unique where centres are dependent. It is larger than the rounding of A, which would
        be amplified along the directions that B lacks.
        """
        xp, Bs = form.xp, np.asarray(form.B)
        runs, c, n = form.A.shape
        share = max(1e-10, 10 * float(xp.finfo(form.A.dtype).eps))
        step = max(PIVOT_NUMBERS // (c * c), 1)
        found = []
        for r in range(runs):
            ridge = share * max(float(np.trace(Bs[r])) / c, np.finfo(np.float64).tiny)
            A = xp.astype(form.A[r, :, :].T, xp.float64)
            B = like(Bs[r] + ridge * np.eye(c), A, xp)
            parts = [_pivot(A[i : min(i + step, n), :], B, xp) for i in range(0, n, step)] or [A]
            found.append(xp.astype(xp.concat(parts), form.A.dtype).T)
        return xp.stack(found)

    def losses(self, P: Array, form: Quadratic) -> Array:
        """Return losses at the given memberships."""
        return form.with_energy(form.xp.sum(P * (form.small(np.asarray(form.B)) @ P - 2 * form.A), axis=1))

    def moments(self, P: Array, weighted: Array, xp: ModuleType = np) -> Array:
        """Compute PᵀVP."""
        return xp.astype(weighted @ xp.permute_dims(P, (0, 2, 1)), xp.float64)

    def reported(self, P: Array, form: Quadratic) -> Array:
        """Get memberships that sum to 1; a row without any, such as an all-zero row, belongs to the nearest centre."""
        xp, P = form.xp, P[0, :, :].T
        total = xp.sum(P, axis=1, keepdims=True)
        some = total > 0
        nearest = one_hot(xp.argmin(form.D[0, :, :], axis=0), P.shape[1], P.dtype, xp)
        return xp.where(some, P / xp.where(some, total, 1), nearest)

    def sizes(self, P: Array, u: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Compute Σ u p of each cluster."""
        return host(xp.astype(u, xp.float64) @ xp.astype(P, xp.float64))


def _pivot(A: Array, B: Array, xp: ModuleType) -> Array:
    """Min p B pᵀ − 2 p·a over p ≥ 0 for each row a of A (Kim and Park's exchange rule, batched)."""
    n, c = A.shape
    place = {"device": A.device}
    P, Z = xp.zeros_like(A), xp.zeros_like(A, dtype=xp.bool)  # Z: which entries are free to be positive
    best, patience = xp.full((n,), c + 1, **place), xp.full((n,), 3, **place)
    unit, number, zero = xp.eye(c, dtype=A.dtype, **place), xp.arange(c, **place), xp.zeros_like(A[:1, :1])
    done, answers = [], []  # rows leave as they are solved
    rows = xp.arange(n, **place)
    for _ in range(50 + 20 * c):  # far more than are ever needed: a bound against cycles by rounding
        both = Z[:, :, None] & Z[:, None, :]
        system = xp.where(both, B, zero) + unit * xp.astype(~Z, A.dtype)[:, :, None]
        p = xp.linalg.solve(system, xp.where(Z, A, zero)[:, :, None])[:, :, 0]
        slack = 1e-12 * xp.clip(xp.max(xp.abs(A), axis=1, keepdims=True), float(np.finfo(np.float64).tiny), None)
        wrong = xp.where(Z, p < 0, p @ B - A < -slack)
        P = xp.where(Z, xp.clip(p, 0, None), zero)
        count = xp.sum(xp.astype(wrong, best.dtype), axis=1)
        better = count < best
        patience = xp.where(better, xp.full_like(patience, 3), patience - 1)
        best = xp.minimum(best, count)
        # Full exchanges may cycle; after three without progress only the last wrong variable moves, which cannot.
        last = number == xp.max(xp.where(wrong, number, xp.full_like(number, -1)), axis=1, keepdims=True)
        Z = Z ^ xp.where((patience >= 0)[:, None], wrong, wrong & last)
        solved, open_rows = xp.nonzero(count == 0)[0], xp.nonzero(count > 0)[0]
        done.append(xp.take(rows, solved))
        answers.append(xp.take(P, solved, axis=0))
        rows, A, P, Z, best, patience = (xp.take(x, open_rows, axis=0) for x in (rows, A, P, Z, best, patience))
        if not A.shape[0]:
            break
    order = xp.argsort(xp.concat([*done, rows]))
    return xp.take(xp.concat([*answers, P]), order, axis=0)


class Responsibilities(Membership):
    """Each row belongs to one cluster, and which is known with some probability: the E-step of a Gaussian mixture.

    The loss of a row is −2 log Σ_j exp(−L_j / 2), with L_j its loss in cluster j, proportions included: minus twice its
    log-density, up to a constant.
    """

    name = "responsibilities"
    supports = Capabilities()
    diagonal = True
    explanation = "Each row has a probability of each cluster."

    def start(self, P: Array, like: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Compute 0/1 columns of labels, or memberships; those of a row sum to 1."""
        if P.ndim == 1:
            P = one_hot(P, n_clusters, like.dtype, xp)
        P = xp.astype(P, like.dtype)
        return (P / xp.sum(P, axis=1, keepdims=True)).T

    def random(self, n: int, n_clusters: int, rng: np.random.Generator, dtype: Dtype) -> Array:
        """Return labels drawn at random."""
        return np.eye(n_clusters, dtype=dtype)[rng.integers(n_clusters, size=n)]

    def step(self, P: Array, form: Quadratic, selected: Array | None) -> tuple[Array, Array]:
        """Return the E-step."""
        xp = form.xp
        E = xp.exp(form.least[:, None, :] - form.D)
        total = xp.sum(E, axis=1)
        E = xp.divide(E, total[:, None, :], out=E) if xp is np else E / total[:, None, :]
        L = 2 * (form.least - xp.log(total))
        if form.e is not None:
            L = L + form.e
        return (E if selected is None else xp.where(selected[:, None, :], E, P)), L

    def exact(self, form: Quadratic) -> Array:
        """Return the E-step."""
        return self.step(form.A, form, None)[0]

    def losses(self, P: Array, form: Quadratic) -> Array:
        """Return minus twice the log-density of each row, up to a constant; it does not depend on P."""
        L = self.step(P, form, None)[1]
        return L if form.e is None else form.xp.maximum(L, zero(L.dtype, getattr(L, "device", None), form.xp))

    def reported(self, P: Array, form: Quadratic) -> Array:
        """Return rows first."""
        return P[0, ...].T

    def sizes(self, P: Array, u: Array, n_clusters: int, xp: ModuleType = np) -> Array:
        """Compute Σ u p of each cluster."""
        return host(u) @ host(P)


MEMBERSHIPS: dict[str, Membership] = {form.name: form for form in (Binary(), NonNegative())}
FORMS: ChainMap[str, Membership] = ChainMap(MEMBERSHIPS, {Responsibilities.name: Responsibilities()})  # of mixtures too
