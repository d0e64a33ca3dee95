"""Couplings of the tasks: one class per shared term of the loss, registered by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from .arrays import Array, Foreign, Matrix, dense, pieces, rows_at
from .blocks import Block, PerRow, Place, RowSource, Weight
from .capabilities import Capabilities
from .centers import Centers
from .jobs import totals
from .mstep import update

if TYPE_CHECKING:
    from .model import Model, State

Subspace = Callable[[Array, Array, int], Array]  # Q (c, d), Z (c, d), l → W
Prepared = Foreign  # what a coupling computes once before a fit


class Coupling(ABC):
    """The term of the loss that all tasks share: its energy, its update of (W, M) and what it can work with."""

    name: ClassVar[str]
    supports: ClassVar[Capabilities]
    explanation: ClassVar[str]  # a sentence
    free_origin: ClassVar[bool] = False  # are losses distances, so that they may be computed from any origin?
    own_threads: ClassVar[bool] = True  # may rows be worked on by threads of ours, or does NumPy need them all?
    n_init: ClassVar[int | None] = None  # starts that it can afford; None: as many as any

    def prepare(self, rows: RowSource) -> Prepared:
        """Tell what is computed once before a fit."""
        return None

    @abstractmethod
    def subspaces(
        self, model: Model, n_features: int, n_runs: int, rows: RowSource | None = None, weights: PerRow = None,
        prepared: Prepared = None,
    ) -> list[Subspace] | None:  # fmt: skip
        """Tell what makes W of each run at given weights; None where W spans all shared centres and can wait."""

    @abstractmethod
    def energy_basis(self, W: Array | None) -> Array | None:
        """Return the subspace in which the energy of a row is counted; None: all of it counts."""

    def complete(self, centers: Centers, n_components: int) -> Centers:
        """Return centres whose W could wait, with it."""
        return centers

    def fault(self, model: Model, rows: RowSource, state: State, prepared: Prepared) -> str | None:
        """Tell what a user should know about a fit that worked; None: nothing."""
        return None


def complete(W: Array, n_components: int, Z: Array) -> Array:
    """Return orthonormal columns added to W in a fixed way, towards the centres Z first and unit vectors after.

    The directions of Z matter to clusters that have run empty: their centres must not be projected away.
    """
    sizes = np.linalg.norm(Z, axis=1)
    for z, size in zip(Z, sizes, strict=True):
        if W.shape[1] == n_components:
            break
        rest = z - W @ (W.T @ z)
        if np.linalg.norm(rest) > 1e-6 * size > 0:
            W = _append(W, rest)
    while W.shape[1] < n_components:
        unit = np.zeros(W.shape[0])
        unit[np.argmin(np.einsum("ij,ij->i", W, W))] = 1
        W = _append(W, unit)
    return W


def fix_signs(W: Array) -> Array:
    """Return columns with their largest entry positive, so that a basis does not depend on LAPACK's mood."""
    largest = W[np.argmax(np.abs(W), axis=0), np.arange(W.shape[1])]
    return W * np.where(largest < 0, -1, 1)


def _append(W: Array, w: Array) -> Array:
    for _ in range(2):  # twice is enough for orthogonality to rounding
        w = w - W @ (W.T @ w)
        w = w / np.linalg.norm(w)
    return np.column_stack([W, w])


class Reconstruction(Coupling):
    """W = the l leading eigenvectors of the between-cluster scatter; at l ≥ c it restricts nothing."""

    name = "reconstruction"
    supports = Capabilities()
    explanation = "The shared centres reconstruct the rows of all tasks."
    free_origin = True

    def subspaces(
        self, model: Model, n_features: int, n_runs: int, rows: RowSource | None = None, weights: PerRow = None,
        prepared: Prepared = None,
    ) -> list[Subspace] | None:  # fmt: skip
        """None where the subspace has room for all shared centres, so that M Wᵀ = Z whatever they are."""
        spans = model.n_components >= min(model.n_clusters, n_features)
        return None if spans else [leading_subspace] * n_runs

    def energy_basis(self, W: Array | None) -> Array | None:
        """Count all energy."""
        return None

    def complete(self, centers: Centers, n_components: int) -> Centers:
        """Return centres with W and M."""
        if centers.W is not None:
            return centers
        pairs = zip(centers.Q, centers.Z, strict=True)
        W = np.stack([leading_subspace(Q, Z, n_components) for Q, Z in pairs])
        return replace(centers, W=W, M=centers.Z @ W)


