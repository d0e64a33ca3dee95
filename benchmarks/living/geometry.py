"""Data sets without a common column: how often their clusters are matched right, matched wrong, or not matched.

    python -m benchmarks.living.geometry

Thresholds were looked at on the seeds of `CHOOSING`; what is told is of those of `REPORTING`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mtcluster import SPMTC

CHOOSING, REPORTING = 0, 10_000
N_SETS = 20
NUMBERS = (3, 4, 5, 6)
# what the second data set is → how it should be matched
KINDS = {
    "turned": "the same clusters, turned into other columns",
    "rescaled": "the same, in units 1000 times as large, with other shares of the clusters",
    "moved": "the same, each centre moved by as much as a cluster is wide",
    "projected": "the same, seen in half of the dimensions",
    "fewer": "the same but one cluster, which is known (n_clusters_per_task)",
    "unrelated": "other clusters",
    "symmetric": "the corners of a simplex, in both",
    "none": "one cloud without clusters, in both",
}
RIGHT = ("turned", "rescaled", "moved", "projected", "fewer")


def two_views(kind: str, c: int, seed: int) -> tuple[dict[str, Any], list[Any], dict[str, int]]:
    """Two data sets without a common column, the clusters of their rows, and how many clusters each has."""
    rng = np.random.default_rng([seed, c, list(KINDS).index(kind)])
    q, width = int(rng.integers(3, 8)), float(rng.choice([4.0, 6.0]))
    Z = rng.normal(size=(c, q)) * width
    if kind == "symmetric":
        Z, q = np.eye(c) * 2 * width, c
    if kind == "none":
        Z = np.zeros((c, q))
    other = rng.normal(size=Z.shape) * width if kind == "unrelated" else Z
    if kind == "moved":
        other = Z + rng.normal(size=Z.shape)
    if kind == "projected":
        other = (Z @ _turned(rng, q, q))[:, : (q + 1) // 2]
    held = c - 1 if kind == "fewer" else c
    alike = np.ones(c) / c
    shares = rng.dirichlet(np.full(held, 3.0)) if kind == "rescaled" else np.ones(held) / held
    first, y = _view(rng, Z, int(rng.choice([100, 300])), alike)
    second, z = _view(rng, other[:held], int(rng.choice([100, 300])), shares)
    unit = 1000 if kind == "rescaled" else 1
    return {"first": first, "second": unit * second}, [y, z], {"first": c, "second": held}


def _view(rng: np.random.Generator, Z: Any, n: int, shares: Any) -> tuple[Any, Any]:
    """Rows around centres, in some more columns than the centres have."""
    q = Z.shape[1]
    y = np.concatenate([np.arange(len(Z)), rng.choice(len(Z), size=n - len(Z), p=shares)])
    d = q + int(rng.integers(0, 6))
    return Z[y] @ _turned(rng, q, d) + rng.normal(size=(n, d)), y


def _turned(rng: np.random.Generator, q: int, d: int) -> Any:
    """(q, d) orthonormal rows."""
    return np.linalg.qr(rng.normal(size=(d, d)))[0][:q]


def tried(kind: str, c: int, seed: int) -> dict[str, Any]:
    """One pair of data sets: whether it was matched, and whether that is right."""
    X, y, numbers = two_views(kind, c, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        per_task = numbers if kind == "fewer" else None
        model = SPMTC(c, match="geometry", n_clusters_per_task=per_task, random_state=0).fit(X)
    [found] = model.matching_
    labels = np.split(model.labels_, [len(y[0])])
    best = dict(found.pairs.tolist())
    right = all(best.get(_most(labels[0][y[0] == j])) == _most(labels[1][y[1] == j]) for j in range(numbers["second"]))
    return {
        "kind": kind,
        "clusters": c,
        "seed": seed,
        "held": found.held,
        "right": right,
        "evidence": found.evidence,
        "stability": found.stability,
    }


def _most(labels: Any) -> int:
    return int(np.bincount(labels).argmax())


def measured(first: int = REPORTING, n_sets: int = N_SETS) -> list[dict[str, Any]]:
    """All kinds and numbers of clusters."""
    return [tried(kind, c, first + i) for kind in KINDS for c in NUMBERS for i in range(n_sets)]


def section(found: list[dict[str, Any]]) -> str:
    """A Markdown section."""
    lines = [
        "## Data sets without a common column",
        "",
        'Two generated data sets, `match="geometry"`, 3 to 6 clusters; per cent of the pairs. The last columns: the '
        "best matching is right, taken or not; samples of the rows alone would have taken a wrong one.",
        "",
        "| the second data set | matched right | matched wrong | declined | best is right | wrong by samples alone |",
        "|---|---|---|---|---|---|",
    ]
    for kind, title in KINDS.items():
        rows = [row for row in found if row["kind"] == kind]
        meant = kind in RIGHT
        right = np.array([row["right"] and meant for row in rows])
        held = np.array([row["held"] for row in rows])
        steady = np.array([row["stability"] >= 0.9 for row in rows])
        values = [held & right, held & ~right, ~held, right, steady & ~right]
        lines.append(f"| {title} | {' | '.join(f'{100 * value.mean():.0f}' for value in values)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(section(measured()))
