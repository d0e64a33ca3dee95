"""The pages of the paper's benchmark: tables of numbers, and the same numbers in sentences.

Pages say what the rows say and nothing else; interpretation is written by hand, beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .methods import PAPER_TOL
from .pages import Grid, Part, Picture, Text
from .results import Agreement, Cell, Column, agreement, cells, comparable, group, mean, published, select
from .runs import Row

PROTOCOLS = {
    "paper": "the paper's protocol: non-negative memberships from random starts, λ1 and l chosen with the labels",
    "honest": "the protocol without labels: every method with its defaults",
}
VIEWS = {"raw": "raw counts", "tfidf": "sublinear TF-IDF, unit rows"}


def tables(rows: Sequence[Row], command: str) -> list[Part]:
    """Every table."""
    stops = ", ".join(f"{tol:g} ({method})" for method, tol in PAPER_TOL.items())
    parts: list[Part] = [
        Text("The paper's evaluation, compared with its published numbers", 1),
        Text(f"Made by: {command}. Versions: {', '.join(sorted({row.versions for row in rows}))}."),
        Text(
            "ACC and NMI are in per cent, means and standard deviations over runs; Δ is ours minus the paper's. "
            "Bold: the best of a column and what a t-test at 5 % does not distinguish from it. NMI is normalised by "
            "the arithmetic mean of the entropies. Joint is the accuracy under one matching of clusters and classes "
            "for all tasks of a set. SC is normalised spectral clustering with cosine affinity. Under the paper's "
            f"protocol an inner loop stops after 50 iterations or at a relative decrease of {stops}. With the "
            "reconstruction coupling all l ≥ c are the same model, which is computed once."
        ),
    ]
    for protocol, what in PROTOCOLS.items():
        for features, view in VIEWS.items():
            parts += _comparison(rows, protocol, features, f"{view.capitalize()}, {what}")
    for chapter in (_normalisation, _projection, _sensitivity, _tolerance, _noise, _time):
        parts += chapter(rows)
    return parts


def summary(rows: Sequence[Row]) -> list[Part]:
    """What the command prints: ACC and the paper's, with stars at the best and comparable methods."""
    parts: list[Part] = []
    for protocol, features in (("paper", "raw"), ("honest", "tfidf")):
        parts += _comparison(
            rows, protocol, features, f"{VIEWS[features].capitalize()}, {PROTOCOLS[protocol]}", ("acc",)
        )
    return parts


def _comparison(
    rows: Sequence[Row], protocol: str, features: str, title: str, metrics: Sequence[str] = ("acc", "nmi")
) -> list[Part]:
    table = cells(rows, protocol, features)
    if not table:
        return []
    parts: list[Part] = [Text(title, 2), *_agreement(rows, protocol, features)]
    order = list(dict.fromkeys(column[0] for _, column in published()))
    found = {column[0] for own in table.values() for column in own}
    for data_set in [s for s in order if s in found] + sorted(found - set(order)):
        columns = sorted({column for own in table.values() for column in own if column[0] == data_set})
        for metric in metrics:
            parts += [Text(f"{data_set}, {metric.upper()}", 3), _grid(table, columns, metric)]
    return parts


def _grid(table: dict[str, dict[Column, Cell]], columns: list[Column], metric: str) -> Grid:
    paper = published()
    header = ["method"]
    for _, task in columns:
        header += [f"task {task}", "paper", "Δ"]
    header += ["joint", "λ1", "l"]
    lines, bold = [], set()
    best = {column: comparable(table, column, metric) for column in columns}
    for i, (method, own) in enumerate(table.items()):
        line = [method]
        for j, column in enumerate(columns):
            cell = own.get(column)
            if cell is None:
                line += ["", "", ""]
                continue
            value = cell.mean(metric)
            theirs = paper.get((method, column), {}).get(metric)
            line.append(f"{value:.1f} ± {cell.std(metric):.1f}")
            line += [f"{theirs:.1f}", f"{value - theirs:+.1f}"] if theirs is not None else ["", ""]
            if method in best[column]:
                bold.add((i, 1 + 3 * j))
        first = next(iter(own[column] for column in columns if column in own))
        joint = np.mean([own[column].mean("joint") for column in columns if column in own])
        weight, l = first.within_weight, first.n_components
        line += [f"{joint:.1f}", f"{weight:.2f}" if weight >= 0 else "", str(l) if l > 0 else ""]
        lines.append(line)
    return Grid(header, lines, bold)


