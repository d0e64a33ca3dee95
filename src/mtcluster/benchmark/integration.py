"""The protocol of the comparison with tools for integration: tasks that lie apart, or hold different clusters."""

from __future__ import annotations

from collections.abc import Sequence

from . import generated
from .integration_methods import FITTED, LIGER
from .runs import Spec
from .views import DIFFERENT_FILES

WIDE = "PBMC"  # too many features for mixtures and Harmony, which get principal components
# Group → set → features.
GROUPS: dict[str, dict[str, str]] = {
    "real sets": dict.fromkeys(DIFFERENT_FILES, "plain") | {WIDE: "pca"},
    "many features": {WIDE: "plain"},
    "generated sets": dict.fromkeys(generated.OTHERS, "plain"),
    "phase diagram": dict.fromkeys(generated.PHASE, "plain"),
}
SETS = tuple(dict.fromkeys(data_set for sets in GROUPS.values() for data_set in sets))
OF_FEW_FEATURES = tuple(name for name, (reach, one) in FITTED.items() if reach == "Harmony" or one != "KM")
REACH = 3.0  # points of joint ACC below the better of pooled and centred k-means that count as equal
HARD = 80.0  # below this both are wrong, and another method should be better


def specs(*, sets: Sequence[str], methods: Sequence[str], runs: int, quick: bool = False) -> list[Spec]:
    """Every run: each method that applies, on each set, with each seed; generated sets are drawn again with each."""
    return [
        Spec("integration", "honest", features, data_set, method, run=run)
        for group in GROUPS.values()
        for data_set, features in group.items()
        if data_set in sets
        for run in range(runs)
        for method in methods
        if applies(method, data_set, features)
    ]


def applies(method: str, data_set: str, features: str) -> bool:
    """LIGER needs rows that are not negative, mixtures and Harmony few features."""
    wide = data_set == WIDE and features == "plain"
    return wide if method == LIGER else not wide or method not in OF_FEW_FEATURES
