"""What must hold for every fit, over random shapes, types, scales, weights and labels: a short form of the campaign."""

import pytest

pytestmark = pytest.mark.slow

estimators = pytest.importorskip("benchmarks.faults.estimators", reason="the campaigns are in the repository alone")

from benchmarks.faults.campaign import in_pieces  # noqa: E402


def test_random_fits_hold_what_is_promised_or_are_refused():
    outcome = in_pieces(estimators.measured, 60, seed=1, jobs=1)
    assert outcome.wrong == []
    assert outcome.n_trials == 60
