"""A summary as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from . import parts
from .parts import chip, esc, heat, meter, name, paragraphs, table, tag
from .words import number, percent, whole

MATRIX = 40  # tasks of the matrix of relatedness: larger ones are not read as numbers
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(summary: dict[str, Any]) -> str:
    """The page of a summary.

    Parameters
    ----------
    summary : dict
        From `mtcluster.report.summary.summarize`.

    Returns
    -------
    page : str
        HTML. What comes from the data is escaped, and the only script that may run is the page's own.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.report.summary import summarize
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, random_state=0)
    >>> page = render(summarize(SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks), title="Blobs & more"))
    >>> "<title>Blobs &amp; more</title>" in page
    True
    """
    sections = [
        ("done", "What was done", done),
        ("sizes", "Clusters by task", cluster_sizes),
        ("features", "What makes each cluster", cluster_features),
        ("map", "Map of the examples", map_section),
        ("related", "How related the tasks are", relatedness),
        ("examples", "Hardest and most outlying examples", outlying),
        ("fit", "How the fit went", fit_course),
        ("sure", "How sure we are", certainty),
        ("decisions", "What was decided, and why", decisions),
        ("next", "What to try next", advice),
    ]
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{esc(title)}</h2>{make(summary)}</section>'
        for key, title, make in sections
    )
    script = resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    filled = {
        "TITLE": esc(summary["title"]),
        "POLICY": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "STYLE": resource("style.css").replace("DARK_COLOURS", resource("dark.css")),
        "LINKS": "".join(f'<li><a href="#{key}">{esc(title)}</a></li>' for key, title, _ in sections),
        "LEAD": lead(summary),
        "BODY": body,
        "DATA": embedded(_for_script(summary)),
        "SCRIPT": script,
    }
    page = resource("page.html").split("%%")  # text, key, text, key, …: what is filled in is never searched for keys
    return "".join(filled[part] if i % 2 else part for i, part in enumerate(page))


@cache
def resource(file: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(file).read_text(encoding="utf-8")


def embedded(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it can end the element."""
    found = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, code in ESCAPES.items():
        found = found.replace(character, code)
    return found


def _for_script(summary: dict[str, Any]) -> dict[str, Any]:
    """What the page's script draws and tells."""
    shown = {key: value for key, value in summary["map"].items() if key not in ("note", "words")}
    cells = {str(row["row"]): row["cells"] for row in summary["examples"]["rows"] if row["cells"]}
    return shown | {
        "tasks": [task["name"] for task in summary["tasks"]],
        "short": [cluster["in_short"] for cluster in summary["features"]["clusters"]],
        "cells": cells,
    }


def lead(summary: dict[str, Any]) -> str:
    """The numbers that a reader wants first."""
    sure = summary["certainty"]
    tiles = [
        (whole(summary["n_rows"]), "examples"),
        (whole(summary["n_tasks"]), "tasks" if summary["n_tasks"] > 1 else "task"),
        (whole(summary["n_clusters"]), "clusters" if summary["n_clusters"] > 1 else "cluster"),
        (whole(summary["n_features"]), "features" if summary["n_features"] > 1 else "feature"),
        (sure["word"], "how sure" if sure["agreement"] is None else f"how sure ({percent(sure['agreement'])} agree)"),
    ]
    told = "".join(f"<div><dd>{esc(value)}</dd><dt>{esc(label)}</dt></div>" for value, label in tiles)
    return f'<dl class="tiles">{told}</dl>'


def done(summary: dict[str, Any]) -> str:
    """What was clustered, from where, and how."""
    overview = summary["overview"]
    parts_ = [paragraphs(overview["sentences"]), paragraphs(overview["lines"])]
    if overview["files"]:
        rows = [
            [name(file["name"]), *(f'<td class="num">{"–" if file[key] is None else whole(file[key])}</td>' for key in ("rows", "bytes"))]
            for file in overview["files"]
        ]
        parts_.append(table("Files", ["File", "Rows", "Bytes"], rows))
    most = max(task["rows"] for task in summary["tasks"])
    rows = [
        [
            name(task["name"]),
            f'<td class="num">{whole(task["rows"])}</td>',
            f'<span class="meter"><span style="width:{100 * task["rows"] / most:.1f}%"></span></span>',
        ]
        for task in summary["tasks"]
    ]
    parts_.append(table("Tasks and their sizes", ["Task", "Examples", '<th scope="col"><span class="unseen">Bar</span></th>'], rows))
    return "".join(parts_)


