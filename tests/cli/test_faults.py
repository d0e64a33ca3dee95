"""Short forms of the campaigns of `make faults`: calls that fail, and processes that are killed."""

import pytest
from benchmarks.faults import kills, points
from benchmarks.faults.campaign import in_pieces

pytestmark = pytest.mark.slow


def test_output_is_old_or_new_whichever_call_fails_or_is_the_last():
    outcome = in_pieces(points.measured, 40, seed=1, jobs=1)
    assert outcome.n_trials == 40
    assert outcome.wrong == []


def test_output_is_old_or_new_whenever_a_process_is_killed():
    outcome = in_pieces(kills.measured, 6, seed=1, jobs=1)
    assert outcome.n_trials == 6
    assert outcome.wrong == []
