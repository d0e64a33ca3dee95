"""The pages of the comparison with other methods, and of the ablations.

Pages say what the rows say and nothing else; interpretation is written by hand, beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .methods import ABLATIONS, PEERS
from .pages import Grid, Part, Text
from .peers import FULL, GROUPS, METHODS
from .results import group, mean, select
from .runs import Row

Scores = dict[tuple[str, int], float]  # (data set, task) → mean over runs


def tables(rows: Sequence[Row], command: str) -> list[Part]:
    """Every table."""
    parts: list[Part] = [
        Text("Multi-task clustering compared with other methods", 1),
        Text(f"Made by: {command}. Versions: {', '.join(sorted({row.versions for row in rows}))}."),
        Text(
            "All methods get the same features and use their defaults; labels are used for scoring only. Means over "
            f"{len({row.run for row in rows})} seeds, in per cent. ACC is the mean over the tasks of a set; in the "
            "column 'mean' every task of the group counts equally. 'to best peer': difference to the best peer of the "
            "same task, chosen with the labels, at the task where it is lowest. Joint: accuracy with one matching of "
            "clusters and classes for all tasks of a set. KM: k-means, 10 starts; GMM: Gaussian mixture, diagonal; "
            "NMF: largest component (features with negative values enter twice); SC: spectral clustering, cosine; "
            "'All': on all tasks pooled, otherwise on each task alone. Seconds: one run on one thread, with other runs "
            "in parallel; the embedding of SC is computed once for all seeds."
        ),
    ]
    for name, (features, sets) in GROUPS.items():
        own = [r for r in select(rows, study="peers", features=features) if r.data_set in sets]
        if own:
            parts += [Text(_title(name), 2), _overview(own, sets), *_columns(own, name)]
    return parts + _ablation(rows)


def summary(rows: Sequence[Row]) -> list[Part]:
    """What the command prints."""
    parts: list[Part] = []
    for name, (features, sets) in GROUPS.items():
        own = [r for r in select(rows, study="peers", features=features) if r.data_set in sets]
        if own:
            parts += [Text(f"{_title(name)}, ACC"), _overview(own, sets)]
    return parts


def findings(rows: Sequence[Row], command: str) -> list[Part]:
    """The numbers in sentences."""
    parts: list[Part] = [
        Text("The comparison with other methods in short", 1),
        Text(f"Made by: {command}. All numbers are in tables.md."),
    ]
    for name, (features, sets) in GROUPS.items():
        own = [r for r in select(rows, study="peers", features=features) if r.data_set in sets]
        table = {m: _scores(select(own, method=m), "acc") for m in METHODS if select(own, method=m)}
        peers = {m: s for m, s in table.items() if m in PEERS}
        ours = [m for m in table if m not in PEERS]
        if not peers or not ours:
            continue
        best = max(peers, key=lambda m: _mean(peers[m]))
        sentence = f"Best peer on average: {best}, {_mean(peers[best]):.1f}. "
        for method in ours:
            gaps = _behind(table[method], peers)
            worst = min(gaps, key=lambda column: gaps[column])
            joint = _mean(_scores(select(own, method=method), "joint"))
            sentence += (
                f"{method}: {_mean(table[method]):.1f} ({_mean(table[method]) - _mean(peers[best]):+.1f}), joint "
                f"{joint:.1f}, {gaps[worst]:+.1f} to the best peer at its worst task ({_name(worst)}). "
            )
        parts += [Text(_title(name), 2), Text(sentence.strip())]
    return parts


def _overview(rows: Sequence[Row], sets: Sequence[str]) -> Grid:
    present = [s for s in sets if any(r.data_set == s for r in rows)]
    table = {m: _scores(select(rows, method=m), "acc") for m in METHODS if select(rows, method=m)}
    peers = {m: s for m, s in table.items() if m in PEERS}
    lines = []
    for method, scores in table.items():
        own = select(rows, method=method)
        gap = f"{min(_behind(scores, peers).values()):+.1f}" if peers else ""
        lines.append(
            [method, *(f"{v:.1f}" for v in _by_set(scores, present)), f"{_mean(scores):.1f}", gap,
             f"{_mean(_scores(own, 'nmi')):.1f}", f"{_mean(_scores(own, 'joint')):.1f}", f"{mean(own, 'seconds'):.2f}"]
        )  # fmt: skip
    bold = set()
    for j in range(1, 2 + len(present)):
        values = [float(line[j]) for line in lines]
        bold |= {(i, j) for i, value in enumerate(values) if value == max(values)}
    return Grid(["ACC", *present, "mean", "to best peer", "NMI", "joint", "seconds"], lines, bold)


def _columns(rows: Sequence[Row], name: str) -> list[Part]:
    """Every task of the group: k-means, the best peer, our methods, and the differences."""
    table = {m: _scores(select(rows, method=m), "acc") for m in METHODS if select(rows, method=m)}
    peers = {m: s for m, s in table.items() if m in PEERS}
    if "KM" not in peers or "All KM" not in peers or FULL not in table:
        return []
    ours = [m for m in table if m not in PEERS]
    lines = []
    for column in table[FULL]:
        best = max(peers, key=lambda m: peers[m][column])
        kmeans = max(peers["KM"][column], peers["All KM"][column])
        lines.append(
            [_name(column), f"{peers['KM'][column]:.1f}", f"{peers['All KM'][column]:.1f}",
             f"{peers[best][column]:.1f} ({best})", *(f"{table[m][column]:.1f}" for m in ours),
             f"{table[FULL][column] - kmeans:+.1f}", f"{table[FULL][column] - peers[best][column]:+.1f}"]
        )  # fmt: skip
    header = ["task", "KM", "All KM", "best peer", *ours, f"{FULL} − better k-means", f"{FULL} − best peer"]
    return [Text(f"{_title(name)}, task by task", 3), Grid(header, lines)]


def _ablation(rows: Sequence[Row]) -> list[Part]:
    """One decision of the defaults replaced at a time: the difference in ACC per set."""
    taken = select(rows, study="ablation")
    if not taken:
        return []
    parts: list[Part] = [
        Text("What each decision contributes", 2),
        Text(
            f"{FULL} with its defaults, then with one decision replaced: the difference in ACC, negative where the "
            "decision improves the result. 'no consensus' is the plain single fit with λ1 = 0.5. Means over "
            f"{len({r.run for r in taken})} seeds."
        ),
    ]
    for name, (features, sets) in GROUPS.items():
        full = [r for r in select(rows, study="peers", features=features, method=FULL) if r.data_set in sets]
        full = [r for r in full if r.run in {one.run for one in taken}]
        present = [s for s in sets if any(r.data_set == s for r in full)]
        if not present:
            continue
        base, joint = _scores(full, "acc"), _scores(full, "joint")
        lines = [[FULL, *(f"{v:.1f}" for v in _by_set(base, present)), f"{_mean(base):.1f}", f"{_mean(joint):.1f}"]]
        for variant in ABLATIONS:
            own = [r for r in select(taken, features=features, method=variant) if r.data_set in present]
            if not own:
                continue
            scores, joints = _scores(own, "acc"), _scores(own, "joint")
            steps = [a - b for a, b in zip(_by_set(scores, present), _by_set(base, present), strict=True)]
            lines.append(
                [variant, *(f"{v:+.1f}" for v in steps), f"{_mean(scores) - _mean(base):+.1f}",
                 f"{_mean(joints) - _mean(joint):+.1f}"]
            )  # fmt: skip
        parts += [Text(_title(name), 3), Grid(["ACC", *present, "mean", "joint"], lines)]
    return parts


def _scores(rows: Sequence[Row], metric: str) -> Scores:
    return {
        (str(data_set), int(str(task))): mean(own, metric)
        for (data_set, task), own in group(rows, "data_set", "task").items()
    }


def _mean(scores: Scores) -> float:
    return float(np.mean(list(scores.values())))


def _by_set(scores: Scores, sets: Sequence[str]) -> list[float]:
    return [float(np.mean([value for (name, _), value in scores.items() if name == one])) for one in sets]


def _behind(scores: Scores, peers: dict[str, Scores]) -> Scores:
    """Column → difference to the best peer there."""
    return {column: value - max(peer[column] for peer in peers.values()) for column, value in scores.items()}


def _title(name: str) -> str:
    return name[0].upper() + name[1:]


def _name(column: tuple[str, int]) -> str:
    return f"{column[0]} {column[1]}"
