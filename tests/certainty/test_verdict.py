"""The verdict, from numbers."""

import numpy as np
import pytest

from mtcluster.certainty import MEANINGS, VERDICTS, judge
from mtcluster.certainty.verdict import compared

REFERENCE = np.array([0.5, 0.6, 0.7])
GAP, NARROW, NONE = (np.array([[np.nan, width], [np.nan, np.nan]]) for width in (0.3, 0.8, 1.0))


@pytest.mark.parametrize(
    ("overall", "within", "between", "moved", "alone", "word"),
    [
        (0.95, 0.95, GAP, None, False, "clear"),
        (0.95, 0.95, GAP, 0.05, False, "clear"),
        (0.95, 0.95, GAP, 0.30, False, "clear within tasks"),
        (0.95, 0.95, GAP, None, True, "clear within tasks"),
        (0.60, 0.95, GAP, None, False, "clear within tasks"),
        (0.80, 0.80, GAP, None, False, "fair"),
        (0.95, 0.95, NARROW, None, False, "fair"),
        (0.95, 0.95, NONE, None, False, "fair"),
        (0.85, 0.85, NONE, None, False, "unsure"),
        (0.72, 0.72, GAP, None, False, "unsure"),
        (0.65, 0.65, GAP, None, False, "unsure"),
        (0.55, 0.58, GAP, None, False, "no clear structure"),
    ],
)
def test_words_follow_from_numbers(overall, within, between, moved, alone, word):
    assert judge(overall, within, REFERENCE, between, moved, alone).word == word


def test_every_word_has_a_meaning():
    assert set(MEANINGS) == set(VERDICTS)


def test_data_are_compared_with_those_without_clusters():
    assert [compared(value, REFERENCE) for value in (0.8, 0.65, 0.6)] == ["yes", "barely", "no"]
    assert compared(0.1, np.zeros(0)) == "yes"


def test_one_cluster_is_no_structure():
    assert judge(1.0, 1.0, np.zeros(0), np.full((1, 1), np.nan), None, False).word == "no clear structure"
