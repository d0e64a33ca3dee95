"""The protocol of the comparison with other methods: the same features, labels for scoring only."""

from __future__ import annotations

from collections.abc import Sequence

from .methods import ABLATIONS, PEERS, SHARED
from .runs import Spec
from .views import FILES, GENERATED, OTHER_FILES, UNRELATED

TEXT = tuple(name for name in FILES if name != "WebKB6")
# Group → (features, sets).
GROUPS = {
    "text, 50 singular vectors": ("svd", TEXT),
    "text, TF-IDF": ("tfidf", TEXT),
    "not text": ("plain", tuple(OTHER_FILES)),
    "unrelated tasks": ("svd", tuple(UNRELATED)),
    "generated": ("plain", GENERATED),
}
SETS = tuple(dict.fromkeys(name for _, sets in GROUPS.values() for name in sets))
METHODS = (*PEERS, *SHARED)
ABLATION_RUNS = 3
FULL = "SPMTC-s"  # the method that the ablations change


def specs(*, sets: Sequence[str], methods: Sequence[str], runs: int, quick: bool = False) -> list[Spec]:
    """Every run; ablations are run if the full method is, which is part of the comparison."""
    found = []
    for features, group in GROUPS.values():
        for data_set in group:
            if data_set not in sets:
                continue
            for run in range(runs):
                found += [Spec("peers", "honest", features, data_set, method, run=run) for method in methods]
                if FULL in methods and not quick and run < ABLATION_RUNS:
                    found += [Spec("ablation", "honest", features, data_set, name, run=run) for name in ABLATIONS]
    return list(dict.fromkeys(found))