def _agreement(rows: Sequence[Row], protocol: str, features: str) -> list[Part]:
    table = cells(rows, protocol, features)
    acc, nmi = agreement(table, "acc"), agreement(table, "nmi")
    lines = [
        [
            m,
            str(a.n),
            str(a.within_4),
            str(a.reached),
            str(a.above_all),
            str(nmi[m].above_all),
            f"{np.mean(list(a.differences.values())):+.1f}",
        ]
        for m, a in acc.items()
    ]
    header = [
        "method",
        "columns",
        "ACC within 4",
        "ACC ≥ paper − 2",
        "ACC above all of the paper's",
        "NMI above all",
        "mean Δ ACC",
    ]
    return [Grid(header, lines)]


def _normalisation(rows: Sequence[Row]) -> list[Part]:
    main = select(rows, study="main")
    if not main:
        return []
    gaps = np.array([row.nmi_geometric - row.nmi for row in main])
    text = (
        f"Normalised by the geometric mean instead, the NMI of a run changes by {np.mean(gaps):+.2f} points on "
        f"average, at least by {gaps.min():+.1f} and at most by {gaps.max():+.1f}."
    )
    return [Text("The normalisation of NMI", 2), Text(text)]


def _projection(rows: Sequence[Row]) -> list[Part]:
    own = select(rows, study="projection")
    if not own:
        return []
    lines = []
    for (data_set, method), part in group(own, "data_set", "method").items():
        line = [str(data_set), str(method)]
        for weight in (0.05, 0.5, 0.95):
            for l in (2, 16):
                runs = select(part, within_weight=weight, n_components=l)
                line.append(" / ".join(f"{mean(r, 'acc'):.1f}" for r in group(runs, "task").values()) if runs else "")
        lines.append(line)
    header = ["set", "method", *(f"λ1 {w}, l {l}" for w in (0.05, 0.5, 0.95) for l in (2, 16))]
    text = "The paper's own W-step on raw counts: ACC of each task."
    return [Text("Projection coupling", 2), Text(text), Grid(header, lines)]


def _sensitivity(rows: Sequence[Row]) -> list[Part]:
    parts: list[Part] = []
    own = select(rows, study="subspace")
    if own:
        lines = [
            [str(s), str(m), str(l), f"{mean(part, 'acc'):.1f}", f"{mean(part, 'nmi'):.1f}"]
            for (s, m, l), part in group(own, "data_set", "method", "n_components").items()
        ]
        text = "Raw counts, λ1 = 0.5, means over tasks; l up to the number of clusters."
        parts += [Text("Sensitivity to l", 2), Text(text), Grid(["set", "method", "l", "ACC", "NMI"], lines)]
        parts += [Picture("figures/subspace.png", "ACC and NMI by the dimension of the subspace")]
    if select(rows, study="main", protocol="paper", features="raw"):
        parts += [
            Text("Sensitivity to λ1", 2),
            Picture("figures/within_weight.png", "ACC by λ1, raw counts, mean over tasks"),
        ]
    own = select(rows, study="pace")
    if own:
        lines = [
            [
                str(s),
                str(m),
                f"{f} + {step}",
                f"{mean(part, 'acc'):.1f}",
                f"{mean(part, 'nmi'):.1f}",
                f"{mean(part, 'n_iter'):.0f}",
            ]
            for (s, m, f, step), part in group(own, "data_set", "method", "initial_fraction", "fraction_step").items()
        ]
        header = ["set", "method", "first fraction + step", "ACC", "NMI", "iterations"]
        parts += [
            Text("Sensitivity to the schedule of fractions", 2),
            Text("Raw counts, λ1 = 0.5, means over tasks."),
            Grid(header, lines),
        ]
    return parts


def _tolerance(rows: Sequence[Row]) -> list[Part]:
    own = select(rows, study="tolerance")
    if not own:
        return []
    lines = []
    for (method,), part in group(own, "method").items():
        for (tol,), runs in group(part, "tol").items():
            one = agreement(cells(runs, "paper", "raw", study="tolerance"), "acc")[str(method)]
            gap = float(np.mean(list(one.differences.values())))
            lines.append([str(method), str(tol), str(one.within_4), str(one.reached), f"{gap:+.1f}"])
    text = (
        "The paper does not give the tolerance of its stopping rule. Raw counts, five values of λ1, the best of them "
        "chosen with the labels, l = c. 0: every inner loop takes 50 iterations."
    )
    header = ["method", "tolerance", "ACC within 4", "ACC ≥ paper − 2", "mean Δ ACC"]
    return [Text("The stopping tolerance", 2), Text(text), Grid(header, lines)]


