"""Standard output and standard error, whatever they are: closed, of another encoding than UTF-8, a terminal."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from typing import Any, TextIO

KEPT = "\n\t"
UNSEEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")  # categories of characters that steer a terminal, or cannot be printed
JOINERS = "\u200c\u200d\u200e\u200f\u061c\u00ad"  # of letters and of pictures, and marks of their direction


def open_closed() -> None:
    """Let closed streams lead nowhere: files that are opened later would take their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if not _is_open(number):
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+" if number == 0 else "w", encoding="utf-8"))  # noqa: SIM115


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def say(text: str, stream: TextIO | None = None, end: str = "\n") -> None:
    """Print a text on standard output or another stream, without characters that steer a terminal."""
    stream = sys.stdout if stream is None else stream
    if stream is None or stream.closed:
        return
    text = plain(text) + end
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    if stream is sys.stderr:
        stream.flush()


def plain(text: str) -> str:
    r"""Write a text with escapes in the place of characters that steer a terminal.

    Examples
    --------
    >>> print(plain("\x1b[31mred\x07"))
    \x1b[31mred\x07
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(_escaped(character) if _steers(character) else character for character in text)


def as_json(value: Any) -> str:
    """Write a value as JSON that standard output can hold, and that steers no terminal."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return _in_ascii(value)
    return text if plain(text) == text else _in_ascii(value)


def _in_ascii(value: Any) -> str:
    return json.dumps(value, indent=2).replace("\x7f", "\\u007f")


def _steers(character: str) -> bool:
    return character not in KEPT and character not in JOINERS and unicodedata.category(character) in UNSEEN


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