def cluster_sizes(summary: dict[str, Any]) -> str:
    """A table of clusters by tasks."""
    sizes, tasks = summary["sizes"], summary["tasks"]
    lacking = {(item["cluster"], item["task"]) for item in sizes["missing"]}
    rows = []
    for cluster in summary["features"]["clusters"]:
        j = cluster["cluster"]
        cells = [
            heat(
                sizes["shares"][k][j],
                f"{percent(sizes['shares'][k][j])} <small>{whole(sizes['rows'][k][j])}</small>"
                + (tag("missing") if (j, k) in lacking else ""),
            )
            for k in range(len(tasks))
        ]
        total = [f'<td class="num">{percent(cluster["share"])} <small>{whole(cluster["rows"])}</small></td>']
        rows.append([f"{chip(j)}", *cells, *(total if len(tasks) > 1 else []), f'<td class="words">{name(cluster["in_short"])}</td>'])
    head = [
        "Cluster",
        *(f'<th scope="col">{name(task["name"])}{" " + tag("left alone") if task["alone"] and len(tasks) > 1 else ""}</th>' for task in tasks),
        *(["All tasks"] if len(tasks) > 1 else []),
        "Stands out by",
    ]
    caption = "Share of each task's examples in each cluster, and how many they are"
    return paragraphs(sizes["sentences"]) + table(caption, head, rows)


def cluster_features(summary: dict[str, Any]) -> str:
    """A card a cluster."""
    if summary["n_clusters"] == 1:
        return "<p>There is one cluster, so there is nothing to compare it with.</p>"
    found = summary["features"]
    intro = (
        "<p>For each cluster: the features whose mean lies most above that of the other clusters (bars to the right) and "
        "most below (to the left), in the numbers that the fit was given. A feature with larger numbers counts more.</p>"
    )
    if found["tasks_left_out"]:
        intro += f"<p>Single tasks are shown for the largest; {found['tasks_left_out']} are left out.</p>"
    return intro + f'<div class="cards">{"".join(_card(summary, cluster) for cluster in found["clusters"])}</div>'


def _card(summary: dict[str, Any], cluster: dict[str, Any]) -> str:
    j, tasks = cluster["cluster"], summary["tasks"]
    top = f'<h3>{chip(j)} Cluster {j}</h3><p class="faint">{whole(cluster["rows"])} examples, {percent(cluster["share"])}</p>'
    if not cluster["rows"]:
        return f'<article class="card">{top}<p>No example is in this cluster.</p></article>'
    shared = parts.feature_bars(f"What makes cluster {j}, over all tasks", cluster["shared"])
    typical = "".join(f"<li>{_typical(row, tasks)}</li>" for row in cluster["typical"])
    by_task = ""
    if cluster["tasks"]:
        inner = "".join(
            f"<h4>{name(tasks[part['task']]['name'])}</h4>"
            + (
                parts.feature_bars(f"What makes cluster {j} in this task", part["features"])
                if part["rows"]
                else '<p class="faint">No examples.</p>'
            )
            for part in cluster["tasks"]
        )
        by_task = f"<details><summary>By task</summary>{inner}</details>"
    return f'<article class="card">{top}{shared}<h4>Most typical examples</h4><ul class="typical">{typical}</ul>{by_task}</article>'


def _typical(row: dict[str, Any], tasks: list[dict[str, Any]]) -> str:
    where = f' <span class="faint">in {name(tasks[row["task"]]["name"])}</span>' if len(tasks) > 1 else ""
    cells = "; ".join(f"{name(column)}: {name(cell)}" for column, cell in row["cells"].items())
    return f'{name(row["id"])}{where}{f"<br><small>{cells}</small>" if cells else ""}'


def map_section(summary: dict[str, Any]) -> str:
    """The canvas, its controls, and the map in words."""
    shown, tasks = summary["map"], summary["tasks"]
    options = "".join(f'<option value="{i}">{esc(axis["name"])}</option>' for i, axis in enumerate(shown["axes"]))
    clusters = [
        f'<label><input type="checkbox" checked data-cluster="{c["cluster"]}"><span class="dot" data-index="{c["cluster"]}"></span>'
        f"Cluster {c['cluster']}</label>"
        for c in summary["features"]["clusters"]
    ]
    boxes = [
        f'<label><input type="checkbox" checked data-task="{k}"><span class="dot" data-index="{k}"></span>{name(task["name"])}</label>'
        for k, task in enumerate(tasks)
    ]
    filled = {
        "NOTE": esc(shown["note"]),
        "OPTIONS": options,
        "AXES": "" if len(shown["axes"]) > 2 else " hidden",
        "SEVERAL": "" if len(tasks) > 1 else " hidden",
        "CLUSTERS": "".join(clusters),
        "TASKS": "".join(boxes),
        "POINTS": whole(len(shown["cluster"])),
        "WORDS": "".join(f"<li>{esc(line)}</li>" for line in shown["words"]),
    }
    page = resource("map.html").split("%%")
    return "".join(filled[part] if i % 2 else part for i, part in enumerate(page))


def relatedness(summary: dict[str, Any]) -> str:
    """The matrix with its numbers."""
    found, tasks = summary["relatedness"], summary["tasks"]
    told = paragraphs(found["sentences"])
    if len(tasks) == 1:
        return told
    shown = sorted(sorted(range(len(tasks)), key=lambda k: -tasks[k]["rows"])[:MATRIX])
    if len(shown) < len(tasks):
        told += f"<p>The {MATRIX} largest tasks are shown.</p>"
    rows = [
        [name(tasks[k]["name"]), *(heat(found["matrix"][k][i], f"{found['matrix'][k][i]:.2f}") for i in shown)] for k in shown
    ]
    how = "1: the same clusters of the same sizes; 0: nothing in common. Where a task lies as a whole does not matter."
    return told + table("How alike the clusters of two tasks lie", ["Task", *(name(tasks[k]["name"]) for k in shown)], rows) + f'<p class="faint">{how}</p>'


