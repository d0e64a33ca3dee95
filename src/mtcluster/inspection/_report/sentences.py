"""One plain sentence for each cluster: how large it is, where it is, and what its rows are like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from .._subject import Subject
from .._vocabulary import column_words, plural, preposition
from .._words import listed, number, percent, quoted
from .columns import Columns
from .effects import MODERATE, Effects

NUMBERS, CATEGORIES = 3, 2  # columns of each kind that a sentence names
MOSTLY, ALL, FEW = 0.7, 0.995, 0.1  # shares of a category
MORE = 0.15  # difference between shares that is worth telling
NAMED = 3  # groups that are named
PURE, MOST = 0.95, 0.75  # share of a cluster with one value of a column that makes it, and of the rows in such clusters
RARELY = 0.1  # share of the rarer value of such a column
# What small and large values of a quantity are called; a quantity of something else leaves its own name out.
ADJECTIVES = {
    "length": ("short", "long"),
    "width": ("narrow", "wide"),
    "depth": ("shallow", "deep"),
    "thickness": ("thin", "thick"),
    "mass": ("light", "heavy"),
    "weight": ("light", "heavy"),
    "age": ("young", "old"),
}
KEPT = {  # these keep it
    "distance": ("short", "long"),
    "duration": ("short", "long"),
    "time": ("short", "long"),
    "height": ("small", "large"),
    "size": ("small", "large"),
    "area": ("small", "large"),
    "number": ("small", "large"),
    "count": ("small", "large"),
    "year": ("early", "late"),
}
VAGUE = {"yes", "no", "true", "false", "y", "n", "t", "f", "none", "other", "unknown", "male?", "(missing)"}

Told = tuple[float, str]  # how much is worth telling, and the phrase


def sentences(
    subject: Subject,
    columns: Columns,
    effects: Effects,
    features: dict[str, Any],
    table: Array,
    how: tuple[str, list[str]],
) -> list[str]:
    """Write a sentence for each cluster; `how` is the word for a group of rows, and their names."""
    total, lines = max(int(table.sum()), 1), []
    for j, cluster in enumerate(features["clusters"]):
        if not table[:, j].any():
            lines.append(f"Cluster {j}: {f'no more in any {how[0]}' if subject.gone[j] else 'no rows'}.")
            continue
        parts = [f"Cluster {j}", percent(int(table[:, j].sum()) / total), _where(table[:, j] > 0, *how)]
        lines.append(f"{', '.join(filter(None, parts))}: {_like(cluster['shared'], columns, effects, j)}.")
    return lines


def _where(held: Array, word: str, names: list[str]) -> str:
    """Tell in which groups of rows a cluster is."""
    m, own = len(held), np.flatnonzero(held).tolist()
    at, several = preposition(word), plural(word)
    if m == 1:
        return ""
    if len(own) == m:
        return f"{at} both {several}" if m == 2 else f"{at} all {several}"
    if len(own) == 1:
        return f"{at} {_name(names[own[0]])} only"
    if len(own) <= NAMED:
        return f"{at} {listed([_name(names[k]) for k in own])}"
    if m - len(own) < NAMED:
        return f"{at} all {several} but {listed([_name(names[k]) for k in range(m) if k not in own])}"
    return f"{at} {len(own)} of {m} {several}"


def _name(name: str) -> str:
    return name if name.replace(" ", "").isalnum() and not name.isdecimal() else quoted(name)


def _like(shared: list[dict[str, Any]], columns: Columns, effects: Effects, j: int) -> str:
    """Tell what the rows of a cluster are like, by what is farthest from the other clusters."""
    strength = _strengths(shared, columns, effects, j)
    shared = [f for f in shared if None not in (f["here"], f["rest"])]
    shared = [f for f in shared if (f["here"] > f["rest"]) == (f["difference"] > 0)]
    numbers = [(strength[f["name"]], _number(f)) for f in shared if f["kind"] != "share" and " = " not in f["name"]]
    fields: dict[str, list[tuple[bool, float, str]]] = {}
    for f in shared:
        if (f["kind"] == "share" or " = " in f["name"]) and (told := _category(f, columns)):
            positive = f["difference"] > 0  # what rows are tells more than what they are not
            fields.setdefault(f["name"].partition(" = ")[0], []).append((positive, strength[f["name"]], told))
    categories = [max(own)[1:] for own in fields.values()]
    chosen = [[text for s, text in sorted(own, reverse=True)[:most] if s >= MODERATE]
              for own, most in ((numbers, NUMBERS), (categories, CATEGORIES))]  # fmt: skip
    return "; ".join(", ".join(own) for own in chosen if own) or "close to the average of all rows"


def _strengths(shared: list[dict[str, Any]], columns: Columns, effects: Effects, j: int) -> dict[str, float]:
    """Tell how far a cluster is from the others in each column, in units of the spread within clusters."""
    found = {f["name"]: abs(f["difference"]) for f in shared}
    if effects.unit != "spread":
        largest = max(found.values(), default=0.0) or 1.0
        return {name: value / largest for name, value in found.items()}
    if columns.features:
        at = {feature.name: i for i, feature in enumerate(columns.features)}
        for f in shared:
            own = effects.effect[at[f["name"]], j] if f["name"] in at else np.nan
            same = np.sign(own) == np.sign(f["difference"])
            found[f["name"]] = abs(float(own)) if np.isfinite(own) and same else 0.0
    return found


def _number(f: dict[str, Any]) -> str:
    """Tell a mean in the user's units beside that of the other clusters."""
    words, unit = column_words(f["name"])
    *first, last = words.split()
    above = f["difference"] > 0
    values = f"{number(f['here'])}{f' {unit}' * bool(unit)}; others {number(f['rest'])}"
    if f["kind"] == "count":
        return f"{'much' if above else 'little'} “{f['name']}”"
    if last.lower() in ADJECTIVES:
        how = ADJECTIVES[last.lower()][above]
        return f"{how} {' '.join(first)} ({values})" if first else f"{how} ({words} {values})"
    how = KEPT.get(last.lower(), ("low", "high"))[above]
    return f"{how} {words} ({values})"


