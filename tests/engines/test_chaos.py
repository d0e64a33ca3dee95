"""Faults in Dask clusters end with the same labels or with a sentence: a short form of the campaign in benchmarks."""

import pytest

pytestmark = [pytest.mark.dask, pytest.mark.slow]

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'mtcluster[dask]'")
pytest.importorskip("benchmarks.faults.chaos", reason="the campaigns are in the repository alone")

from benchmarks.faults.chaos import measured  # noqa: E402
from benchmarks.faults.chaos_faults import FAULTS  # noqa: E402

KINDS = (
    "a worker is killed",
    "all workers are killed, and none comes in their place",
    "a chunk fails to be read always",
    "the cluster is restarted",
    "the client is closed",
    "a file vanishes, read by threads",
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_labels_or_a_sentence_whatever_happens_to_a_cluster(kind):
    outcome = measured([list(FAULTS).index(kind)], seed=2)
    assert outcome.wrong == []
    assert outcome.counts == {kind: 1}
