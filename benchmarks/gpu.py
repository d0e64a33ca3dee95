"""A GPU compared with the CPU of its machine: `python -m benchmarks.gpu --out FOLDER`.

Agreement in float64, the time of an inner iteration in float32, and the memory bandwidth it achieves, compared with
that of a plain copy on the device; the iteration with and without the fused kernel; a default fit over a plain fit from
one start. Needs PyTorch with CUDA; CuPy's arrays are included if CuPy is installed.
`--device cpu --rows 4000` is a quick check of this program on a machine without a GPU.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported: scikit-learn's dispatch needs it

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import sklearn
import torch
from scipy import sparse
from sklearn.base import BaseEstimator

from mtcluster import SPMTC
from mtcluster.core import fused
from mtcluster.core.model import Model
from mtcluster.core.solver import alternate, first_state
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators.input import open_rows

FEATURES, TASKS, CLUSTERS = 256, 4, 16
PLAIN = {"within_weight": 0.5, "init": "pooled", "n_init": 1}
LIMITS = {"GPU, ms per iteration": 2.0, "default fit / plain fit": 2.0}


def overlapping_rows(n: int, d: int, c: int, seed: int = 0) -> np.ndarray:
    """Overlapping blobs, so that the fit keeps moving rows: centres with a standard deviation of 0.2, noise of 1."""
    rng = np.random.default_rng(seed)
    centers = 0.2 * rng.standard_normal((c, d), dtype=np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += centers[rng.integers(c, size=n)]
    return X


def iteration_seconds(X: Any, tasks: np.ndarray, labels: np.ndarray, iterations: int) -> float:
    """Time of an inner iteration of the solver, from given labels; the first few are not counted."""
    model = Model(CLUSTERS, within_weight=0.5, n_components=CLUSTERS)
    with open_rows(BaseEstimator(), X, tasks, reset=True, centered=model.free_origin) as engine:
        state = first_state(engine, model, [engine.split(labels, np.asarray)])
        state = alternate(engine, model, state, max_iter=2, tol=-np.inf).state
        _wait(X)
        began = time.perf_counter()
        alternate(engine, model, state, max_iter=iterations, tol=-np.inf)
        _wait(X)
        return (time.perf_counter() - began) / iterations


def _wait(X: Any) -> None:
    if isinstance(X, torch.Tensor) and X.is_cuda:
        torch.cuda.synchronize()


@contextmanager
def kernel_used() -> Iterator[list[int]]:
    """Counts the steps that the fused kernel takes."""
    count, step = [0], fused.step

    def counted(*arguments: Any) -> tuple[Any, ...]:
        count[0] += 1
        return step(*arguments)

    with patch.object(fused, "step", counted):
        yield count


def without_kernel() -> Any:
    """A context in which the array API path takes every step."""
    return patch.object(fused, "available", lambda *arguments: False)


def fit_seconds(X: Any, tasks: np.ndarray, **parameters: Any) -> float:
    """Time of a whole fit."""
    _wait(X)
    began = time.perf_counter()
    SPMTC(CLUSTERS, random_state=0, **parameters).fit(X, tasks=tasks)
    _wait(X)
    return time.perf_counter() - began


def _copy_seconds(X: torch.Tensor, rounds: int = 20) -> float:
    """Shortest time of a plain copy on the device."""
    other, times = torch.empty_like(X), []
    for _ in range(rounds):
        _wait(X)
        began = time.perf_counter()
        other.copy_(X)
        _wait(X)
        times.append(time.perf_counter() - began)
    return min(times)


def agreement(kind: str, device: str) -> dict[str, Any]:
    """Largest relative difference between GPU and CPU in float64, for a default fit and a non-negative one."""
    X, _, tasks = make_multitask_blobs(n_tasks=4, n_samples=500, n_clusters=6, n_features=20, random_state=0)
    worst, same = 0.0, True
    for parameters in ({}, {"within_weight": 0.5, "membership": "nonnegative"}, {"weighting": "hard"}):
        if kind == "torch":
            there: Any = torch.asarray(X, device=device)
        elif kind == "cupy":
            import cupy

            there = cupy.asarray(X)
        else:
            import cupyx.scipy.sparse

            X = np.where(X > 1, X, 0)
            there = cupyx.scipy.sparse.csr_matrix(sparse.csr_matrix(X))
        here = sparse.csr_matrix(X) if kind == "cupy sparse" else X
        cpu = SPMTC(6, random_state=0, **parameters).fit(here, tasks=tasks)
        gpu = SPMTC(6, random_state=0, **parameters).fit(there, tasks=tasks)
        same = same and bool(np.array_equal(_numpy(gpu.labels_), cpu.labels_))
        same = same and bool(np.array_equal(_numpy(gpu.predict(there, tasks=tasks)), cpu.labels_))
        for name in ("losses_", "memberships_", "weights_", "task_centers_", "cluster_centers_"):
            a, b = np.asarray(getattr(cpu, name)), _numpy(getattr(gpu, name))
            worst = max(worst, float(np.abs(a - b).max() / np.abs(a).max()))
    return {"library": kind, "largest relative difference": worst, "same labels": same}


def _numpy(values: Any) -> np.ndarray:
    if hasattr(values, "cpu"):
        return values.cpu().numpy()
    return values.get() if hasattr(values, "get") and not isinstance(values, np.ndarray) else np.asarray(values)


def measure(n: int, rounds: int, device: str) -> dict[str, Any]:
    """The time of an inner iteration on both devices, and the bandwidth."""
    torch.backends.cuda.matmul.allow_tf32 = False
    X = overlapping_rows(n, FEATURES, CLUSTERS)
    rng = np.random.default_rng(0)
    labels = rng.integers(CLUSTERS, size=n)
    tasks = np.arange(n) * TASKS // n
    mixed = rng.permutation(tasks)
    there = torch.asarray(X, device=device)
    with kernel_used() as steps:
        gpu = min(iteration_seconds(there, tasks, labels, 50) for _ in range(rounds))
    gpu_mixed = min(iteration_seconds(there, mixed, labels, 50) for _ in range(2))
    with without_kernel():
        plain = min(iteration_seconds(there, tasks, labels, 50) for _ in range(rounds))
        plain_mixed = min(iteration_seconds(there, mixed, labels, 50) for _ in range(2))
    copy = _copy_seconds(there)
    cpu = min(iteration_seconds(X, tasks, labels, 5) for _ in range(2))
    # X twice (for the products and for the sums), the memberships and losses written, labels, weights, sample weights
    # and squared lengths read: 8 bytes per label, 4 per float.
    moved = 2 * X.nbytes + n * (8 + 4 + 8 + 4 + 4 + 4)
    copied = 2 * X.nbytes
    return {
        "GPU, ms per iteration": 1e3 * gpu,
        "GPU, tasks interleaved, ms": 1e3 * gpu_mixed,
        "GPU without the kernel, ms": 1e3 * plain,
        "GPU without the kernel, tasks interleaved, ms": 1e3 * plain_mixed,
        "steps that the kernel took": steps[0],
        "CPU, ms per iteration": 1e3 * cpu,
        "CPU / GPU": cpu / gpu,
        "bytes per iteration, GB": moved / 1e9,
        "bandwidth, GB/s": moved / gpu / 1e9,
        "bandwidth of a copy, GB/s": copied / copy / 1e9,
        "share of the copy's bandwidth": moved / gpu / (copied / copy),
    }


def measure_fits(n: int, rounds: int, device: str) -> dict[str, Any]:
    """A default fit over a plain fit from one start, in turns, and the fits with the kernel and without it."""
    torch.backends.cuda.matmul.allow_tf32 = False
    X = torch.asarray(overlapping_rows(n, FEATURES, CLUSTERS), device=device)
    tasks = np.arange(n) * TASKS // n
    mixed = np.random.default_rng(0).permutation(tasks)
    few = 50 * CLUSTERS
    SPMTC(CLUSTERS, random_state=0).fit(X[:few], tasks=np.arange(few) % TASKS)  # loads libraries
    found: dict[str, Any] = {}
    for name, own in (("", tasks), (", tasks interleaved", mixed)):
        pairs = [(fit_seconds(X, own), fit_seconds(X, own, **PLAIN)) for _ in range(rounds)]  # in turns
        default, plain = (min(times) for times in zip(*pairs, strict=True))
        found[f"default fit{name}, s"] = default
        found[f"plain fit from one start{name}, s"] = plain
        found[f"default fit / plain fit{name}"] = default / plain
    with kernel_used() as steps:
        own = SPMTC(CLUSTERS, random_state=0, **PLAIN).fit(X, tasks=tasks)
    with without_kernel():
        reference = SPMTC(CLUSTERS, random_state=0, **PLAIN).fit(X, tasks=tasks)
    same = _numpy(own.labels_) == _numpy(reference.labels_)
    return found | {
        "iterations of the plain fit": int(own.n_iter_),
        "the same without the kernel": int(reference.n_iter_),
        "steps that the kernel took": steps[0],
        "plain fit, equal labels, share": float(np.mean(same)),
        "plain fit, largest relative difference of losses of rows with equal labels": _difference(
            _numpy(own.losses_)[same], _numpy(reference.losses_)[same]
        ),
        "plain fit, relative difference of the sums of losses": _difference(
            _numpy(own.losses_).sum(dtype=float), _numpy(reference.losses_).sum(dtype=float)
        ),
        **same_step(X, tasks),
    }


def same_step(X: Any, tasks: np.ndarray) -> dict[str, float]:
    """One iteration from the same state with the kernel and without it, before differences can add up."""
    labels = np.random.default_rng(0).integers(CLUSTERS, size=len(tasks))
    model = Model(CLUSTERS, within_weight=0.5, n_components=CLUSTERS)
    with open_rows(BaseEstimator(), X, tasks, reset=True, centered=model.free_origin) as engine:
        start = first_state(engine, model, [engine.split(labels, np.asarray)])
        start = alternate(engine, model, start, max_iter=5, tol=-np.inf).state  # away from centres that nearly coincide
        own = alternate(engine, model, start, max_iter=1, tol=-np.inf).state
        with without_kernel():
            reference = alternate(engine, model, start, max_iter=1, tol=-np.inf).state
    ours, others = ([_joined(values) for values in (state.Ps, state.Ls)] for state in (own, reference))
    same = ours[0] == others[0]
    return {
        "one iteration, equal labels, share": float(np.mean(same)),
        "one iteration, largest relative difference of losses": _difference(ours[1], others[1]),
    }


def _joined(values: Any) -> np.ndarray:
    """Values of one run, task by task, as one array."""
    return np.concatenate([_numpy(part).ravel() for part in values])


def _difference(a: Any, b: Any) -> float:
    """Largest relative difference."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return float(np.max(np.abs(a - b) / np.maximum(np.abs(b), 1e-12), initial=0.0))


