"""Pieces of messages."""

import numpy as np
import pytest

from mtcluster._utils.text import count, listed, versions


@pytest.mark.parametrize(("n", "words"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows")])
def test_counts_are_singular_for_one_alone(n, words):
    assert count(n, "row") == words


@pytest.mark.parametrize(
    ("n", "words"), [(0, ""), (1, "0"), (3, "0, 1, 2"), (4, "0, 1, 2 and 1 more"), (9, "0, 1, 2 and 6 more")]
)
def test_lists_stop_after_so_many_names(n, words):
    assert listed(range(n), shown=3) == words


def test_versions_are_those_of_installed_packages():
    found = versions(["numpy", "no-such-package"])
    assert set(found) == {"python", "numpy"}
    assert found["numpy"] == np.__version__
