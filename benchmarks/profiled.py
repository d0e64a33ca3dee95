"""Where the time of a default fit goes, at four shapes: `python -m benchmarks.profiled` prints a Markdown table."""

from __future__ import annotations

import cProfile
import pstats

from mtcluster import SPMTC

from . import data

# Step → the functions, by file and name, whose whole time it is. None of them calls one of another step.
STEPS = {
    "read and check": [("tasks.py", "read_tasks")],
    "where the rows lie": [("engines/local.py", "local_rows")],
    "sample, leading directions": [("look.py", "take_sample"), ("look.py", "look_at")],
    "neighbours of the sample": [("look.py", "smooth")],
    "k-means of the vote": [("core/starts.py", "run_kmeans")],
    "fits of the vote": [("core/solver.py", "best_fit")],
    "the fit itself": [("restarts.py", "best_of")],
}


def seconds_by_step(shape: data.Shape) -> dict[str, float]:
    """Seconds of each step of a default fit, the rest last."""
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
    return {**steps, "the rest": max(found.total_tt - sum(steps.values()), 0.0), "in all": found.total_tt}


def main() -> None:
    found = {str(shape): seconds_by_step(shape) for shape in data.SHAPES}
    print("| seconds of a default fit, profiled | " + " | ".join(found) + " |")
    print("|---|" + "---|" * len(found))
    for step in [*STEPS, "the rest", "in all"]:
        print(f"| {step} | " + " | ".join(f"{seconds[step]:.2f}" for seconds in found.values()) + " |")


if __name__ == "__main__":
    main()
