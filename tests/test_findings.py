"""Everything that an attack found has tests, and the page on reliability names them."""

import ast
from pathlib import Path

import pytest
from benchmarks.faults.findings import FINDINGS

TESTS = Path(__file__).parent


@pytest.mark.parametrize("number", range(1, len(FINDINGS) + 1))
def test_every_finding_has_tests(number):
    _, tests = FINDINGS[number - 1]
    assert tests
    for file, name in tests:
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
