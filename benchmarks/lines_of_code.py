"""Lines of code per room, without blanks, comments and docstrings: `python -m benchmarks.lines_of_code [COMMIT]`.

Lines of templates, style sheets and scripts of the report count, too.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter
from pathlib import Path

IGNORED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
OTHERS = (".html", ".css", ".js")


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


def main() -> None:
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    root = Path(__file__).parents[1]
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=root, check=True, capture_output=True).stdout
    rooms: Counter[str] = Counter()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith((".py", *OTHERS)):
                file = tar.extractfile(member)
                assert file is not None
                room = member.name.split("/")[2]
                rooms[room] += lines_of(member.name, file.read().decode())
    for room, count in sorted(rooms.items()):
        print(f"{room:24} {count:6}")
    print(f"{'without benchmark':24} {sum(rooms.values()) - rooms['benchmark']:6}")


if __name__ == "__main__":
    main()
