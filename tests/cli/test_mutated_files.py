"""Files that are damaged in any way are read or refused: a short form of the campaign in benchmarks."""

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("resource", reason="limits of processes are those of Unix")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("skops", reason="skops is not installed")
readers = pytest.importorskip("benchmarks.faults.readers", reason="the campaigns are in the repository alone")

from benchmarks.faults.campaign import in_pieces  # noqa: E402


def test_mutated_files_end_in_results_or_in_a_sentence():
    outcome = in_pieces(readers.measured, 40, seed=3, jobs=1)
    assert outcome.wrong == []
    assert outcome.n_trials == 40
