"""The model as the paper writes it, row by row and with dense matrices: slow, plain, and independent of the library.

Only NumPy, no shared code. Examples are rows; `tasks` is a list of arrays.
"""

import numpy as np


def loss(x, p, Mk, M, W, lam, coupling):
    within = np.sum((x - p @ Mk) ** 2)
    across = np.sum((x - p @ M @ W.T) ** 2) if coupling == "reconstruction" else np.sum((x @ W - p @ M) ** 2)
    return lam * within + (1 - lam) * across


def losses(Xs, Ps, Ms, M, W, lam, coupling):
    return [
        np.array([loss(x, p, Mk, M, W, lam, coupling) for x, p in zip(X, P, strict=True)])
        for X, P, Mk in zip(Xs, Ps, Ms, strict=True)
    ]


def weighted_centers(X, P, v):
    V = np.diag(v)
    return np.linalg.inv(P.T @ V @ P) @ P.T @ V @ X


def subspace(Xs, Ps, vs, l, coupling):
    X, P, V = np.vstack(Xs), np.vstack(Ps), np.diag(np.concatenate(vs))
    between = X.T @ V @ P @ np.linalg.inv(P.T @ V @ P) @ P.T @ V @ X
    if coupling == "reconstruction":
        return np.linalg.eigh(between)[1][:, ::-1][:, :l]
    return np.linalg.eigh(X.T @ V @ X - between)[1][:, :l]


def membership_row(x, p, Mk, M, W, lam, membership, coupling):
    c = len(p)
    if membership == "binary":
        options = np.eye(c)
        return options[np.argmin([loss(x, q, Mk, M, W, lam, coupling) for q in options])]
    a = lam * x @ Mk.T + (1 - lam) * x @ W @ M.T
    B = lam * Mk @ Mk.T + (1 - lam) * M @ M.T
    new = np.empty(c)
    for j in range(c):
        up, down = max(a[j], 0), max(-a[j], 0)
        for i in range(c):
            up += p[i] * max(-B[i, j], 0)
            down += p[i] * max(B[i, j], 0)
        new[j] = p[j] * np.sqrt(up / down)
    return new


def alternate(Xs, Ps, vs, lam, l, coupling, membership, n_iter):
    """n_iter rounds of (W, M), M_k, P; rows of weight 0 keep their memberships. Returns what the rounds end with."""
    trace = []
    for _ in range(n_iter):
        W = subspace(Xs, Ps, vs, l, coupling)
        M = weighted_centers(np.vstack(Xs), np.vstack(Ps), np.concatenate(vs)) @ W
        Ms = [weighted_centers(X, P, v) for X, P, v in zip(Xs, Ps, vs, strict=True)]
        Ps = [
            np.array(
                [
                    membership_row(x, p, Mk, M, W, lam, membership, coupling) if weight > 0 else p
                    for x, p, weight in zip(X, P, v, strict=True)
                ]
            )
            for X, P, v, Mk in zip(Xs, Ps, vs, Ms, strict=True)
        ]
        Ls = losses(Xs, Ps, Ms, M, W, lam, coupling)
        trace.append(sum(float(v @ L) for v, L in zip(vs, Ls, strict=True)))
    return W, M, Ms, Ps, Ls, trace


def hard_weights(L, fraction):
    """The easiest rows, so many that they are at least the fraction."""
    if fraction == 1:
        return np.ones(len(L))
    threshold = sorted(L)[int(np.ceil(round(fraction * len(L), 9))) - 1]
    return np.array([1.0 if value <= threshold else 0.0 for value in L])


def soft_weights(L, fraction):
    """The paper's rule: λ2 just above the quantile, γ = λ2 / 2."""
    lam2 = sorted(L)[int(np.ceil(round(fraction * len(L), 9))) - 1] * (1 + 1e-6)
    gamma = lam2 / 2
    v = []
    for value in L:
        if value <= gamma * lam2 / (gamma + lam2):
            v.append(1.0)
        elif value >= lam2:
            v.append(0.0)
        else:
            v.append(gamma / value - gamma / lam2)
    return np.array(v)


def spmtc(Xs, Ps, *, lam, l, coupling, membership, rule, fractions, warmup_iter, max_iter):
    """Algorithm 1 with fixed numbers of iterations."""
    ones = [np.ones(len(X)) for X in Xs]
    *_, Ps, Ls, trace = alternate(Xs, Ps, ones, lam, l, coupling, membership, warmup_iter)
    traces, weights = [trace], []
    for fraction in fractions:
        vs = [rule(L, fraction) for L in Ls]
        W, M, Ms, Ps, Ls, trace = alternate(Xs, Ps, vs, lam, l, coupling, membership, max_iter)
        traces.append(trace)
        weights.append(vs)
    return W, M, Ms, traces, weights
