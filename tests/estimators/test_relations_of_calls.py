"""Pairs of calls whose results must agree: a short form of the campaign on relations."""

import numpy as np
import pytest

pytestmark = pytest.mark.slow

relations = pytest.importorskip("benchmarks.faults.relations", reason="the campaigns are in the repository alone")

from benchmarks.faults import relations_fits, relations_rows  # noqa: E402
from benchmarks.faults.campaign import in_pieces  # noqa: E402


def test_what_must_agree_agrees():
    outcome = in_pieces(relations.measured, 1, seed=1, jobs=1)
    assert outcome.wrong == []
    assert outcome.n_trials > 300


@pytest.mark.parametrize("known", [np.array([0, 1, 1]), np.array([0.1, 0.5, np.nan])])
def test_what_differs_is_told(known):
    assert relations_rows.differ(known, known.copy(), 0.0, "x") == ""
    assert relations_rows.differ(known, known + 1, 0.0, "x")
    assert relations_rows.differ(known, known[:2], 0.0, "x")


def test_numbers_of_clusters_are_matched_before_labels_are_compared():
    known, found = np.array([0, 0, 1, 2]), np.array([2, 2, 0, 1])
    order = relations_fits.numbers(known, found)
    assert relations_fits.labels_differ(known, relations_fits.renumbered(found, order)) == ""
    assert relations_fits.numbers(known, np.array([0, 1, 1, 2])) is None
