"""Pieces of HTML that sections are made of; whatever comes from the data is escaped here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from .words import number, percent

COLOURS = 16  # of the palette: eight, and their shades; from eight on shapes tell points apart as well
UNBROKEN = 20  # letters of a word that is never broken
LINE = 40  # letters of a cell that stay on one line
TALL = 16  # rows from which on a table scrolls in its box
LABEL = 14  # least width of a part of a chart that has room for its name
WIDTH, HEIGHT, LEFT = 640, 200, 70  # of a chart, and the room left of it, in its own units


@cache
def resource(file: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(file).read_text(encoding="utf-8")


def fill(file: str, values: Mapping[str, str]) -> str:
    """A file of this package with its %%KEYS%% replaced; what they are replaced by is not searched for keys."""
    return "".join(values[part] if i % 2 else part for i, part in enumerate(resource(file).split("%%")))


def esc(value: Any) -> str:
    """Text for between tags and for attributes."""
    return escape(str(value), quote=True)


def name(value: Any) -> str:
    """A name from the data, kept from turning the direction of what stands beside it."""
    long = any(len(word) > UNBROKEN for word in str(value).split())
    return f'<bdi class="long">{esc(value)}</bdi>' if long else f"<bdi>{esc(value)}</bdi>"


def paragraphs(lines: Sequence[str]) -> str:
    """One paragraph a sentence."""
    return "".join(f"<p>{esc(line)}</p>" for line in lines)


def chip(j: int) -> str:
    """The mark of a cluster: its number on its colour."""
    return f'<span class="chip c{int(j) % COLOURS}">{int(j)}</span>'


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
    tall = " tall" if len(rows) > TALL else ""
    return (
        f'<div class="box{tall}" role="region" tabindex="0" aria-label="{esc(caption)}"><table class="{kind}">'
        f"<caption{concealed}><span>{esc(caption)}</span></caption><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def amount(told: str, value: Any = None) -> str:
    """A table cell with a number; `value` is what it sorts by."""
    return f'<td class="num">{told}</td>' if value is None else f'<td class="num" data-value="{esc(value)}">{told}</td>'


def words(told: str) -> str:
    """A table cell with a name or a text from the data; a short one stays on its line."""
    return f'<td class="{"whole" if len(told) <= LINE else "words"}">{name(told)}</td>'


def amounts(title: str) -> str:
    """The head of a column of numbers."""
    return f'<th scope="col" class="num">{esc(title)}</th>'


def opening(title: str, inner: str) -> str:
    """What is there on demand."""
    return f"<details><summary>{esc(title)}</summary>{inner}</details>"


def heat(share: float, inner: str) -> str:
    """A table cell whose ground grows stronger with a share of 1."""
    return f'<td class="heat" style="--share:{min(max(share, 0), 1):.3f}">{inner}</td>'


def meter(value: float | None) -> str:
    """A share as a bar with its number."""
    if value is None:
        return "–"
    width = 100 * min(max(value, 0), 1)
    bar = f'<span class="meter"><span style="width:{width:.1f}%"></span></span>'
    return f'<span class="whole">{bar} {percent(value)}</span>'


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
                amount(number(feature["here"])),
                amount(number(feature["rest"])),
            ]
        )
    head = ["Feature", '<th scope="col" class="bar">Difference</th>', amounts("Here"), amounts("Elsewhere")]
    return table(caption, head, rows, kind="features", hidden=True)


def line_chart(label: str, parts: Sequence[Sequence[float | None]], names: Sequence[str]) -> str:
    """A line through all numbers, one after the other, with the borders of the parts and their names."""
    values = [value for part in parts for value in part if value is not None]
    if not values:
        return ""
    low, high = min(values), max(values)
    room, n = (high - low) or 1.0, sum(len(part) for part in parts)
    step = (WIDTH - LEFT - 10) / max(n, 1)
    points, borders, i = [], [], 0
    for part, title in zip(parts, names, strict=True):
        x, middle = LEFT + step * i, LEFT + step * (i + len(part) / 2)
        borders.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="10" y2="{HEIGHT - 30}"/>')
        if step * len(part) >= LABEL:
            borders.append(f'<text class="mid" x="{middle:.1f}" y="{HEIGHT - 12}">{esc(title)}</text>')
        for value in part:
            if value is not None:
                points.append((LEFT + step * (i + 0.5), HEIGHT - 36 - (HEIGHT - 56) * (value - low) / room))
            i += 1
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points) if n <= 60 else ""
    ends = f'<text class="end" x="{LEFT - 6}" y="24">{number(high)}</text>'
    if high > low:
        ends += f'<text class="end" x="{LEFT - 6}" y="{HEIGHT - 32}">{number(low)}</text>'
    return _svg(label, f'{"".join(borders)}{ends}<polyline points="{line}"/>{dots}')


def bar_chart(label: str, bars: Sequence[tuple[str, float, str]]) -> str:
    """Bars with a name below and a word above each."""
    largest = max((value for _, value, _ in bars), default=0) or 1
    step = (WIDTH - 20) / max(len(bars), 1)
    width = min(0.7 * step, 60)
    drawn = []
    for i, (title, value, told) in enumerate(bars):
        x, height = 10 + step * (i + 0.5), (HEIGHT - 70) * value / largest
        left, top = x - width / 2, HEIGHT - 36 - height
        drawn.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"/>')
        drawn.append(f'<text class="mid" x="{x:.1f}" y="{top - 6:.1f}">{esc(told)}</text>')
        drawn.append(f'<text class="mid" x="{x:.1f}" y="{HEIGHT - 18}">{esc(title)}</text>')
    return _svg(label, "".join(drawn))


def _svg(label: str, inner: str) -> str:
    return (
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{esc(label)}">{inner}</svg>'
        f"<figcaption>{esc(label)}</figcaption></figure>"
    )
