"""The pages of the comparison with tools for integration.

Pages state what the rows contain and nothing else; interpretations are written by hand, on pages of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .generated import ABSENT, OFFSETS, PHASE, cell
from .integration import GROUPS, HARD, REACH
from .integration_methods import METHODS, OURS
from .pages import Grid, Part, Picture, Text
from .results import group, mean, select
from .runs import Row

# Column → (field, whether more is better).
SCORES = {
    "joint ACC": ("joint_rows", True),
    "ARI": ("ari", True),
    "ACC per task": ("acc", True),
    "NMI": ("nmi", True),
    "presence": ("presence", True),
    "biology": ("biology", True),
    "batch": ("batch", True),
    "AUC": ("auc", True),
    "seconds": ("seconds", False),
}
KMEANS = ("All KM", "Centred KM")
PHASE_GROUP = "phase diagram"


def tables(rows: Sequence[Row], command: str) -> list[Part]:
    """Every table."""
    parts: list[Part] = [
        Text("Tasks that lie apart, or hold different clusters", 1),
        Text(f"Made by: {command}. Versions: {', '.join(sorted({row.versions for row in rows}))}."),
        Text(
            "All methods get the number of classes of all tasks together and use their defaults; labels are used for "
            f"scoring only. Means over {len({row.run for row in rows})} seeds, in per cent; generated sets are drawn "
            "again with each seed. Joint ACC: one matching of clusters and classes for all rows. ARI: adjusted Rand "
            "index over all rows. ACC per task: a matching for each task, mean over tasks; it is high where a whole "
            "task is put into one cluster. NMI: mean over tasks. Presence: share of the pairs of a task and a class in "
            "which the method says rightly whether the task holds the class. Biology and batch: scores of "
            "scib-metrics, where it is installed, for the rows as the method brings tasks together; batch takes it for "
            "an error that tasks hold different classes. AUC: outlier scores, where there are outliers. KM: k-means, "
            "10 starts; GMM: Gaussian mixture, full covariances; tied GMM: one covariance for all clusters; both 3 "
            "starts. Without a prefix: each task alone, clusters matched afterwards; All: pooled; Centred: pooled, "
            "the mean of each task removed; Harmony: pooled after Harmony. Seconds: one run on one thread."
        ),
    ]
    for name in GROUPS:
        own = _of_group(rows, name)
        if own and name != PHASE_GROUP:
            parts += [Text(_title(name), 2), _overview(own, name)]
            parts += [part for data_set in _sets(own, name) for part in _one_set(own, data_set)]
    return parts + _phase(rows)


def summary(rows: Sequence[Row]) -> list[Part]:
    """What the command prints: joint ACC of each method on each set."""
    parts: list[Part] = []
    for name in GROUPS:
        own = _of_group(rows, name)
        if own:
            parts += [Text(f"{_title(name)}, joint ACC"), _cells(own) if name == PHASE_GROUP else _overview(own, name)]
    return parts


def findings(rows: Sequence[Row], command: str) -> list[Part]:
    """The numbers in sentences."""
    parts: list[Part] = [
        Text("The comparison with tools for integration in short", 1),
        Text(f"Made by: {command}. All numbers are in tables.md."),
    ]
    for name in GROUPS:
        own = _of_group(rows, name)
        sentences = [_best_sentence(own, data_set) for data_set in _sets(own, name) if name != PHASE_GROUP]
        if any(sentences):
            parts += [Text(_title(name), 2), *(Text(sentence) for sentence in sentences if sentence)]
    cells = _of_group(rows, PHASE_GROUP)
    verdicts = [_phase_sentence(cells, method) for method in _methods(cells) if method not in KMEANS]
    if any(verdicts):
        parts += [Text(_title(PHASE_GROUP), 2), *(Text(sentence) for sentence in verdicts if sentence)]
    return parts


def _of_group(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if GROUPS[name].get(row.data_set) == row.features]


def _methods(rows: Sequence[Row]) -> list[str]:
    return [method for method in METHODS if select(rows, method=method)]


def _sets(rows: Sequence[Row], name: str) -> list[str]:
    found = {row.data_set for row in rows}
    return [data_set for data_set in GROUPS[name] if data_set in found]


def _overview(rows: Sequence[Row], name: str) -> Grid:
    """Joint ACC, methods by sets."""
    sets = _sets(rows, name)
    lines = []
    for method in _methods(rows):
        parts = [select(rows, method=method, data_set=one) for one in sets]
        values = [mean(part, "joint_rows") if part else np.nan for part in parts]
        overall = f"{np.mean(values):.1f}" if np.isfinite(values).all() else ""
        lines.append([method, *("" if np.isnan(value) else f"{value:.1f}" for value in values), overall])
    return Grid(["joint ACC", *sets, "mean"], lines, _best(lines))


def _one_set(rows: Sequence[Row], data_set: str) -> list[Part]:
    """All scores of one set; those that no method has are left out."""
    own = select(rows, data_set=data_set)
    shown = {title: one for title, one in SCORES.items() if any(getattr(row, one[0]) >= 0 for row in own)}
    lines = []
    for method in _methods(own):
        runs = select(own, method=method)
        values = [mean(runs, field) for field, _ in shown.values()]
        lines.append([method, *(_number(value, title) for value, title in zip(values, shown, strict=True))])
    more = {j for j, (_, high) in enumerate(shown.values(), start=1) if high}
    return [Text(data_set, 3), Grid(["method", *shown], lines, {(i, j) for i, j in _best(lines) if j in more})]


def _number(value: float, title: str) -> str:
    if value < 0:
        return ""
    return f"{value:.2f}" if title in ("seconds", "AUC") else f"{value:.1f}"


def _best(lines: list[list[str]]) -> set[tuple[int, int]]:
    """The largest numbers of each column."""
    bold = set()
    for j in range(1, len(lines[0])):
        values = [float(line[j]) if line[j] else -np.inf for line in lines]
        if max(values) > -np.inf:
            bold |= {(i, j) for i, value in enumerate(values) if value == max(values)}
    return bold


def _cells(rows: Sequence[Row]) -> Grid:
    """Joint ACC, cells by methods."""
    methods, lines = _methods(rows), []
    for data_set in [cell(absent, offset) for absent in ABSENT for offset in OFFSETS]:
        own = select(rows, data_set=data_set)
        if own:
            parts = [select(own, method=method) for method in methods]
            values = [f"{mean(part, 'joint_rows'):.1f}" if part else "" for part in parts]
            lines.append([data_set + ("" if _judged(own) else " (not judged)"), *values])
    return Grid(["joint ACC", *methods], lines)


def _phase(rows: Sequence[Row]) -> list[Part]:
    own = _of_group(rows, PHASE_GROUP)
    if not own:
        return []
    return [
        Text(_title(PHASE_GROUP), 2),
        Text(
            "4 tasks of 150 rows, 6 clusters, 10 features, typical distance of clusters 6 standard deviations. Absent: "
            "share of the clusters that each task lacks. Offset: length of a shift of each task, in mean distances "
            "between clusters. A cell is judged if, in every draw, the tasks are linked by pairs that have at least "
            "two clusters in common; otherwise a shift cannot be told from what a task holds."
        ),
        Picture("figures/phase.png", "Joint accuracy by the share of absent clusters and the offset of tasks"),
        _cells(own),
        *(Text(sentence) for method in _methods(own) if (sentence := _phase_sentence(own, method)) and method in OURS),
    ]


def _judged(rows: Sequence[Row]) -> bool:
    return min(row.linked for row in rows) == 1


def _phase_sentence(rows: Sequence[Row], method: str) -> str:
    """How a method compares with the better of pooled and centred k-means, in the cells that are judged."""
    table = {
        (str(data_set), str(one)): mean(runs, "joint_rows")
        for (data_set, one), runs in group(rows, "data_set", "method").items()
        if _judged(runs)
    }
    cells = [one for one in PHASE if all((one, name) in table for name in (method, *KMEANS))]
    if not cells:
        return ""
    gaps = {one: table[one, method] - max(table[one, name] for name in KMEANS) for one in cells}
    hard = [one for one in cells if max(table[one, name] for name in KMEANS) < HARD]
    worst = min(gaps, key=lambda one: gaps[one])
    text = (
        f"{method}: at most {REACH:g} points of joint ACC below the better of pooled and centred k-means in "
        f"{sum(gap >= -REACH for gap in gaps.values())} of {len(cells)} judged cells, {gaps[worst]:+.1f} at worst "
        f"({worst})"
    )
    above = f"; above both in {sum(gaps[one] > 0 for one in hard)} of the {len(hard)} where both are below {HARD:g}"
    return text + (above if hard else "") + "."


def _best_sentence(rows: Sequence[Row], data_set: str) -> str:
    scores = {method: select(rows, method=method, data_set=data_set) for method in _methods(rows)}
    joint = {method: mean(runs, "joint_rows") for method, runs in scores.items() if runs}
    peers = {method: value for method, value in joint.items() if method not in OURS}
    if not peers:
        return ""
    best = max(peers, key=lambda method: peers[method])
    ours = ", ".join(f"{m} {value:.1f} ({value - peers[best]:+.1f})" for m, value in joint.items() if m in OURS)
    return f"{data_set}: best peer {best}, joint ACC {peers[best]:.1f}" + (f"; {ours}." if ours else ".")


def _title(name: str) -> str:
    return name[0].upper() + name[1:]