def shown(name: str, value: float) -> str:
    """A line of a table, with the limit where there is one; bold where it is missed."""
    text = f"{value:,.2f}" if value >= 0.01 or value == 0 else f"{value:.1e}"
    if isinstance(value, int):
        text = f"{value:,}"
    if name.endswith("share"):
        text = f"{value:.6f}"
    if name in LIMITS:
        text = f"{text} (≤ {LIMITS[name]:g})" if value <= LIMITS[name] else f"**{text}** (≤ {LIMITS[name]:g})"
    return f"| {name} | {text} |"


def page(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "# A GPU compared with the CPU of its machine",
        "",
        f"Made by `python -m benchmarks.gpu --out docs/results` on an {found['gpu']} and {found['cores']} CPU cores "
        f"({found['versions']}).",
        "",
        "## Agreement in float64",
        "",
        "Default fit, hard weights, and non-negative memberships, on 2 000 rows of 4 tasks (made sparse for CuPy's",
        "sparse matrices): largest relative difference of losses, memberships, weights and centres.",
        "",
        "| arrays | largest relative difference | same labels, `predict` too |",
        "|---|---|---|",
        *(
            f"| {row['library']} | {row['largest relative difference']:.1e} | {'yes' if row['same labels'] else 'no'} |"
            for row in found["agreement"]
        ),
        "",
        "## An inner iteration",
        "",
        f"Dense {found['rows']:,} x {FEATURES}, {TASKS} tasks, {CLUSTERS} clusters, float32, TF32 off; best of several",
        "runs of the solver's loop, 50 iterations on the GPU, 5 on the CPU. The GPU takes steps with the fused kernels",
        "where it can, and without them where that is said. Bytes: X read twice, labels read and written, losses",
        "written, weights, sample weights and squared lengths read. A copy reads and writes all of X.",
        "",
        "| | |",
        "|---|---|",
        *(shown(name, value) for name, value in found["iteration"].items()),
        "",
        "## Whole fits",
        "",
        "The same rows on the GPU, in turns, best of several: SPMTC with its defaults, and a plain fit from one start",
        "(`SPMTC(16, within_weight=0.5, init='pooled', n_init=1, random_state=0)`). Then the plain fit with the fused",
        "kernel and without it, and one iteration from the same state, where rounding cannot add up.",
        "",
        "| | |",
        "|---|---|",
        *(shown(name, value) for name, value in found["fits"].items()),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for gpu.json and gpu.md")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--device", default="cuda", help="PyTorch device (default cuda)")
    arguments = parser.parse_args()
    sklearn.set_config(array_api_dispatch=True)
    warnings.simplefilter("ignore")  # fits that are stopped on purpose
    kinds = ["torch"]
    try:
        import cupy

        kinds += ["cupy", "cupy sparse"]
        versions = f"PyTorch {torch.__version__}, CuPy {cupy.__version__}, NumPy {np.__version__}"
    except ImportError:
        versions = f"PyTorch {torch.__version__}, NumPy {np.__version__}"
    found = {
        "gpu": torch.cuda.get_device_name() if arguments.device == "cuda" else arguments.device,
        "cores": len(os.sched_getaffinity(0)),
        "rows": arguments.rows,
        "versions": versions,
        "agreement": [agreement(kind, arguments.device) for kind in kinds],
        "iteration": measure(arguments.rows, arguments.rounds, arguments.device),
        "fits": measure_fits(arguments.rows, min(arguments.rounds, 3), arguments.device),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "gpu.json").write_text(json.dumps(found, indent=1) + "\n")
    (arguments.out / "gpu.md").write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
