"""Lines of Python per room, without blanks, comments and docstrings: `python -m benchmarks.lines_of_code [COMMIT]`.

They are those of the working tree, or of a commit. Templates, style sheets and scripts of the report are counted apart.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

IGNORED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
TEMPLATES = (".html", ".css", ".js")
MATHEMATICS = ("core", "engines", "estimators")
ROOT = Path(__file__).parents[1]


def lines_of(name: str, text: str) -> int:
    """Lines of one file."""
    if not name.endswith(".py"):
        return sum(bool(line.strip()) for line in text.splitlines())
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                documented |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in IGNORED:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - documented)


def files(commit: str | None) -> Iterator[tuple[str, str]]:
    """Names and texts of the files of the package."""
    if commit is None:
        for path in sorted(ROOT.glob("src/mtcluster/**/*")):
            if path.suffix in (".py", *TEMPLATES):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        return
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            file = tar.extractfile(member)
            if file is not None and member.name.endswith((".py", *TEMPLATES)):
                yield member.name, file.read().decode()


def main() -> None:
    rooms: Counter[str] = Counter()
    templates = 0
    for name, text in files(sys.argv[1] if len(sys.argv) > 1 else None):
        if name.endswith(".py"):
            rooms[name.split("/")[2]] += lines_of(name, text)
        else:
            templates += lines_of(name, text)
    package = rooms.total() - rooms["benchmark"]  # which was a room of the package once
    sums = {"templates": templates, ", ".join(MATHEMATICS): sum(rooms[room] for room in MATHEMATICS)}
    for room, count in [*sorted(rooms.items()), *sums.items(), ("package", package)]:
        print(f"{room:26} {count:6}")


if __name__ == "__main__":
    main()
