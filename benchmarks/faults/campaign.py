"""What all campaigns share: trials by number, and what went wrong in which."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """The trials of a campaign, by what came of them, and a line for each that went wrong."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, kind: str, problem: str = "") -> None:
        """Count a trial; a problem makes it a failure."""
        self.counts[kind] += 1
        if problem:
            self.wrong.append(f"{kind}: {problem}")

    @property
    def n_trials(self) -> int:
        """The number of trials."""
        return sum(self.counts.values())

    def section(self, command: str) -> str:
        """A Markdown section."""
        lines = [f"## {self.name}", "", f"{self.n_trials:,} trials, {len(self.wrong)} failures (`{command}`).", ""]
        lines += ["| kind | trials |", "|---|---|", *(f"| {kind} | {n:,} |" for kind, n in sorted(self.counts.items()))]
        return "\n".join([*lines, "", *(f"- {line}" for line in self.wrong[:20]), ""])
