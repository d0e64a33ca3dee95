"""Starting memberships: one class per kind of start, registered by name."""

from .base import SampledStart, Start
from .per_task import PerTask
from .pooled import Pooled
from .random import Random

STARTS: dict[str, Start] = {start.name: start for start in (Random(), PerTask(), Pooled())}
TRIED = ("per-task", "pooled")  # by init="auto" where there is no consensus


def tried(n_tasks: int) -> list[str]:
    """The kinds of start that differ: with one task, per-task is pooled."""
    return list(TRIED) if n_tasks > 1 else ["pooled"]


__all__ = ["STARTS", "PerTask", "Pooled", "Random", "SampledStart", "Start", "tried"]
