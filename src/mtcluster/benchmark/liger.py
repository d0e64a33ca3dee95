"""LIGER, integration by non-negative factors that tasks share; pyliger is needed, which is large, and rows ≥ 0."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
from scipy import sparse

N_FACTORS = 20


def factors(X: Any, tasks: Any, seed: int) -> Any:
    """Loadings (n, 20) of the rows on shared factors, brought to the same quantiles in all tasks.

    The steps and settings are those of pyliger's tutorial. It draws from NumPy's global random state.
    """
    import anndata
    import pyliger

    np.random.seed(seed)  # noqa: NPY002
    parts = []
    for task in np.unique(tasks).tolist():
        rows = np.flatnonzero(tasks == task)
        part = anndata.AnnData(sparse.csr_matrix(X[rows], dtype=np.float64))
        part.obs_names, part.var_names = [f"r{i}" for i in rows], [f"f{j}" for j in range(X.shape[1])]
        part.obs.index.name, part.var.index.name, part.uns["sample_name"] = "row", "feature", f"task {task}"
        parts.append(part)
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        liger = pyliger.create_liger(parts)
        pyliger.normalize(liger)
        pyliger.select_genes(liger)
        pyliger.scale_not_center(liger)
        pyliger.optimize_ALS(liger, k=N_FACTORS, rand_seed=seed + 1)  # 1 is its first
        pyliger.quantile_norm(liger, rand_seed=seed + 1)
    found = np.zeros((X.shape[0], N_FACTORS))  # rows without a single value are left out by pyliger
    for part in liger.adata_list:
        found[[int(name[1:]) for name in part.obs_names]] = part.obsm["H_norm"]
    return found
