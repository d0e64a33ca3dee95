"""The user's own words: what the groups of rows are called, and how a column's name is read as words and a unit."""

from __future__ import annotations

import re
from functools import cache

from ._words import whole

GROUP = "data set"  # what a group of rows is called where its column does not tell
LONGEST = 20  # characters of a word that is used in sentences
CODES = {"id", "name", "code", "no", "nr", "number"}  # endings of columns that name groups: "hospital_id"
ON, AT = {"island", "day", "date", "weekday", "planet", "farm"}, {"site", "hospital", "clinic", "station", "school"}
UNITS = {
    "mm", "cm", "m", "km", "mg", "g", "kg", "lb", "lbs", "ml", "l", "s", "ms", "min", "h", "usd", "eur", "gbp", "years",
    "days", "hours", "minutes", "seconds", "miles", "mmhg", "mmol", "kwh", "kw", "celsius",
}  # fmt: skip
QUOTED = r"“[^”]*”|'[^']*'|\"[^\"]*\"|`[^`]*`"
TASK = re.compile(rf"{QUOTED}|(?<![\w.=-])(?:(?P<article>[Aa]n?) )?(?P<word>[Tt]ask)(?P<many>s?)(?![\w=(-])")


@cache
def group_word(column: str | None) -> str:
    """Make the word for a group of rows from the name of its column.

    Examples
    --------
    >>> group_word("island"), group_word("Hospital_ID"), group_word("x7"), group_word(None)
    ('island', 'hospital', 'data set', 'data set')
    """
    words = re.sub(r"[_\s-]+", " ", column or "").strip().lower().split()
    while len(words) > 1 and words[-1] in CODES:
        words.pop()
    found = " ".join(words)
    fine = 1 < len(found) <= LONGEST and found not in CODES and all(word.isalpha() for word in words)
    return GROUP if not fine or found in ("task", "dataset") or found.endswith(("ed", "ing")) else found


def plural(word: str) -> str:
    """Write the plural of a word.

    Examples
    --------
    >>> [plural(word) for word in ("island", "country", "class", "species", "day")]
    ['islands', 'countries', 'classes', 'species', 'days']
    """
    if word.endswith(("ss", "x", "ch", "sh", "z")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return word if word.endswith("s") else f"{word}s"


def counted(n: int, word: str) -> str:
    """Write a number of things, in the plural of their word.

    Examples
    --------
    >>> counted(1, "island"), counted(3, "country")
    ('1 island', '3 countries')
    """
    return f"{whole(n)} {word if n == 1 else plural(word)}"


def preposition(word: str) -> str:
    """Choose how one is among a group: on an island, at a site, in a country."""
    return "on" if word in ON else "at" if word in AT else "in"


def in_words(line: str, group: str) -> str:
    """Write the user's word for a group where a sentence says "task"; what is quoted stays as it is.

    Examples
    --------
    >>> in_words("Private to task 'task a': no other task. A task of 5 tasks, task_offset=1.", "island")
    "Private to island 'task a': no other island. An island of 5 islands, task_offset=1."
    """

    def told(match: re.Match[str]) -> str:
        if match["word"] is None:
            return match[0]
        word = plural(group) if match["many"] else group
        if match["article"] is not None:
            article = match["article"][0] + "n" * (word[0] in "aeiou")
            return f"{article} {word}"
        return word[0].upper() + word[1:] if match["word"][0] == "T" else word

    return TASK.sub(told, line)


def column_words(name: str) -> tuple[str, str]:
    """Read the name of a column as words and a unit.

    Examples
    --------
    >>> column_words("bill_length_mm"), column_words("Price (EUR)"), column_words("fare")
    (('bill length', 'mm'), ('Price', 'EUR'), ('fare', ''))
    """
    found = re.fullmatch(r"(.+?)\s*[(\[]([^()\[\]]{1,12})[)\]]", name.strip())
    if found is not None:
        return found[1].replace("_", " ").strip(), found[2]
    words = name.replace("_", " ").split()
    if len(words) > 1 and words[-1].lower() in UNITS:
        return " ".join(words[:-1]), words[-1]
    return " ".join(words) or name, ""
