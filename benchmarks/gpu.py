"""A GPU compared with the CPU of its machine: `python -m benchmarks.gpu --out FOLDER`.

Agreement in float64, the time of an inner iteration in float32, and the memory bandwidth it achieves, compared with
that of a plain copy on the device. Needs PyTorch with CUDA; CuPy's arrays are included if CuPy is installed.
`--device cpu --rows 4000` is a quick check of this program on a machine without a GPU.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported: scikit-learn's dispatch needs it

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
from mtcluster.core.model import Model
from mtcluster.core.solver import alternate, first_state
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators._validation import open_rows

FEATURES, TASKS, CLUSTERS = 256, 4, 16


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
        state = first_state(engine, model, engine.split(labels, np.asarray))
        state = alternate(engine, model, state, max_iter=2, tol=-np.inf).state
        _wait(X)
        began = time.perf_counter()
        alternate(engine, model, state, max_iter=iterations, tol=-np.inf)
        _wait(X)
        return (time.perf_counter() - began) / iterations


def _wait(X: Any) -> None:
    if isinstance(X, torch.Tensor) and X.is_cuda:
        torch.cuda.synchronize()


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
        for name in ("losses_", "memberships_", "weights_", "task_centers_", "shared_centers_"):
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
    gpu = min(iteration_seconds(there, tasks, labels, 50) for _ in range(rounds))
    gpu_mixed = min(iteration_seconds(there, mixed, labels, 50) for _ in range(2))
    copy = _copy_seconds(there)
    cpu = min(iteration_seconds(X, tasks, labels, 5) for _ in range(2))
    # X twice (once for the products, once for the sums), the memberships and losses written, labels, weights, sample
    # weights and squared lengths read: 8 bytes per label, 4 per float.
    moved = 2 * X.nbytes + n * (8 + 4 + 8 + 4 + 4 + 4)
    copied = 2 * X.nbytes
    return {
        "GPU, ms per iteration": 1e3 * gpu,
        "GPU, tasks interleaved, ms": 1e3 * gpu_mixed,
        "CPU, ms per iteration": 1e3 * cpu,
        "CPU / GPU": cpu / gpu,
        "bytes per iteration, GB": moved / 1e9,
        "bandwidth, GB/s": moved / gpu / 1e9,
        "bandwidth of a copy, GB/s": copied / copy / 1e9,
        "share of the copy's bandwidth": moved / gpu / (copied / copy),
    }


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
        "runs of the solver's loop, 50 iterations on the GPU, 5 on the CPU. Bytes: X read twice, labels read and",
        "written, losses written, weights, sample weights and squared lengths read. A copy reads and writes all of X.",
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
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--device", default="cuda", help="PyTorch device (default cuda)")
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
        "gpu": torch.cuda.get_device_name() if arguments.device == "cuda" else arguments.device,
        "cores": len(os.sched_getaffinity(0)),
        "rows": arguments.rows,
        "versions": versions,
        "agreement": [agreement(kind, arguments.device) for kind in kinds],
        "iteration": measure(arguments.rows, arguments.rounds, arguments.device),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "gpu.json").write_text(json.dumps(found, indent=1) + "\n")
    (arguments.out / "gpu.md").write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
