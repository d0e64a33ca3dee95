"""Where the time of a default fit goes, for four shapes: `python -m benchmarks.profiled` prints a Markdown table."""

from __future__ import annotations

import argparse
import cProfile
import pstats

from mtcluster import SPMTC

from . import data

# Step → the functions, by file and name, whose cumulative time it is. None of them calls one of another step.
STEPS = {
    "read and check": [("estimators/input.py", "open_rows")],
    "means of the tasks": [("engines/local.py", "summary")],
    "sample": [("core/sampling.py", "take_sample")],
    "view of the sample": [("search/view.py", "view_of")],
    "starts": [("search/starts.py", "starting_labels")],
    "mixtures": [("search/mixtures.py", "fit_mixtures")],
    "evidence": [("search/finding.py", "judge")],
    "the fit itself": [("estimators/plan.py", "best_of")],
}


def seconds_by_step(shape: data.Shape) -> dict[str, float]:
    """Seconds of each step of a default fit, the rest at the end."""
    X, tasks = data.make_rows(shape)
    profile = cProfile.Profile()
    profile.runcall(SPMTC(shape.n_clusters, random_state=0).fit, X, tasks=tasks)
    found = pstats.Stats(profile).get_stats_profile()
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    steps = dict.fromkeys(STEPS, 0.0)
    for (file, _, name), (_, _, _, cumulative, _) in stats.items():
        for step, functions in STEPS.items():
            if any(file.endswith(f"mtcluster/{end}") and name == own for end, own in functions):
                steps[step] += cumulative
    return {**steps, "the rest": max(found.total_tt - sum(steps.values()), 0.0), "total": found.total_tt}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="largest number of rows (default: as the shapes have them)")
    most = parser.parse_args().rows
    shapes = [shape if most is None else shape.at_most(most) for shape in data.SHAPES]
    found = {str(shape): seconds_by_step(shape) for shape in shapes}
    print("| seconds of a default fit, profiled | " + " | ".join(found) + " |")
    print("|---|" + "---|" * len(found))
    for step in [*STEPS, "the rest", "total"]:
        print(f"| {step} | " + " | ".join(f"{seconds[step]:.2f}" for seconds in found.values()) + " |")


if __name__ == "__main__":
    main()
