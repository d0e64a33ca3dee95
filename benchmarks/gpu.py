"""A GPU against the CPU of its machine: `python -m benchmarks.gpu --out FOLDER`.

Agreement in float64, the time of an inner iteration in float32, and the memory bandwidth that it achieves against that
of a plain copy on the device. Needs PyTorch with CUDA; CuPy's sparse matrices are tried where CuPy is installed.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported: scikit-learn's dispatch asks for it

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from scipy import sparse
from sklearn.base import BaseEstimator

from mtcluster import SPMTC
from mtcluster.core.model import Settings
from mtcluster.core.solver import alternate, first_state
from mtcluster.datasets import make_multitask_blobs
from mtcluster.engines.local import local_rows, row_threads
from mtcluster.estimators._validation import read_tasks, read_weights

ROWS, FEATURES, TASKS, CLUSTERS = 2_000_000, 256, 4, 16


def overlapping_rows(n: int, d: int, c: int, seed: int = 0) -> np.ndarray:
    """Blobs that overlap, so that the fit goes on moving rows: centres 0.2 apart in each direction, noise of 1."""
    rng = np.random.default_rng(seed)
    centers = 0.2 * rng.standard_normal((c, d), dtype=np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += centers[rng.integers(c, size=n)]
    return X


def iteration_seconds(X: Any, tasks: np.ndarray, labels: np.ndarray, iterations: int) -> float:
    """Time of an inner iteration of the solver, from given labels; the first few are not counted."""
    settings = Settings(0.5, CLUSTERS)
    data = read_tasks(BaseEstimator(), X, tasks, reset=True)
    us = read_weights(None, data, data.dtype)
    with row_threads(None) as each:
        rows = local_rows(data, us, settings, CLUSTERS, each)
        state = first_state(rows, settings, rows.place(data.split(labels)))
        state = alternate(rows, settings, state, max_iter=2, tol=-np.inf).state
        _wait(X)
        began = time.perf_counter()
        alternate(rows, settings, state, max_iter=iterations, tol=-np.inf)
        _wait(X)
        return (time.perf_counter() - began) / iterations


def _wait(X: Any) -> None:
    if isinstance(X, torch.Tensor):
        torch.cuda.synchronize()


def _copy_seconds(X: torch.Tensor, rounds: int = 20) -> float:
    """Shortest time of a plain copy on the device."""
    other, times = torch.empty_like(X), []
    for _ in range(rounds):
        torch.cuda.synchronize()
        began = time.perf_counter()
        other.copy_(X)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return min(times)


def agreement(kind: str) -> dict[str, Any]:
    """Largest relative difference between GPU and CPU in float64, for a default fit and a non-negative one."""
    X, _, tasks = make_multitask_blobs(n_tasks=4, n_samples=500, n_clusters=6, n_features=20, random_state=0)
    worst, same = 0.0, True
    for parameters in ({}, {"within_weight": 0.5, "membership": "nonnegative"}, {"weighting": "hard"}):
        if kind == "torch":
            there: Any = torch.asarray(X, device="cuda")
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
        for name in ("losses_", "memberships_", "weights_", "task_centers_", "shared_centers_"):
            a, b = np.asarray(getattr(cpu, name)), _numpy(getattr(gpu, name))
            worst = max(worst, float(np.abs(a - b).max() / np.abs(a).max()))
    return {"library": kind, "largest relative difference": worst, "same labels": same}


def _numpy(values: Any) -> np.ndarray:
    if hasattr(values, "cpu"):
        return values.cpu().numpy()
    return values.get() if hasattr(values, "get") and not isinstance(values, np.ndarray) else np.asarray(values)


def measure(rounds: int) -> dict[str, Any]:
    """The time of an inner iteration on both sides, and the bandwidth."""
    torch.backends.cuda.matmul.allow_tf32 = False
    X = overlapping_rows(ROWS, FEATURES, CLUSTERS)
    rng = np.random.default_rng(0)
    labels = rng.integers(CLUSTERS, size=ROWS)
    tasks = np.repeat(np.arange(TASKS), ROWS // TASKS)
    mixed = rng.permutation(tasks)
    there = torch.asarray(X, device="cuda")
    gpu = min(iteration_seconds(there, tasks, labels, 50) for _ in range(rounds))
    gpu_mixed = min(iteration_seconds(there, mixed, labels, 50) for _ in range(2))
    copy = _copy_seconds(there)
    cpu = min(iteration_seconds(X, tasks, labels, 5) for _ in range(2))
    # X twice (once for the products, once for the sums), the memberships and losses written, labels, weights, sample
    # weights and squared lengths read: 8 bytes a label, 4 a float.
    moved = 2 * X.nbytes + ROWS * (8 + 4 + 8 + 4 + 4 + 4)
    copied = 2 * X.nbytes
    return {
        "GPU, ms an iteration": 1e3 * gpu,
        "GPU, tasks interleaved, ms": 1e3 * gpu_mixed,
        "CPU, ms an iteration": 1e3 * cpu,
        "CPU / GPU": cpu / gpu,
        "bytes an iteration, GB": moved / 1e9,
        "bandwidth, GB/s": moved / gpu / 1e9,
        "bandwidth of a copy, GB/s": copied / copy / 1e9,
        "share of the copy's bandwidth": moved / gpu / (copied / copy),
    }


def page(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "# A GPU against the CPU of its machine",
        "",
        f"Made by `python -m benchmarks.gpu --out docs/results` on an {found['gpu']} beside {found['cores']} CPU cores "
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
        f"Dense {ROWS:,} x {FEATURES}, {TASKS} tasks, {CLUSTERS} clusters, float32, TF32 off; best of several runs of",
        "the solver's own loop, 50 iterations on the GPU, 5 on the CPU. Bytes: X read twice, labels read and written,",
        "losses written, weights, sample weights and squared lengths read. A copy reads and writes every byte of X.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value:,.2f} |" for name, value in found["iteration"].items()),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for gpu.json and gpu.md")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    sklearn.set_config(array_api_dispatch=True)
    kinds = ["torch"]
    try:
        import cupy

        kinds += ["cupy", "cupy sparse"]
        versions = f"PyTorch {torch.__version__}, CuPy {cupy.__version__}, NumPy {np.__version__}"
    except ImportError:
        versions = f"PyTorch {torch.__version__}, NumPy {np.__version__}"
    found = {
        "gpu": torch.cuda.get_device_name(),
        "cores": len(os.sched_getaffinity(0)),
        "versions": versions,
        "agreement": [agreement(kind) for kind in kinds],
        "iteration": measure(arguments.rounds),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "gpu.json").write_text(json.dumps(found, indent=1) + "\n")
    (arguments.out / "gpu.md").write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
