"""SPMTC as the paper writes it, in dense NumPy.

Examples are columns, tasks are looped over, and W comes from a whole dense eigen-decomposition of a d × d matrix in
every inner iteration. Diagonal matrices V are applied as scalings of rows and columns, the only optimisation: as full
matrices each would cost another n × n product. The inverse that is missing from the printed W-step is included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WARMUP_ITERATIONS = 20
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Model:
    """The unknowns of the paper, except V."""

    W: Array  # d × l
    M: Array  # l × c
    Ms: list[Array]  # d × c each
    Ps: list[Array]  # n_k × c each


def columns_by_task(X: Any, tasks: NDArray[Any]) -> list[Array]:
    """X^(k), dense, d × n_k."""
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return [np.ascontiguousarray(dense[tasks == task].T) for task in np.unique(tasks)]


def first_model(Xs: list[Array], n_clusters: int, n_components: int, seed: int = 0) -> Model:
    """Random memberships; W and the centres are set by the first iteration's updates."""
    rng = np.random.default_rng(seed)
    d = Xs[0].shape[0]
    Ps = [rng.uniform(0.1, 1.0, size=(X.shape[1], n_clusters)) for X in Xs]
    return Model(
        np.eye(d, n_components), np.zeros((n_components, n_clusters)), [np.zeros((d, n_clusters))] * len(Xs), Ps
    )


def update_m(Xs: list[Array], vs: list[Array], model: Model) -> Model:
    """Eq. 16: M = Wᵀ X V Vᵀ P (Pᵀ V Vᵀ P)⁻¹."""
    X, v, P = np.hstack(Xs), np.concatenate(vs), np.vstack(model.Ps)
    VVP = (v * v)[:, None] * P
    return replace(model, M=model.W.T @ X @ VVP @ np.linalg.pinv(P.T @ VVP))


def update_mk(Xs: list[Array], vs: list[Array], model: Model) -> Model:
    """Eq. 18: M^(k) = X^(k) V Vᵀ P (Pᵀ V Vᵀ P)⁻¹."""
    Ms = []
    for X, v, P in zip(Xs, vs, model.Ps, strict=True):
        VVP = (v * v)[:, None] * P
        Ms.append(X @ VVP @ np.linalg.pinv(P.T @ VVP))
    return replace(model, Ms=Ms)


def update_pk(Xs: list[Array], vs: list[Array], model: Model, within_weight: float) -> Model:
    """Eq. 22: the multiplicative update of P^(k); 0/0, at an example that is not selected, is 1."""
    Ps = []
    for X, v, P, Mk in zip(Xs, vs, model.Ps, model.Ms, strict=True):
        vv = (v * v)[:, None]
        A = within_weight * vv * (X.T @ Mk) + (1 - within_weight) * vv * (X.T @ model.W @ model.M)
        B = within_weight * Mk.T @ Mk + (1 - within_weight) * model.M.T @ model.M
        above = (np.abs(A) + A) / 2 + vv * P @ ((np.abs(B) - B) / 2)
        below = (np.abs(A) - A) / 2 + vv * P @ ((np.abs(B) + B) / 2)
        Ps.append(P * np.sqrt((above + TINY) / (below + TINY)))
    return replace(model, Ps=Ps)


def update_w(Xs: list[Array], vs: list[Array], model: Model) -> Model:
    """Eq. 25: the l smallest eigenvectors of X V (I − Vᵀ P (Pᵀ V Vᵀ P)⁻¹ Pᵀ V) Vᵀ Xᵀ."""
    X, v, P = np.hstack(Xs), np.concatenate(vs), np.vstack(model.Ps)
    VP = v[:, None] * P
    residual = np.eye(len(v)) - VP @ np.linalg.pinv(VP.T @ VP) @ VP.T
    scatter = (X * v) @ residual @ (X * v).T
    return replace(model, W=np.linalg.eigh(scatter)[1][:, : model.W.shape[1]])


def iterate(Xs: list[Array], vs: list[Array], model: Model, within_weight: float, iterations: int) -> Model:
    """Step 2: M, M^(k), P^(k), W in the paper's order."""
    for _ in range(iterations):
        model = update_m(Xs, vs, model)
        model = update_mk(Xs, vs, model)
        model = update_pk(Xs, vs, model, within_weight)
        model = update_w(Xs, vs, model)
    return model


def losses(X: Array, model: Model, k: int, within_weight: float) -> Array:
    """L of eq. 9, for each example of task k."""
    within = np.sum((X - model.Ms[k] @ model.Ps[k].T) ** 2, axis=0)
    across = np.sum((model.W.T @ X - model.M @ model.Ps[k].T) ** 2, axis=0)
    return within_weight * within + (1 - within_weight) * across


def soft_weights(L: Array, fraction: float) -> Array:
    """Step 1, eq. 13, with γ = λ2/2 and λ2 such that the given fraction of the task is selected."""
    upper = np.quantile(L, fraction) * (1 + 1e-9) + TINY
    return np.clip(upper / 2 / np.maximum(L, TINY) - 0.5, 0, 1)


def spmtc(
    Xs: list[Array], n_clusters: int, n_components: int, within_weight: float, *, max_iter: int = 50, seed: int = 0
) -> list[NDArray[np.intp]]:
    """Algorithm 1: half of each task first, then a tenth more per stage; returns the clusters of each task."""
    model = first_model(Xs, n_clusters, n_components, seed)
    model = iterate(Xs, [np.ones(X.shape[1]) for X in Xs], model, within_weight, WARMUP_ITERATIONS)
    for fraction in np.arange(0.5, 1.01, 0.1):
        vs = [soft_weights(losses(X, model, k, within_weight), min(fraction, 1.0)) for k, X in enumerate(Xs)]
        model = iterate(Xs, vs, model, within_weight, max_iter)
    return [np.argmax(P, axis=1) for P in model.Ps]
