"""The verdict, from numbers that are written down."""

import numpy as np
import pytest

from mtcluster.certainty import MEANINGS, VERDICTS, judge
from mtcluster.certainty.verdict import compared

LOW, MIXED, HIGH = np.array([0.5, 0.6, 0.7]), np.array([0.6, 0.8, 0.99]), np.array([0.99, 0.995, 1.0])
GAPS, SLIGHT, SOME, NONE = [0.1, 0.4], [0.6, 0.7], [0.1, 0.2, 1.1], [1.0, 1.2]


@pytest.mark.parametrize(
    ("overall", "reference", "ratios", "word", "beats", "separated"),
    [
        (0.95, LOW, GAPS, "clear", "yes", 1),
        (0.80, LOW, GAPS, "fair", "yes", 1),  # not stable enough
        (0.95, MIXED, GAPS, "fair", "barely", 1),  # one data set without clusters is as stable
        (0.95, LOW, SLIGHT, "fair", "yes", 0),
        (0.95, LOW, SOME, "fair", "yes", 2 / 3),  # most neighbours have a gap between them
        (0.95, MIXED, SLIGHT, "unsure", "barely", 0),
        (0.95, LOW, NONE, "unsure", "yes", 0),
        (0.72, LOW, GAPS, "unsure", "yes", 1),
        (0.95, HIGH, GAPS, "no clear structure", "no", 1),
        (1.00, np.ones(3), [], "no clear structure", "no", np.nan),  # one cluster
        (0.95, LOW, [], "unsure", "yes", np.nan),
        (0.95, LOW, [np.nan, np.nan], "unsure", "yes", np.nan),
    ],
)
def test_words(overall, reference, ratios, word, beats, separated):
    found = judge(overall, reference, np.array(ratios))
    assert (found.word, found.beats) == (word, beats)
    assert found.separated == pytest.approx(separated, nan_ok=True)
    assert found.meaning == MEANINGS[word]


def test_every_word_has_a_meaning_and_every_meaning_a_word():
    assert tuple(MEANINGS) == VERDICTS


def test_comparison_with_data_without_clusters():
    assert compared(0.8, LOW) == "yes"
    assert compared(0.65, LOW) == "barely"
    assert compared(0.6, LOW) == "no"
    assert compared(0.6, np.zeros(0)) == "yes"
