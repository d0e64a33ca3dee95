"""The sections of the page, one function each: summary in, HTML out."""

from __future__ import annotations

import json
from typing import Any

from .parts import (
    amount,
    amounts,
    bar_chart,
    chip,
    esc,
    feature_bars,
    fill,
    heat,
    line_chart,
    meter,
    name,
    opening,
    paragraphs,
    table,
    tag,
    words,
)
from .words import count, likeness, number, percent, whole

MATRIX = 40  # tasks of the matrix of relatedness: larger ones are not read as numbers

Summary = dict[str, Any]


def lead(summary: Summary) -> str:
    """The numbers that a reader wants first."""
    sure = summary["certainty"]
    tiles = [count(summary[f"n_{key}"], word).rsplit(" ", 1) for key, word in (
        ("rows", "example"), ("tasks", "task"), ("clusters", "cluster"), ("features", "feature")
    )]  # fmt: skip
    told = "how sure" if sure["agreement"] is None else f"how sure ({percent(sure['agreement'])} agree)"
    shown = [*tiles, (sure["word"], told)]
    return f'<dl class="tiles">{"".join(f"<div><dt>{esc(t)}</dt><dd>{esc(v)}</dd></div>" for v, t in shown)}</dl>'


def done(summary: Summary) -> str:
    """What was clustered, from where, and how."""
    overview, tasks = summary["overview"], summary["tasks"]
    page = paragraphs(overview["sentences"]) + paragraphs(overview["lines"])
    if overview["files"]:
        numbers = [
            ["–" if file[key] is None else whole(file[key]) for key in ("rows", "bytes")] for file in overview["files"]
        ]
        rows = [[name(file["name"]), *map(amount, told)] for file, told in zip(overview["files"], numbers, strict=True)]
        page += table("Files", ["File", amounts("Rows"), amounts("Bytes")], rows)
    if len(tasks) == 1:
        return page
    most = max(task["rows"] for task in tasks)
    rows = [
        [
            name(task["name"]),
            amount(whole(task["rows"])),
            f'<span class="meter"><span style="width:{100 * task["rows"] / most:.1f}%"></span></span>',
        ]
        for task in tasks
    ]
    return page + table("Tasks and their sizes", ["Task", amounts("Examples"), '<span class="unseen">Bar</span>'], rows)


def cluster_sizes(summary: Summary) -> str:
    """A table of clusters by tasks."""
    sizes, tasks, several = summary["sizes"], summary["tasks"], summary["n_tasks"] > 1
    lacking = {(item["cluster"], item["task"]): item["few"] for item in sizes["missing"]}
    most = max(share for shares in sizes["shares"] for share in shares)

    def cell(j: int, k: int) -> str:
        told = f"{percent(sizes['shares'][k][j])} <small>{whole(sizes['rows'][k][j])}</small>"
        if (j, k) in lacking:
            told += tag("missing" if lacking[j, k] else "elsewhere")
        return heat(sizes["shares"][k][j] / most, told)

    rows = []
    for cluster in summary["features"]["clusters"]:
        total = f"{percent(cluster['share'])} <small>{whole(cluster['rows'])}</small>"
        cells = [cell(cluster["cluster"], k) for k in range(len(tasks))]
        rows.append(
            [chip(cluster["cluster"]), *cells, *([amount(total)] if several else []), words(cluster["in_short"])]
        )
    heads = [name(task["name"]) + (f" {tag('left alone')}" if task["alone"] else "") for task in tasks]
    head = ["Cluster", *heads, *([amounts("All tasks")] if several else []), "Stands out by"]
    caption = "Share of each task's examples in each cluster, and how many they are"
    return paragraphs(sizes["sentences"]) + table(caption, head, rows, kind="sizes fixed")


def cluster_features(summary: Summary) -> str:
    """A card a cluster."""
    if summary["n_clusters"] == 1:
        return "<p>There is one cluster, so there is nothing to compare it with.</p>"
    found = summary["features"]
    lines = [
        "For each cluster: the features whose mean lies most above that of the other clusters (bars to the right) and "
        "most below (to the left), in the numbers that the fit was given. A feature with larger numbers counts more."
    ]
    if found["tasks_left_out"] and len(summary["tasks"]) > 1:
        left = count(found["tasks_left_out"], "smaller task")
        lines.append(f"Features by task are shown for the largest tasks; {left} left out.")
    return f'{paragraphs(lines)}<div class="cards">{"".join(_card(summary, one) for one in found["clusters"])}</div>'