def leading_subspace(Q: Array, Z: Array, n_components: int) -> Array:
    """Compute W = the l leading eigenvectors of the between-cluster scatter QᵀQ, Q = (PᵀVP)^(−1/2) PᵀVX."""
    U, sizes, _ = np.linalg.svd(Q.T, full_matrices=False)
    rank = int(np.sum(sizes > max(Q.shape) * np.finfo(np.float64).eps * sizes[0])) if sizes[0] > 0 else 0
    return complete(fix_signs(U[:, : min(rank, n_components)]), n_components, Z)


DENSE = 300  # up to this order the eigenproblem is solved densely
EPS = float(np.finfo(np.float64).eps)
MAX_ORDER = 20_000  # of the dense eigenproblem
NO_COUPLING = 1e-4  # a shared term with a smaller share of the data's energy moves nothing


class Projection(Coupling):
    """The subspace in which clusters are tight. On most data it can be one in which nothing varies."""

    name = "projection"
    supports = Capabilities(dask=False, gpu=False, offsets=False, missing=False, task_shares=False, max_order=MAX_ORDER)
    explanation = "The rows of all tasks are compared with the shared centres in the shared subspace only."
    own_threads = False  # most of the work is eigenproblems
    n_init = 1  # each start costs an eigenproblem of the size of the data per stage

    def prepare(self, rows: RowSource) -> Span:
        """Return the span of the data."""
        return span_of(rows.take(None))

    def subspaces(
        self, model: Model, n_features: int, n_runs: int, rows: RowSource | None = None, weights: PerRow = None,
        prepared: Span | None = None,
    ) -> list[Subspace] | None:  # fmt: skip
        """Return the smallest eigenvectors of S_w for the weights of a stage."""
        assert rows is not None
        assert prepared is not None
        scatters = rows.apply(partial(_scatters, span=prepared), weights)[-1]
        scatters = scatters if len(scatters) == n_runs else scatters * n_runs
        return [partial(subspace_of_projection, span=prepared, scatter=scatter) for scatter in scatters]

    def energy_basis(self, W: Array | None) -> Array | None:
        """Return the energy of a row is that in the subspace."""
        return W

    def fault(self, model: Model, rows: RowSource, state: State, prepared: Span) -> str | None:
        """Tell whether the subspace carries no energy, or leaves no residual, so that it couples nothing."""
        inside, residual = energy_shares(model, rows, state, prepared)
        if min(inside, residual) >= NO_COUPLING or np.min(model.sharing.within) == 1:
            return None
        what = "carries no energy" if inside < NO_COUPLING else "leaves no residual"
        return (
            f"coupling='projection': the shared subspace {what} ({inside:.0e} of the data's energy lies in it, "
            f"{residual:.0e} of that is residual), so it does not couple the tasks. coupling='reconstruction' does."
        )


def energy_shares(model: Model, rows: RowSource, state: State, span: Span) -> tuple[float, float]:
    """At the best W for the final memberships of one run: its share of the energy, and what share of it is residual."""
    weights = state.weights
    found = rows.apply(partial(totals, membership=model.membership, n_clusters=model.n_clusters), state.Ps, weights)[-1]
    subspaces = model.coupling.subspaces(model, rows.n_features, 1, rows, weights, span)
    centers = update(model, found, state.centers, rows.origins, subspaces).take("R", 0)
    energy, inside, residual = rows.apply(partial(_energies, model=model, centers=centers), state.Ps, weights)[-1]
    return float(inside / energy) if energy else 0.0, float(residual / inside) if inside else 0.0