def outlying(summary: dict[str, Any]) -> str:
    """A table that can be sorted."""
    found, tasks = summary["examples"], summary["tasks"]
    paced = any(row["admitted"] is not None for row in found["rows"])
    head = ["Example", "Task", "Cluster", "Times the usual loss", "Easiness", *(["Let in at"] if paced else [])]
    kinds = ["text", "text", "number", "number", "number", *(["number"] if paced else [])]
    titles = [
        f'<th scope="col" data-sort="{kind}"{" aria-sort=" + chr(34) + "descending" + chr(34) if title.startswith("Times") else ""}>{title}</th>'
        for title, kind in zip(head, kinds, strict=True)
    ] + [f'<th scope="col" data-sort="text">{name(column)}</th>' for column in found["columns"]]
    rows = []
    for row in found["rows"]:
        numbers = [("outlier", number(row["outlier"])), ("easiness", percent(row["easiness"]))]
        if paced:
            numbers.append(("admitted", percent(row["admitted"])))
        rows.append(
            [
                name(row["id"]),
                name(tasks[row["task"]]["name"]),
                f'<td data-value="{row["cluster"]}">{chip(row["cluster"])}</td>',
                *(f'<td class="num" data-value="{row[key]}">{told}</td>' for key, told in numbers),
                *(f'<td class="words">{name(row["cells"].get(column, ""))}</td>' for column in found["columns"]),
            ]
        )
    intro = (
        "<p>How far an example is off, as a multiple of what is usual in its task (the median): 1 is usual, 10 is far out. "
        "Easiness is the share of its task's examples that fit no better."
        + (" Easy examples were let in first: “let in at” is the share of its task that was in then." if paced else "")
        + "</p>"
    )
    return intro + table(f"The {len(rows)} most outlying examples", titles, rows, kind="sortable")


def fit_course(summary: dict[str, Any]) -> str:
    """Two charts, and the same as a table."""
    found = summary["course"]
    told = paragraphs(found["sentences"])
    if not found["stages"]:
        return told
    names = [stage["name"] for stage in found["stages"]]
    charts = parts.line_chart("Objective, iteration by iteration; numbers below are stages", found["objective"], names)
    if len(names) > 1:
        bars = [(stage["name"], stage["admitted"], whole(stage["admitted"])) for stage in found["stages"]]
        charts += parts.bar_chart("Examples let in, stage by stage", bars)
    rows = [
        [
            esc(stage["name"]),
            *(f'<td class="num">{told_}</td>' for told_ in (
                percent(stage["fraction"]), whole(stage["admitted"]), whole(stage["iterations"]), number(stage["objective"])
            )),
        ]
        for stage in found["stages"]
    ]
    numbers = table("Stages of the fit", ["Stage", "Share aimed at", "Examples let in", "Iterations", "Objective at the end"], rows)
    return f'{told}<div class="charts">{charts}</div><details><summary>The same in numbers</summary>{numbers}</details>'


def certainty(summary: dict[str, Any]) -> str:
    """In words, and bars for clusters and tasks."""
    found, tasks = summary["certainty"], summary["tasks"]
    told = paragraphs(found["sentences"])
    pieces = []
    if found["clusters"]:
        rows = [[chip(item["cluster"]), meter(item["value"]), tag(item["word"])] for item in found["clusters"]]
        pieces.append(table("Overlap of each cluster with itself in other fits", ["Cluster", "Overlap", "In a word"], rows))
    if found["tasks"] and len(tasks) > 1:
        rows = [[name(tasks[item["task"]]["name"]), meter(item["value"]), tag(item["word"])] for item in found["tasks"]]
        pieces.append(table("Examples of each task that keep their cluster", ["Task", "Agreement", "In a word"], rows))
    return told + (f'<div class="charts">{"".join(pieces)}</div>' if pieces else "")


def decisions(summary: dict[str, Any]) -> str:
    """What the fit settled by itself, with its evidence."""
    if not summary["decisions"]:
        return "<p>Nothing was decided here: the labels came from another method.</p>"
    items = "".join(f"<li>{name(line.strip())}</li>" for line in summary["decisions"])
    return f'<p>What was left open was decided from the data alone, on this evidence:</p><ul class="decisions">{items}</ul>'


def advice(summary: dict[str, Any]) -> str:
    """What to try, and all settings."""
    items = "".join(f"<li><strong>{name(item['found'])}</strong> {name(item['try'])}</li>" for item in summary["advice"])
    settings = json.dumps(summary["settings"], ensure_ascii=False, indent=2)
    return (
        f'<ul class="advice">{items}</ul><details><summary>All settings</summary>'
        f'<pre tabindex="0" role="region" aria-label="Settings">{esc(settings)}</pre></details>'
    )