def _card(summary: Summary, cluster: dict[str, Any]) -> str:
    j, tasks = cluster["cluster"], summary["tasks"]
    told = f"{count(cluster['rows'], 'example')}, {percent(cluster['share'])}"
    page = f'<h3>{chip(j)} Cluster {j}</h3><p class="faint">{told}</p>'
    if not cluster["rows"]:
        return f'<article class="card">{page}<p>No example is in this cluster.</p></article>'
    page += feature_bars(f"What makes cluster {j}", cluster["shared"])
    page += "<h4>Most typical examples</h4>"
    page += f'<ul class="typical">{"".join(f"<li>{_typical(row, tasks)}</li>" for row in cluster["typical"])}</ul>'
    by_task = "".join(
        f"<h4>{name(tasks[part['task']]['name'])}</h4>"
        + (
            feature_bars(f"What makes cluster {j} in task {tasks[part['task']]['name']}", part["features"])
            if part["rows"]
            else '<p class="faint">No examples.</p>'
        )
        for part in cluster["tasks"]
    )
    return f'<article class="card">{page}{opening("By task", by_task) if by_task else ""}</article>'


def _typical(row: dict[str, Any], tasks: list[dict[str, Any]]) -> str:
    where = f' <span class="faint">in {name(tasks[row["task"]]["name"])}</span>' if len(tasks) > 1 else ""
    cells = "; ".join(f"{name(column)}: {name(cell)}" for column, cell in row["cells"].items())
    return name(row["id"]) + where + (f"<br><small>{cells}</small>" if cells else "")


def map_of_examples(summary: Summary) -> str:
    """The canvas, its controls, and the map in words."""
    shown, tasks = summary["map"], summary["tasks"]
    far = any((axis["from"], axis["to"]) != (0, shown["steps"]) for axis in shown["axes"])

    def choice(kind: str, index: int, label: str) -> str:
        box = f'<input type="checkbox" checked data-{kind}="{index}">'
        return f'<label>{box}<span class="dot" data-index="{index}"></span>{label}</label>'

    filled = {
        "NOTE": esc(shown["note"]),
        "OPTIONS": "".join(f'<option value="{i}">{esc(axis["name"])}</option>' for i, axis in enumerate(shown["axes"])),
        "SHARED": " and that all tasks share" if len(tasks) > 1 else "",
        "BY_TASK": '<option value="task">task</option>' if len(tasks) > 1 else "",
        "FAR": " Points beyond the edge are drawn at it, as triangles." if far else "",
        "AXES": "" if len(shown["axes"]) > 2 else " hidden",
        "SEVERAL": "" if len(tasks) > 1 else " hidden",
        "CLUSTERS": "".join(choice("cluster", j, f"Cluster {j}") for j in range(summary["n_clusters"])),
        "TASKS": "".join(choice("task", k, name(task["name"])) for k, task in enumerate(tasks)),
        "POINTS": whole(len(shown["cluster"])),
        "WORDS": opening("The map in words", f"<ul>{''.join(f'<li>{esc(line)}</li>' for line in shown['words'])}</ul>"),
    }
    return fill("map.html", filled)


def relatedness(summary: Summary) -> str:
    """The matrix with its numbers."""
    found, tasks = summary["relatedness"], summary["tasks"]
    told = paragraphs(found["sentences"])
    if len(tasks) == 1:
        return told
    shown = sorted(sorted(range(len(tasks)), key=lambda k: -tasks[k]["rows"])[:MATRIX])
    if len(shown) < len(tasks):
        told += f"<p>The {MATRIX} largest tasks are shown.</p>"
    names, matrix = [name(tasks[k]["name"]) for k in shown], found["matrix"]
    rows = [[names[i], *(heat(matrix[k][l], likeness(matrix[k][l])) for l in shown)] for i, k in enumerate(shown)]
    how = "1: the same clusters of the same sizes; 0: nothing in common. Where a task lies as a whole does not matter."
    told += table("How alike the clusters of two tasks lie", ["Task", *names], rows, kind="fixed")
    return f'{told}<p class="faint">{how}</p>'