def _energies(place: Place, Ps: list[Array], weights: list[Weight], *, model: Model, centers: Centers) -> tuple[Array]:
    """Return the energy of the rows, what of it lies in the subspace, and the residual there."""
    found = np.zeros(3)
    for block, P, weight in zip(place.blocks, Ps, weights, strict=True):
        XW, w = block.X[:] @ centers.W, weight.w[0]
        residual = XW - model.membership.fitted(P[0], np.asarray(centers.M))
        found += [w @ block.sq, np.sum(w[:, None] * XW**2), np.sum(w[:, None] * residual**2)]
    return (found,)


def _scatters(place: Place, weights: list[Weight], *, span: Span) -> tuple[list[TotalScatter]]:
    """Compute S_t of each run, or one where all runs have the same weights."""
    runs = range(weights[0].w.shape[0])
    return ([span.scatter(place.blocks, [weight.w[run] for weight in weights]) for run in runs],)


@dataclass(frozen=True)
class TotalScatter:
    """S_t = XᵀVX in the coordinates of a span, vectors · diag(values) · vectorsᵀ; `vectors` None: they are the axes."""

    values: Array  # (r,)
    vectors: Array | None  # (r, r)

    def inward(self, Q: Array) -> Array:
        """Return coordinates along the eigenvectors."""
        return Q if self.vectors is None else self.vectors.T @ Q

    def outward(self, Q: Array) -> Array:
        """And back."""
        return Q if self.vectors is None else self.vectors @ Q


@dataclass(frozen=True)
class Span:
    """An orthonormal basis of the span of the data.

    With fewer features than rows, `rows` is None and scatters are taken in feature space; otherwise `rows` holds the
    coordinates of the rows.
    """

    basis: Array  # (d, r)
    rows: Array | None  # (n, r)

    def scatter(self, blocks: list[Block], weights: list[Array]) -> TotalScatter:
        """Get the total scatter of rows with weights w = u v; without weights the basis is its eigenvectors already."""
        if self.rows is not None:
            total = self.rows.T @ (np.concatenate(weights)[:, None] * self.rows)
        else:
            grams = [_gram(b.X, w) for b, w in zip(blocks, weights, strict=True)]
            total = self.basis.T @ sum(grams) @ self.basis
        diagonal = np.diag(total)
        if np.abs(total - np.diag(diagonal)).max(initial=0) <= 1e-13 * np.abs(diagonal).max(initial=0):
            return TotalScatter(np.maximum(diagonal, 0), None)
        values, vectors = np.linalg.eigh(total)
        return TotalScatter(np.maximum(values, 0), vectors)


def span_of(blocks: list[Block]) -> Span:
    """Return the span of all rows, from the smaller of the two Gram matrices."""
    n, d = sum(b.X.shape[0] for b in blocks), blocks[0].X.shape[1]
    if d <= n:
        values, vectors = np.linalg.eigh(sum(_gram(b.X, np.ones_like(b.u)) for b in blocks))
        return Span(vectors[:, values > n * EPS * values[-1]], None)
    Xs = [b.X[:].astype(np.float64) for b in blocks]
    values, vectors = np.linalg.eigh(np.block([[dense(a @ b.T) for b in Xs] for a in Xs]))
    kept = values > d * EPS * values[-1]
    root, U = np.sqrt(values[kept]), vectors[:, kept]
    parts = np.split(U, np.cumsum([X.shape[0] for X in Xs])[:-1])
    XtU = sum(X.T @ part for X, part in zip(Xs, parts, strict=True))
    # Dividing by a small root costs orthogonality; QR restores it and R carries the coordinates over.
    basis, R = np.linalg.qr(XtU / root)
    return Span(basis, (U * root) @ R.T)


