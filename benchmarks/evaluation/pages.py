"""Pages: templates in Markdown that are filled with numbers, and the same pages as LaTeX and HTML.

A table is a data frame of texts; a text between two pairs of stars is in bold face.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

BOLD = re.compile(r"\*\*(.+?)\*\*")
TEX = str.maketrans(
    {character: "\\" + character for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "λ": r"$\lambda$", "±": r"$\pm$", "≥": r"$\ge$", "≤": r"$\le$"}
    | {"−": r"$-$", "Δ": r"$\Delta$", "∈": r"$\in$"}
)


def title(name: str) -> str:
    """Write the first letter large."""
    return name[0].upper() + name[1:]


def shown(values: Any, form: str = ".1f") -> Any:
    """Write the numbers of a series or a frame; nothing where there is none."""
    return values.map(lambda value: "" if pd.isna(value) else format(value, form)).astype(object)


def marked(texts: pd.DataFrame) -> pd.DataFrame:
    """Set the largest number of each column in bold face."""
    numbers = texts.apply(pd.to_numeric, errors="coerce")
    return texts.where(numbers != numbers.max(), "**" + texts + "**")


def named(texts: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Make a table of texts whose first columns, with these names, are those of the index."""
    return texts.rename_axis(index=list(names), columns=None).reset_index()


def means(rows: pd.DataFrame, metric: str, by: list[str], methods: Iterable[str]) -> pd.DataFrame:
    """Give mean scores by some columns, with those methods that have any as columns, in the given order.

    The means are NumPy's: those of pandas may differ in the last digit, and so be rounded otherwise.
    """
    found = rows.groupby([*by, "method"])[metric].agg(lambda own: np.mean(own.to_numpy())).unstack()
    return found[[method for method in methods if method in found]]


def table(texts: pd.DataFrame) -> str:
    """Write a table as Markdown."""
    lines = (texts.columns, ["---"] * texts.shape[1], *texts.itertuples(index=False, name=None))
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def tex(text: str) -> str:
    """Write a text as LaTeX."""
    return BOLD.sub(r"\\textbf{\1}", text.translate(TEX))


def html_text(text: str) -> str:
    """Write a text as HTML."""
    return BOLD.sub(r"<b>\1</b>", html.escape(text))


TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
TEMPLATES.filters |= {"table": table, "tex": tex, "html": html_text}


def fill(template: str, values: dict[str, Any]) -> str:
    """Fill a template in Markdown; each paragraph becomes one line."""
    blocks = re.split(r"\n\s*\n", TEMPLATES.get_template(template).render(values))
    blocks = [block.strip() if "|" in block[:2] else " ".join(block.split()) for block in blocks]
    return "\n\n".join(block for block in blocks if block) + "\n"


def convert(page: str, form: str) -> str:
    """Write a page in Markdown as LaTeX ("tex") or HTML ("html")."""
    return TEMPLATES.get_template(f"page.{form}").render(blocks=map(_parts, page.strip().split("\n\n")))


def _parts(block: str) -> dict[str, Any]:
    """The parts of a heading, a table, a figure or a paragraph."""
    if heading := re.fullmatch("(#+) (.*)", block):
        return {"level": len(heading[1]), "text": heading[2]}
    if picture := re.fullmatch(r"!\[(.*)\]\((.*)\)", block):
        return {"caption": picture[1], "file": picture[2]}
    if block.startswith("|"):
        header, _, *lines = [line[2:-2].split(" | ") for line in block.split("\n")]
        return {"header": header, "lines": lines}
    return {"text": block}