def outlying(summary: Summary) -> str:
    """A table that can be sorted."""
    found, tasks = summary["examples"], summary["tasks"]
    paced = any(row["admitted"] is not None for row in found["rows"])
    rows = [
        [
            name(row["id"]),
            words(tasks[row["task"]]["name"]),
            f'<td data-value="{int(row["cluster"])}">{chip(row["cluster"])}</td>',
            amount(number(row["outlier"]), row["outlier"]),
            amount(percent(row["easiness"]), row["easiness"]),
            *([amount(percent(row["admitted"]), row["admitted"])] if paced else []),
            *(words(row["cells"].get(column, "")) for column in found["columns"]),
        ]
        for row in found["rows"]
    ]
    head = [
        *('<th scope="col" data-sort="text">Example</th>', '<th scope="col" data-sort="text">Task</th>'),
        '<th scope="col" data-sort="number">Cluster</th>',
        '<th scope="col" class="num" data-sort="number" aria-sort="descending">Times the usual loss</th>',
        '<th scope="col" class="num" data-sort="number">Easiness</th>',
        *(['<th scope="col" class="num" data-sort="number">Let in at</th>'] if paced else []),
        *(f'<th scope="col" data-sort="text">{name(column)}</th>' for column in found["columns"]),
    ]
    told = (
        "How far an example is off, as a multiple of what is usual in its task (the median); 10 is far out. "
        "Easiness is the share of its task's examples that fit no better."
    )
    if paced:
        told += " Easy examples were let in first: “let in at” is the share of its task that was in by then."
    return f"<p>{told}</p>{table(f'The {len(rows)} most outlying examples', head, rows, kind='sortable')}"


def fit_course(summary: Summary) -> str:
    """Two charts, and the same as a table."""
    found, stages = summary["course"], summary["course"]["stages"]
    told = paragraphs(found["sentences"])
    if not stages:
        return told
    names = [stage["name"] for stage in stages]
    label = "Objective, iteration by iteration" + ("; below: the stages" if len(stages) > 1 else "")
    charts = line_chart(label, found["objective"], names if len(stages) > 1 else [""])
    if len(stages) > 1:
        bars = [(stage["name"], stage["admitted"], whole(stage["admitted"])) for stage in stages]
        charts += bar_chart("Examples let in, stage by stage", bars)
    rows = [
        [
            esc(stage["name"]),
            amount(percent(stage["fraction"])),
            amount(whole(stage["admitted"])),
            amount(whole(stage["iterations"])),
            amount(number(stage["objective"])),
        ]
        for stage in stages
    ]
    head = ["Stage", *map(amounts, ("Share aimed at", "Examples let in", "Iterations", "Objective at the end"))]
    numbers = opening("The same in numbers", table("Stages of the fit", head, rows))
    return f'{told}<div class="charts">{charts}</div>{numbers}'


def certainty(summary: Summary) -> str:
    """In words, and bars for clusters and tasks."""
    found, tasks, pieces = summary["certainty"], summary["tasks"], ""
    if found["clusters"]:
        rows = [[chip(item["cluster"]), meter(item["value"]), tag(item["word"])] for item in found["clusters"]]
        pieces += table("Overlap of each cluster with itself in other fits", ["Cluster", "Overlap", "In a word"], rows)
    if found["tasks"] and len(tasks) > 1:
        rows = [[name(tasks[item["task"]]["name"]), meter(item["value"]), tag(item["word"])] for item in found["tasks"]]
        pieces += table("Examples of each task that keep their cluster", ["Task", "Agreement", "In a word"], rows)
    return paragraphs(found["sentences"]) + (f'<div class="charts">{pieces}</div>' if pieces else "")


def decisions(summary: Summary) -> str:
    """What the fit settled by itself, with its evidence."""
    if not summary["decisions"]:
        return "<p>Nothing was decided here: the labels came from another method.</p>"
    items = "".join(f"<li>{name(line.strip())}</li>" for line in summary["decisions"])
    return f'<p>What was left open was decided from the data alone:</p><ul class="decisions">{items}</ul>'


def advice(summary: Summary) -> str:
    """What to try, and all settings."""
    items = "".join(f"<li><strong>{esc(one['found'])}</strong> {esc(one['try'])}</li>" for one in summary["advice"])
    settings = esc(json.dumps(summary["settings"], ensure_ascii=False, indent=2))
    shown = opening("All settings", f'<pre tabindex="0" role="region" aria-label="Settings">{settings}</pre>')
    return f'<ul class="advice">{items}</ul>{shown}'
