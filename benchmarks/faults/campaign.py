"""What all campaigns share: trials by number, what came of each, and their numbers in pieces for several processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

Measured = Callable[[Iterable[int], int], "Outcome"]  # the numbers of trials, and a seed


@dataclass
class Outcome:
    """The trials of a campaign, by what came of them, and a line for each that went wrong."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    note: str = ""  # what else is worth knowing

    def add(self, kind: str, problem: str = "") -> None:
        """Count a trial; a problem makes it a failure."""
        self.counts[kind] += 1
        if problem:
            self.wrong.append(f"{kind}: {problem}")

    @property
    def n_trials(self) -> int:
        """The number of trials."""
        return sum(self.counts.values())

    def __str__(self) -> str:
        """Figures, and what went wrong."""
        kinds = (f"  {kind}: {n:,}" for kind, n in sorted(self.counts.items()))
        head = f"{self.name}: {self.n_trials:,} trials, {len(self.wrong)} failures"
        return "\n".join([head, *([self.note] if self.note else []), *kinds, *self.wrong])


def in_pieces(measured: Measured, trials: int, seed: int, jobs: int) -> Outcome:
    """All trials, by `jobs` new processes, which have no threads that forks would lack."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(measured, [range(j, trials, jobs) for j in range(jobs)], [seed] * jobs))
    wrong = [line for part in parts for line in part.wrong]
    return Outcome(parts[0].name, sum((part.counts for part in parts), Counter()), wrong, parts[0].note)
