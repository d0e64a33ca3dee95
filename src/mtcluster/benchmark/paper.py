"""The protocol of the paper's evaluation, as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .methods import METHODS, SHARED
from .runs import Spec
from .views import OUTLIERS

SETS = ("COMPvsSCI", "RECvsTALK", "ORGSvsPEOPLE", "ORGSvsPLACES", "PEOPLEvsPLACES", "WebKB")
CLASSES = {"WebKB": 4, "WebKB6": 6}  # all others have two
WITHIN = tuple(round(0.05 * i, 2) for i in range(1, 20))  # λ1
COMPONENTS = (2, 4, 8, 16)  # l
NOISE = (0.0, 0.05, 0.1, 0.2, 0.3)
FEW = 3  # runs of the studies other than the main one


def distinct_components(data_set: str, components: Sequence[int] = COMPONENTS) -> list[int]:
    """Values of l that give different models: with the reconstruction coupling all l ≥ c are the same model."""
    c = CLASSES.get(data_set, 2)
    return sorted({min(l, c) for l in components})


def specs(
    *, sets: Sequence[str], methods: Sequence[str], features: Sequence[str], runs: int, quick: bool = False
) -> list[Spec]:
    """Every run of the benchmark, the timed ones last."""
    within = (0.2, 0.5, 0.8) if quick else WITHIN
    found: list[Spec] = []
    for one in features:
        found += _main(sets, methods, one, runs, within)
    shared = [m for m in SHARED if m in methods]
    few = min(runs, 2 if quick else FEW)
    if "raw" in features:
        found += _projection(sets, shared, min(runs, 1 if quick else 2), quick)
        found += _sensitivity(sets, shared, few if quick else runs)
        found += [] if quick else _tolerance(sets, shared, few)
    if "tfidf" in features:
        found += _noise(sets, shared, few, (0.0, 0.2) if quick else NOISE)
    if "raw" in features and "PEOPLEvsPLACES" in sets:
        found += [
            Spec("time", "paper", "raw", "PEOPLEvsPLACES", m, within_weight=0.5, n_components=2, run=r)
            for m in shared
            for r in range(few)
        ]
    return list(dict.fromkeys(found))


def _main(
    sets: Sequence[str], methods: Sequence[str], features: str, runs: int, within: Sequence[float]
) -> Iterator[Spec]:
    for data_set in sets:
        for method in methods:
            for run in range(runs):
                yield Spec("main", "honest", features, data_set, method, run=run)
                plain = Spec("main", "paper", features, data_set, method, run=run)
                if method not in SHARED:
                    yield plain
                    continue
                for l in distinct_components(data_set):
                    for weight in within:
                        yield replace(plain, within_weight=weight, n_components=l)


def _projection(sets: Sequence[str], methods: Sequence[str], runs: int, quick: bool) -> Iterator[Spec]:
    """The paper's own W-step: LSSMTC on all sets, the paced methods on two of them."""
    for data_set in [s for s in sets if s == "WebKB"] if quick else sets:
        for method in methods[:1] if quick else methods:
            if method != "LSSMTC" and data_set not in ("PEOPLEvsPLACES", "WebKB"):
                continue
            for weight in (0.5,) if quick else (0.05, 0.5, 0.95):
                for l in (2,) if quick or method != "LSSMTC" else (2, 16):
                    for run in range(runs if method == "LSSMTC" else 1):
                        yield Spec("projection", "paper", "raw", data_set, method, "projection", weight, l, run=run)


def _tolerance(sets: Sequence[str], methods: Sequence[str], runs: int) -> Iterator[Spec]:
    """How much depends on the stopping tolerance, which the paper does not give."""
    for data_set in sets:
        for method in methods:
            for weight in (0.05, 0.35, 0.65, 0.8, 0.95):
                for tol in (1e-4, 1e-5, 0.0):
                    for run in range(runs):
                        l = CLASSES.get(data_set, 2)
                        yield Spec(
                            "tolerance", "paper", "raw", data_set, method,
                            within_weight=weight, n_components=l, tol=tol, run=run,
                        )  # fmt: skip


def _sensitivity(sets: Sequence[str], methods: Sequence[str], runs: int) -> Iterator[Spec]:
    """Sensitivity to l at λ1 = 0.5, and to the schedule of fractions."""
    for data_set in sets:
        c = CLASSES.get(data_set, 2)
        if data_set not in ("PEOPLEvsPLACES", "WebKB"):
            continue
        for run in range(runs):
            for method in methods:
                for l in range(1, c + 1):
                    yield Spec("subspace", "paper", "raw", data_set, method, within_weight=0.5, n_components=l, run=run)
                for first, step in ((0.3, 0.1), (0.5, 0.05), (0.5, 0.1), (0.5, 0.25), (0.7, 0.1), (0.9, 0.1)):
                    if method != "LSSMTC":
                        yield Spec(
                            "pace", "paper", "raw", data_set, method, within_weight=0.5, n_components=c,
                            initial_fraction=first, fraction_step=step, run=run,
                        )  # fmt: skip


def _noise(sets: Sequence[str], methods: Sequence[str], runs: int, levels: Sequence[float]) -> Iterator[Spec]:
    """Rows replaced by outliers; estimators with their defaults, on TF-IDF."""
    for data_set in sets:
        for method in methods:
            for kind in OUTLIERS:
                for level in levels:
                    for run in range(runs):
                        yield Spec("noise", "honest", "tfidf", data_set, method, outliers=kind, noise=level, run=run)


__all__ = ["COMPONENTS", "METHODS", "NOISE", "SETS", "WITHIN", "distinct_components", "specs"]
