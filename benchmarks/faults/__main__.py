"""`python -m benchmarks.faults --out docs/results/reliability.md`: all campaigns; `--only readers` makes one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import estimators, readers

CAMPAIGNS = {"readers": (readers, 2_000), "estimators": (estimators, 5_000)}
HEAD = "# Reliability\n\nFaults on purpose, which must do no harm. Made by `make faults`.\n\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="Markdown file to write")
    parser.add_argument("--only", action="append", choices=tuple(CAMPAIGNS))
    parser.add_argument("--trials", type=int, help="trials of each campaign (default: 2,000 files, 5,000 fits)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    texts, failures = [], 0
    for name in arguments.only or CAMPAIGNS:
        campaign, trials = CAMPAIGNS[name]
        outcome = campaign.measured(arguments.trials or trials, arguments.seed)
        failures += len(outcome.wrong)
        texts.append(outcome.section(f"python -m benchmarks.faults --only {name}"))
        print(texts[-1], flush=True)
    if arguments.out is not None:
        arguments.out.write_text(HEAD + "\n".join(texts), encoding="utf-8")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
