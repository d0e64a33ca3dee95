"""`python -m benchmarks.faults --out docs/results/reliability.md`: all campaigns; `--only readers` makes one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter

from . import chaos, estimators, kills, points, readers, relations
from .campaign import in_pieces
from .report import noted, page

CAMPAIGNS = {  # trials at most, and processes at once where they must be few
    "points": (points, 1_000, None),
    "kills": (kills, 240, None),
    "readers": (readers, 2_000, None),
    "estimators": (estimators, 10_000, None),
    "relations": (relations, 70, None),  # cases, of some hundred comparisons each
    "chaos": (chaos, 69, 1),
}


def main() -> int:
    """Make the campaigns, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="Markdown file to write; figures go to a JSON file beside it")
    parser.add_argument("--only", action="append", choices=tuple(CAMPAIGNS))
    parser.add_argument("--trials", type=int, help="trials of each campaign (default: as many as the page tells)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes at once (default: 2)")
    arguments = parser.parse_args()
    failures = 0
    for name in arguments.only or CAMPAIGNS:
        campaign, trials, jobs = CAMPAIGNS[name]
        began, n = perf_counter(), arguments.trials or trials
        print(f"{name}: up to {n:,} trials ...", file=sys.stderr, flush=True)
        outcome = in_pieces(campaign.measured, n, arguments.seed, jobs or arguments.jobs)
        failures += len(outcome.wrong)
        print(outcome, flush=True)
        if arguments.out is not None:
            about = " ".join(str(campaign.__doc__).split())
            figures = arguments.out.with_suffix(".json")
            known = noted(figures, name, outcome, about, arguments.seed, perf_counter() - began)
            arguments.out.write_text(page(known), encoding="utf-8")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
