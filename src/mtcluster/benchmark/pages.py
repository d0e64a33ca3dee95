"""Headings, paragraphs, tables and figures, written as Markdown, LaTeX, HTML or plain text."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Text:
    """A heading (level 1 to 3) or a paragraph (level 0)."""

    text: str
    level: int = 0


@dataclass(frozen=True)
class Grid:
    """A table of strings; `bold` holds (row, column) of cells in bold face."""

    header: list[str]
    rows: list[list[str]]
    bold: set[tuple[int, int]] = field(default_factory=set)


@dataclass(frozen=True)
class Picture:
    """A figure, by the name of its file relative to the page."""

    file: str
    caption: str


Part = Text | Grid | Picture


def markdown(parts: list[Part]) -> str:
    """The page as Markdown."""
    out = []
    for part in parts:
        if isinstance(part, Text):
            out.append(("#" * part.level + " " if part.level else "") + part.text)
        elif isinstance(part, Picture):
            out.append(f"![{part.caption}]({part.file})")
        else:
            rows = [
                [f"**{c}**" if (i, j) in part.bold else c for j, c in enumerate(r)] for i, r in enumerate(part.rows)
            ]
            lines = [part.header, ["---"] * len(part.header), *rows]
            out.append("\n".join("| " + " | ".join(line) + " |" for line in lines))
    return "\n\n".join(out) + "\n"


def latex(parts: list[Part]) -> str:
    """The page as a LaTeX document."""
    out = [
        r"\documentclass{article}",
        r"\usepackage[margin=1.5cm,landscape]{geometry}",
        r"\usepackage{graphicx}",
        r"\begin{document}\small",
    ]
    for part in parts:
        if isinstance(part, Text):
            command = {1: "section*", 2: "subsection*", 3: "paragraph*"}.get(part.level)
            out.append(rf"\{command}{{{_tex(part.text)}}}" if command else _tex(part.text) + "\n")
        elif isinstance(part, Picture):
            name, caption = part.file.rsplit(".", 1)[0], _tex(part.caption)
            graphic = r"\includegraphics[width=.9\linewidth,height=.85\textheight,keepaspectratio]"
            out.append(rf"\begin{{center}}{graphic}{{{name}}}\\{caption}\end{{center}}")
        else:
            rows = [
                [rf"\textbf{{{_tex(c)}}}" if (i, j) in part.bold else _tex(c) for j, c in enumerate(r)]
                for i, r in enumerate(part.rows)
            ]
            body = [" & ".join(map(_tex, part.header)) + r" \\ \hline", *(" & ".join(row) + r" \\" for row in rows)]
            columns = "l" + "r" * (len(part.header) - 1)
            out.append(
                "\n".join([rf"\begin{{tabular}}{{{columns}}}\hline", *body, r"\hline\end{tabular}\bigskip" + "\n"])
            )
    return "\n".join([*out, r"\end{document}"]) + "\n"


def page(parts: list[Part], title: str) -> str:
    """The page as HTML, with a light and a dark theme."""
    out = []
    for part in parts:
        if isinstance(part, Text):
            tag = f"h{part.level}" if part.level else "p"
            out.append(f"<{tag}>{html.escape(part.text)}</{tag}>")
        elif isinstance(part, Picture):
            file, caption = html.escape(part.file), html.escape(part.caption)
            out.append(f'<figure><img src="{file}" alt="{caption}"><figcaption>{caption}</figcaption></figure>')
        else:
            head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in part.header)
            lines = [[_td(c, (i, j) in part.bold) for j, c in enumerate(row)] for i, row in enumerate(part.rows)]
            body = "".join(f"<tr>{''.join(line)}</tr>\n" for line in lines)
            out.append(f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>')
    return _HTML.replace("TITLE", html.escape(title)).replace("BODY", "\n".join(out))


def plain(parts: list[Part]) -> str:
    """The page as text for a terminal: aligned columns, stars for bold cells, no figures."""
    out = []
    for part in parts:
        if isinstance(part, Text):
            out.append(part.text)
        elif isinstance(part, Grid):
            rows = [[c + "*" * ((i, j) in part.bold) for j, c in enumerate(r)] for i, r in enumerate(part.rows)]
            widths = [max(map(len, column)) for column in zip(part.header, *rows, strict=True)]
            lines = []
            for line in (part.header, *rows):
                cells = [c.rjust(w) if j else c.ljust(w) for j, (c, w) in enumerate(zip(line, widths, strict=True))]
                lines.append("  ".join(cells))
            out.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(out) + "\n"


def write(parts: list[Part], form: Literal["md", "tex", "html"], title: str) -> str:
    """The page in one of the forms."""
    return {"md": markdown, "tex": latex}[form](parts) if form != "html" else page(parts, title)


def _td(text: str, bold: bool) -> str:
    return f"<td><b>{html.escape(text)}</b></td>" if bold else f"<td>{html.escape(text)}</td>"


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)


_TEX = {character: "\\" + character for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "λ": r"$\lambda$",
    "±": r"$\pm$",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "−": r"$-$",
    "Δ": r"$\Delta$",
    "∈": r"$\in$",
}
_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1rem 0; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; background: #fff; }
</style></head><body>
BODY
</body></html>
"""
