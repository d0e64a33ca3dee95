"""Generated data with clusters and without them, of many shapes, for `python -m benchmarks.certainty`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rows = tuple[Any, Any, Any, int]  # X, y (−1: no classes), tasks, number of clusters to ask for


# ------------------------------------------------------------------------------------------------ without clusters
def _turned(d: int, rng: np.random.Generator, spread: float = 0.7) -> Any:
    return rng.normal(size=(d, d)) / np.sqrt(d) * np.exp(rng.normal(scale=spread, size=d))


def _latent(n: int, d: int, rng: np.random.Generator) -> Any:
    """Correlated normal values of variance 1."""
    factors = min(3, d)
    Z = rng.normal(size=(n, factors)) @ rng.normal(size=(factors, d)) / np.sqrt(factors) + rng.normal(size=(n, d))
    return Z / Z.std(axis=0)


def _elliptical(tasks: Any, d: int, rng: np.random.Generator) -> Any:
    return np.concatenate([rng.normal(size=(n, d)) @ _turned(d, rng) for n in np.bincount(tasks)])


def _autoregressive(n: int, d: int, rng: np.random.Generator) -> Any:
    X, rho = rng.normal(size=(n, d)), rng.uniform(0.5, 0.95)
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X


def _ball(n: int, d: int, rng: np.random.Generator) -> Any:
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


def _curve(parts: list[Any], d: int, rng: np.random.Generator) -> Any:
    X = rng.normal(scale=0.1, size=(len(parts[0]), max(d, len(parts))))
    X[:, : len(parts)] += np.stack(parts, axis=1)
    return X


def _arc(n: int, d: int, rng: np.random.Generator) -> Any:
    t = rng.uniform(0, rng.uniform(0.5, 1.8) * np.pi, size=n)
    return _curve([2 * np.cos(t), 2 * np.sin(t)], d, rng)


def _torus(n: int, d: int, rng: np.random.Generator) -> Any:
    s, t = rng.uniform(0, 2 * np.pi, size=(2, n))
    return _curve([(2 + np.cos(s)) * np.cos(t), (2 + np.cos(s)) * np.sin(t), np.sin(s)], d, rng)


def _swiss_roll(n: int, d: int, rng: np.random.Generator) -> Any:
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return _curve([t * np.cos(t) / 4, rng.uniform(0, 5, n), t * np.sin(t) / 4], d, rng)


SHAPELESS: dict[str, Callable[[Any, int, np.random.Generator], Any]] = {
    "Gaussian": lambda t, d, rng: rng.normal(size=(len(t), d)),
    "correlated": lambda t, d, rng: rng.normal(size=(len(t), d)) @ _turned(d, rng),
    "uniform": lambda t, d, rng: rng.uniform(-1, 1, size=(len(t), d)),
    "heavy tails": lambda t, d, rng: rng.normal(size=(len(t), d)) / np.sqrt(rng.chisquare(3, size=(len(t), 1)) / 3),
    "another covariance in each task": _elliptical,
    "log-normal": lambda t, d, rng: np.exp(rng.uniform(0.3, 1) * _latent(len(t), d, rng)),
    "gamma": lambda t, d, rng: (
        rng.gamma(rng.uniform(0.5, 3), size=(len(t), d)) * np.exp(0.3 * rng.normal(size=(len(t), 1)))
    ),
    "Poisson": lambda t, d, rng: rng.poisson(np.exp(0.3 * rng.normal(size=(len(t), 1)) + rng.normal(size=d))).astype(
        float
    ),
    "negative binomial": lambda t, d, rng: rng.poisson(
        rng.gamma(1.5, size=(len(t), d)) * np.exp(rng.normal(size=d)) / 1.5
    ).astype(float),
    "Likert": lambda t, d, rng: np.clip(np.round(3 + 1.1 * _latent(len(t), d, rng)), 1, 5),
    "zero-inflated": lambda t, d, rng: np.exp(0.5 * _latent(len(t), d, rng)) * (rng.random((len(t), d)) < 0.6),
    "U-shaped": lambda t, d, rng: rng.beta(0.6, 0.6, size=(len(t), d)),
    "coin tosses": lambda t, d, rng: (rng.random((len(t), d)) < rng.uniform(0.3, 0.7, size=d)).astype(float),
    "factors": lambda t, d, rng: _latent(len(t), d, rng),
    "autoregressive": lambda t, d, rng: _autoregressive(len(t), d, rng),
    "Dirichlet": lambda t, d, rng: rng.dirichlet(np.full(d, rng.uniform(0.7, 3)), size=len(t)),
    "ball": lambda t, d, rng: _ball(len(t), d, rng),
    "torus": lambda t, d, rng: _torus(len(t), d, rng),
    "arc": lambda t, d, rng: _arc(len(t), d, rng),
    "swiss roll": lambda t, d, rng: _swiss_roll(len(t), d, rng),
}


def without_clusters(shape: str, seed: int) -> Rows:
    """Draw rows of one cluster: 3 to 200 columns, 1 to 10 tasks, 60 to 2,000 rows, 2 to 8 clusters asked for."""
    rng = np.random.default_rng([seed, list(SHAPELESS).index(shape)])
    d, m = int(rng.choice([3, 5, 10, 20, 50, 200])), int(rng.integers(1, 11))
    n = int(np.exp(rng.uniform(np.log(60), np.log(2000))))
    tasks = np.sort(rng.integers(m, size=n))
    tasks = np.unique(tasks, return_inverse=True)[1]
    return SHAPELESS[shape](tasks, d, rng), np.full(n, -1), tasks, int(rng.integers(2, 9))


# ------------------------------------------------------------------------------------------------ with clusters
def apart(c: int, d: int, distance: float, rng: np.random.Generator) -> Any:
    """Draw centres of which the nearest two lie so far from each other."""
    found = rng.normal(size=(c, d))
    gaps = np.linalg.norm(found[:, None] - found, axis=2)[np.triu_indices(c, 1)]
    return found * distance / gaps.min()


STRUCTURED: dict[str, dict[str, Any]] = {
    "equal": {}, "unequal sizes": {"alpha": 0.7}, "unequal spreads": {"spread": 0.5}, "elongated": {"stretch": 3.0},
    "skewed": {"noise": "skewed"}, "t": {"noise": "t"}, "nested": {"nested": True}, "15 clusters": {"c": 15},
    "25 clusters": {"c": 25}, "few of many columns": {"idle": 30}, "latent classes": {"noise": "classes"},
    "counts": {"noise": "counts"}, "absent clusters": {"absent": 1}, "offsets": {"offset": 3.0},
    "scales": {"scale": 0.4}, "offsets and absent clusters": {"offset": 3.0, "absent": 1},
}  # fmt: skip


def with_clusters(kind: str, seed: int) -> Rows:
    """Draw clusters that lie 3 to 10 standard deviations apart, in 1 to 6 tasks."""
    rng = np.random.default_rng([seed, list(STRUCTURED).index(kind)])
    how = {"noise": "normal", "alpha": 10.0, "spread": 0.0, "stretch": 1.0, "nested": False, "idle": 0, "absent": 0,
           "offset": 0.0, "scale": 0.0, "c": int(rng.integers(3, 8))} | STRUCTURED[kind]  # fmt: skip
    d, m, c = int(rng.choice([4, 8, 15])), int(rng.integers(1, 7)), how["c"]
    m = max(m, 2) if how["absent"] or how["offset"] or how["scale"] else m
    n, distance = int(rng.integers(25, 60)) * c * m, float(rng.uniform(3, 10))
    tasks = np.sort(rng.integers(m, size=n))
    if how["nested"]:
        Z = np.concatenate([apart(2, d, distance, rng) + one for one in apart(3, d, 4 * distance, rng)])
        c = len(Z)
    else:
        Z = apart(c, d, distance, rng)
    shares = rng.dirichlet(np.full(c, how["alpha"]), size=m) + 0.02
    for k in range(1, m):
        shares[k, rng.choice(c, how["absent"], replace=False)] = 0
    y = np.array([rng.choice(c, p=shares[k] / shares[k].sum()) for k in tasks])
    if how["noise"] == "classes":  # answers of yes and no, more alike within a class
        chance = 1 / (1 + np.exp(-rng.normal(scale=distance / 3, size=(c, 4 * d))))
        return (rng.random((n, 4 * d)) < chance[y]).astype(float), y, tasks, c
    if how["noise"] == "counts":
        rates = np.exp(rng.normal(scale=distance / 8, size=(c, 3 * d)) + 1)
        return rng.poisson(rates[y]).astype(float), y, tasks, c
    E = {
        "normal": rng.normal(size=(n, d)),
        "t": rng.standard_t(4, size=(n, d)),
        "skewed": rng.exponential(size=(n, d)) - 1,
    }[how["noise"]]
    E = E * np.exp(how["spread"] * rng.normal(size=c))[y][:, None]
    E = E @ (np.linalg.qr(rng.normal(size=(d, d)))[0] * how["stretch"] ** rng.uniform(-1, 1, size=d))
    X = (Z[y] + E) * np.exp(how["scale"] * rng.normal(size=(m, d)))[tasks] + how["offset"] * rng.normal(size=(m, d))[
        tasks
    ]
    return np.c_[X, rng.normal(size=(n, how["idle"]))], y, tasks, c