def subspace_of_projection(Q: Array, Z: Array, n_components: int, *, span: Span, scatter: TotalScatter) -> Array:
    """W = the l smallest eigenvectors of the within-cluster scatter S_w = S_t − S_b (eq. 25), in the span of the data.

    Ties at the cut are broken towards larger between-cluster scatter: otherwise the null space of S_w, which text
    always has, would be left to rounding.
    """
    if not span.basis.shape[1]:  # nothing but zeros
        return complete(span.basis, n_components, Z)
    between = scatter.inward(span.basis.T @ Q.T)
    chosen = smallest(scatter.values, between, min(n_components, len(between)))
    return complete(fix_signs(span.basis @ scatter.outward(chosen)), n_components, Z)


def smallest(values: Array, Q: Array, l: int) -> Array:
    """Return the l smallest eigenvectors of diag(values) − QQᵀ ≥ 0, ties at the cut broken towards larger QQᵀ."""
    if len(values) <= max(DENSE, 4 * l):
        return _smallest_dense(values, Q, l)
    return _smallest_structured(values, Q, l)


def _smallest_dense(values: Array, Q: Array, l: int) -> Array:
    within, vectors = linalg.eigh(np.diag(values) - Q @ Q.T)
    tie = np.abs(within - within[l - 1]) <= len(values) * EPS * values.sum()
    below, tied = vectors[:, (within < within[l - 1]) & ~tie], vectors[:, tie]
    return np.hstack([below, _leading(tied, Q)[:, : l - below.shape[1]]])


def _smallest_structured(values: Array, Q: Array, l: int) -> Array:
    """Get the same in O(r c) a step: Woodbury's formula inverts diag(D) − qqᵀ, Lanczos finds what the inverse enlarges.

    The null space is known beforehand: the axes where `values` is 0, on which Q is 0 too, and D⁻¹q y for the y with
    (I − qᵀD⁻¹q) y = 0, along which clusters leave no residual. The latter have between-cluster scatter and come first.
    """
    floor = len(values) * EPS * values.sum()
    live = np.flatnonzero(values > floor)
    D, q = values[live], Q[live]
    scaled = q / D[:, None]
    kappa, Y = np.linalg.eigh(np.eye(q.shape[1]) - q.T @ scaled)
    candidates = scaled @ Y
    exact = kappa * (1 - kappa) <= floor * np.sum(candidates**2, axis=0)
    null = _leading(np.linalg.qr(candidates[:, exact])[0], q)
    chosen = np.zeros((len(values), l))
    k = min(l, null.shape[1])
    chosen[live, :k] = null[:, :k]
    dead = np.setdiff1d(np.arange(len(values)), live)[: l - k]
    chosen[dead, k + np.arange(len(dead))] = 1
    k += len(dead)
    if k < l:
        inverse = (Y[:, ~exact] / kappa[~exact]) @ Y[:, ~exact].T

        def solve(x: Array) -> Array:
            x = x.ravel() - null @ (null.T @ x.ravel())
            y = x / D + scaled @ (inverse @ (scaled.T @ x))
            return y - null @ (null.T @ y)

        operator = LinearOperator((len(D), len(D)), matvec=solve, dtype=np.float64)
        start = np.random.default_rng(0).normal(size=len(D))
        chosen[live, k:] = eigsh(operator, k=l - k, which="LA", v0=start)[1][:, ::-1]
    return chosen


def _leading(basis: Array, Q: Array) -> Array:
    """Return the basis turned so that the directions of largest QQᵀ come first."""
    order = np.linalg.svd(basis.T @ Q, full_matrices=True)[0]
    return basis @ order


def _gram(X: Matrix, w: Array) -> Array:
    """Compute XᵀVX, by pieces."""
    total = 0
    for part in pieces(X):
        rows = _scale_rows(rows_at(X, part).astype(np.float64), np.sqrt(w[part], dtype=np.float64))
        total = total + rows.T @ rows
    return dense(total)


def _scale_rows(X: Matrix, w: Array) -> Matrix:
    return X.multiply(w[:, None]).tocsr() if hasattr(X, "tocsr") else X * w[:, None]


COUPLINGS: dict[str, Coupling] = {coupling.name: coupling for coupling in (Reconstruction(), Projection())}
