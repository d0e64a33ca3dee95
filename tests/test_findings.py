"""Everything that an attack found has tests, and the page on reliability names them."""

import ast
import json
from pathlib import Path

import pytest
from benchmarks.faults.findings import FINDINGS
from benchmarks.faults.report import page

TESTS = Path(__file__).parent


@pytest.mark.parametrize("number", range(1, len(FINDINGS) + 1))
def test_every_finding_has_tests(number):
    _, tests = FINDINGS[number - 1]
    assert tests
    for file, name in tests:
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_page_can_be_written_from_the_figures_that_are_kept():
    figures = TESTS.parent / "docs" / "results" / "reliability.json"
    text = page(json.loads(figures.read_text(encoding="utf-8")))
    assert text == figures.with_suffix(".md").read_text(encoding="utf-8")
    assert all(what in text for what, _ in FINDINGS)


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: path.relative_to(TESTS).as_posix())
def test_tests_wait_for_what_happens_and_not_for_a_time(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    inside = {id(node) for loop in loops for node in ast.walk(loop)}  # where something else ends the waiting
    waits = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("sleep")]
    assert [node.lineno for node in waits if id(node) not in inside] == []
