"""Pieces of HTML that sections are made of; whatever comes from the data is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from .words import number, percent

COLOURS = 8  # of the palette; from there on shapes tell clusters apart as well
SHAPES = 4
WIDTH, HEIGHT = 640, 200  # of a chart, in its own units


def esc(value: Any) -> str:
    """Text for between tags and for attributes."""
    return escape(str(value), quote=True)


def name(value: Any) -> str:
    """A name from the data, kept from turning the direction of what stands beside it."""
    return f"<bdi>{esc(value)}</bdi>"


def paragraphs(lines: Sequence[str]) -> str:
    """One paragraph a sentence."""
    return "".join(f"<p>{esc(line)}</p>" for line in lines)


def chip(j: int) -> str:
    """The mark of a cluster: its number on its colour."""
    return f'<span class="chip c{j % COLOURS}">{j}</span>'


def tag(word: str) -> str:
    """A word on a coloured ground."""
    return f'<span class="tag {esc(word.split()[0])}">{esc(word)}</span>'


def table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, kind: str = "", hidden: bool = False
) -> str:
    """A table in a box of its own that scrolls; the first cell of a row is its header, cells may be whole <td>s."""
    cells = "".join(column if column.startswith("<th") else f'<th scope="col">{column}</th>' for column in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    concealed = ' class="unseen"' if hidden else ""
    return (
        f'<div class="box" role="region" tabindex="0" aria-label="{esc(caption)}"><table class="{kind}">'
        f"<caption{concealed}>{esc(caption)}</caption><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def heat(share: float, inner: str) -> str:
    """A table cell whose ground grows stronger with a share of 1."""
    return f'<td class="heat" style="--share:{min(max(share, 0), 1):.3f}">{inner}</td>'


def meter(value: float | None) -> str:
    """A share as a bar with its number."""
    if value is None:
        return "–"
    width = 100 * min(max(value, 0), 1)
    return f'<span class="meter"><span style="width:{width:.1f}%"></span></span> {percent(value)}'


def feature_bars(caption: str, features: Sequence[dict[str, Any]]) -> str:
    """Features of a cluster: bars to the right for what is above the rest, to the left for what is below."""
    if not features:
        return '<p class="faint">Nothing stands out.</p>'
    largest = max(abs(feature["difference"]) for feature in features)
    rows = []
    for feature in features:
        side = "up" if feature["difference"] > 0 else "down"
        width = 50 * abs(feature["difference"]) / largest
        rows.append(
            [
                name(feature["name"]),
                f'<td class="bar"><span class="{side}" style="width:{width:.1f}%"></span></td>',
                f'<td class="num">{number(feature["here"])}</td>',
                f'<td class="num">{number(feature["rest"])}</td>',
            ]
        )
    head = ["Feature", '<th scope="col" class="bar">Difference</th>', "Here", "Elsewhere"]
    return table(caption, head, rows, kind="features", hidden=True)


def line_chart(label: str, parts: Sequence[Sequence[float | None]], names: Sequence[str]) -> str:
    """A line through all numbers, one after the other, with the borders of the parts and their names."""
    values = [value for part in parts for value in part if value is not None]
    if not values:
        return ""
    low, high = min(values), max(values)
    room, n = (high - low) or 1.0, sum(len(part) for part in parts)
    step = (WIDTH - 80) / max(n - 1, 1)
    points, borders, i = [], [], 0
    for part, title in zip(parts, names, strict=True):
        x = 60 + step * max(i - 0.5, 0)
        borders.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="10" y2="{HEIGHT - 30}"/>')
        borders.append(f'<text x="{x + 4:.1f}" y="{HEIGHT - 12}">{esc(title)}</text>')
        for value in part:
            if value is not None:
                points.append((60 + step * i, HEIGHT - 36 - (HEIGHT - 56) * (value - low) / room))
            i += 1
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points) if n <= 60 else ""
    ends = f'<text class="end" x="54" y="24">{number(high)}</text>'
    if high > low:
        ends += f'<text class="end" x="54" y="{HEIGHT - 32}">{number(low)}</text>'
    return _svg(label, f'{"".join(borders)}{ends}<polyline points="{line}"/>{dots}')


def bar_chart(label: str, bars: Sequence[tuple[str, float, str]]) -> str:
    """Bars with a name below and a word above each."""
    largest = max((value for _, value, _ in bars), default=0) or 1
    step = (WIDTH - 20) / max(len(bars), 1)
    width = min(0.7 * step, 60)
    drawn = []
    for i, (title, value, told) in enumerate(bars):
        x, height = 10 + step * (i + 0.5), (HEIGHT - 70) * value / largest
        drawn.append(f'<rect x="{x - width / 2:.1f}" y="{HEIGHT - 36 - height:.1f}" width="{width:.1f}" height="{height:.1f}"/>')
        drawn.append(f'<text class="mid" x="{x:.1f}" y="{HEIGHT - 42 - height:.1f}">{esc(told)}</text>')
        drawn.append(f'<text class="mid" x="{x:.1f}" y="{HEIGHT - 18}">{esc(title)}</text>')
    return _svg(label, "".join(drawn))


def _svg(label: str, inner: str) -> str:
    return (
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{esc(label)}">{inner}</svg>'
        f"<figcaption>{esc(label)}</figcaption></figure>"
    )