def _noise(rows: Sequence[Row]) -> list[Part]:
    own = select(rows, study="noise")
    if not own:
        return []
    levels = sorted({row.noise for row in own})
    lines = []
    for (kind, method), part in group(own, "outliers", "method").items():
        found = {level: select(part, noise=level) for level in levels}
        lines.append([str(kind), str(method), "ACC", *(f"{mean(found[level], 'acc'):.1f}" for level in levels)])
        aucs = [f"{mean(found[level], 'auc'):.3f}" if level else "" for level in levels]
        lines.append([str(kind), str(method), "AUC", *aucs])
    text = (
        "TF-IDF, defaults, means over sets and tasks. A share of each task's rows is replaced: by rows of other "
        "collections in turn (foreign), by rows of one other collection, or by rows whose counts are moved to "
        "random words (shuffled). ACC is that of the other rows, AUC that of score_samples as a detector of outliers."
    )
    grid = Grid(["outliers", "method", "", *(f"{level:.0%}" for level in levels)], lines)
    return [
        Text("Outliers", 2),
        Text(text),
        grid,
        Picture("figures/noise.png", "ACC of the other rows, and AUC, by the share of outliers"),
    ]


def _time(rows: Sequence[Row]) -> list[Part]:
    own = select(rows, study="time")
    if not own:
        return []
    paper = {"LSSMTC": "3.1", "SPMTC-h": "4.2"}
    lines = []
    for (method,), part in group(own, "method").items():
        seconds = [row.seconds for row in part]
        lines.append([str(method), f"{min(seconds):.2f}", f"{np.median(seconds):.2f}", paper.get(str(method), "")])
    text = "PEOPLEvsPLACES, raw counts, paper's protocol at λ1 = 0.5, one run after the other on one thread."
    header = ["method", "best, s", "median, s", "paper, s"]
    return [Text("Running time", 2), Text(text), Grid(header, lines)]


def findings(rows: Sequence[Row], command: str) -> list[Part]:
    """Where the numbers agree with the paper's, and where they do not."""
    parts: list[Part] = [
        Text("The paper's evaluation in short", 1),
        Text(f"Made by: {command}. All numbers are in tables.md."),
    ]
    table = cells(rows, "paper", "raw")
    acc = agreement(table, "acc")
    if acc:
        parts.append(Text("Raw counts, the paper's protocol", 2))
        parts += [Text(_sentence(method, one)) for method, one in acc.items()]
    honest = cells(rows, "honest", "tfidf")
    if honest:
        parts.append(Text("TF-IDF, no labels", 2))
        a, n = agreement(honest, "acc"), agreement(honest, "nmi")
        for method, one in a.items():
            text = f"{method}: above the paper's best number of any method in {one.above_all} of {one.n} columns in "
            parts.append(Text(text + f"ACC, in {n[method].above_all} in NMI."))
    parts += _noise_findings(rows)
    return parts


def _sentence(method: str, a: Agreement) -> str:
    far = {c: d for c, d in a.differences.items() if abs(d) > 4}
    text = f"{method}: within 4 points of the paper's ACC in {a.within_4} of {a.n} columns"
    text += f", not more than 2 below it in {a.reached}."
    if far:
        text += " Further off: " + ", ".join(f"{s} task {t} ({d:+.1f})" for (s, t), d in far.items()) + "."
    return text


def _noise_findings(rows: Sequence[Row]) -> list[Part]:
    own = [row for row in select(rows, study="noise") if row.noise in (0.0, 0.2)]
    if not own:
        return []
    parts: list[Part] = [Text("Outliers", 2)]
    for (kind,), part in group(own, "outliers").items():
        losses, aucs = [], []
        for (method,), runs in group(part, "method").items():
            clean, noisy = select(runs, noise=0.0), select(runs, noise=0.2)
            losses.append(f"{method} {mean(clean, 'acc') - mean(noisy, 'acc'):.1f}")
            aucs.append(f"{method} {mean(noisy, 'auc'):.2f}")
        text = f"20 % of the rows replaced ({kind}). Loss of the other rows, in points of ACC: {', '.join(losses)}. "
        parts.append(Text(text + f"AUC of score_samples as a detector of outliers: {', '.join(aucs)}."))
    return parts