def _category(f: dict[str, Any], columns: Columns) -> str:
    """Tell the share of a category; empty if it is no different."""
    here, rest = f["here"], f["rest"]
    level, shares = _level(f["name"], columns), f" ({percent(here)}; others {percent(rest)})"
    if f["kind"] != "share":  # shares are not known, but more or less are
        return f"{'more' if f['difference'] > 0 else 'less'} often {level}"
    if here - rest >= MORE:
        word = "more often" if here < MOSTLY else "mostly" if here < ALL else "all"
        return f"{word} {level}{shares}"
    if rest - here >= MORE and here <= FEW:
        return f"{'no' if here == 0 else 'hardly any'} {level}{shares}"
    return ""


def _level(name: str, columns: Columns) -> str:
    """Write a category alone if it tells what it is, else with its column."""
    field, _, level = name.partition(" = ")
    twice = sum(level in (other.levels or ()) for other in columns.fields) > 1
    if twice or level.lower() in VAGUE or len(level) < 3 or not level[0].isalpha():
        return f"{column_words(field)[0]} {level}"
    return level.lower() if level.isupper() and level.isalpha() and len(level) > 3 else level


def ruling_columns(subject: Subject, columns: Columns) -> dict[str, float]:
    """Find columns of two values that make clusters by themselves, and the share of the rows in such clusters.

    Nearly all rows of each of these clusters have the same value, and there are some for both values.
    """
    labels, c, found = subject.rows.labels, subject.shape[1], {}
    for field in columns.fields if len(columns.fields) > 1 else ():
        if field.levels is not None and len(field.levels) > 3:
            continue
        values = field.values
        some = np.isfinite(values) & (labels >= 0) & ((values >= 0) | (field.levels is None))
        kinds, counts = np.unique(values[some], return_counts=True)
        if len(kinds) != 2 or counts.min() < RARELY * counts.sum():
            continue
        n = np.stack([np.bincount(labels[some & (values == kind)], minlength=c) for kind in kinds])
        pure = (n.max(axis=0) >= PURE * n.sum(axis=0)) & (n.sum(axis=0) > 0)
        share = float(n[:, pure].sum() / n.sum())
        if share >= MOST and len(set(n[:, pure].argmax(axis=0).tolist())) == 2:
            found[field.name] = share
    return found


def ruling_sentences(found: dict[str, float]) -> list[str]:
    """Say which columns make clusters by themselves, and how to see the groups of the others."""
    return [
        f"Column {quoted(name)} has two values and makes clusters by itself: {percent(share)} of the rows are in "
        f"clusters with one value of it. --drop {name} leaves it out."
        for name, share in found.items()
    ]
