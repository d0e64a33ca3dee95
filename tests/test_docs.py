"""The code that the documents show runs as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = [
    pytest.param(block, id=f"{path.name}-{i}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("code", BLOCKS)
def test_every_code_block_runs(code, capsys):
    exec(compile(code, "docs", "exec"), {})
    assert capsys.readouterr().err == ""


def test_the_readme_shows_code():
    assert BLOCKS
