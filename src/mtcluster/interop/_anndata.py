"""Clustering of AnnData objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ..core.arrays import Array, host
from ..estimators import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture
from ..inspection import easiness, outlier_scores
from ..inspection._words import listed


def fit_anndata(
    adata: Any,
    task_key: str,
    *,
    n_clusters: int = 8,
    layer: str | None = None,
    use_rep: str | None = None,
    key_added: str = "mtcluster",
    estimator: Any = None,
    **parameters: Any,
) -> Any:
    """Cluster the cells of an AnnData object, with its batches, donors or sites as tasks.

    Results are written into `adata` under names that start with `key_added`; existing entries of these names are
    replaced. Nothing else changes. Values are used as they are, so normalise them first, or name a representation such
    as `use_rep="X_pca"`.

    Parameters
    ----------
    adata : AnnData
        Annotated matrix with one cell per row. Views are refused: `adata = adata[...].copy()` makes an object of one.
    task_key : str
        Column of `adata.obs` with the task of each cell, without missing values.
    n_clusters : int, default=8
        Number of clusters.
    layer : str, optional
        Layer to cluster instead of `adata.X`.
    use_rep : str, optional
        Entry of `adata.obsm` to cluster instead of `adata.X`.
    key_added : str, default="mtcluster"
        Name under which results are written.
    estimator : SPMTC, LSSMTC, ASI or MultiTaskGaussianMixture, optional
        Estimator of which a clone is fitted, with its own `n_clusters`. None: an `SPMTC`.
    **parameters
        Parameters of the `SPMTC`, such as `random_state=0`.

    Returns
    -------
    model : estimator
        Fitted model. `adata` now contains

        - `obs[key_added]`: cluster of each cell, categorical, as strings; missing, as are easiness and outlier score,
          for cells without any value (NaN throughout);
        - `obs[f"{key_added}_easiness"]`: easiness of each cell, see `mtcluster.inspection.easiness`;
        - `obs[f"{key_added}_outlier"]`: outlier score of each cell, see `mtcluster.inspection.outlier_scores`;
        - `obsm[f"X_{key_added}"]`: coordinates of each cell in the shared subspace;
        - `uns[key_added]`: the parameters, the tasks, `task_relatedness`, `cluster_support`,
          `cluster_presence` and `cluster_sizes`.

    Examples
    --------
    >>> import anndata  # doctest: +SKIP
    >>> from mtcluster.interop import fit_anndata
    >>> adata = anndata.read_h5ad("cells.h5ad")  # doctest: +SKIP
    >>> model = fit_anndata(adata, "batch", n_clusters=12, use_rep="X_pca", random_state=0)  # doctest: +SKIP
    >>> adata.obs["mtcluster"].value_counts()  # doctest: +SKIP
    """
    pandas = _checked(adata, key_added)
    tasks = _tasks(adata, task_key)
    X = _matrix(adata, layer, use_rep)
    if estimator is not None and parameters:
        raise ValueError(f"{', '.join(parameters)}: set the parameters of the estimator itself.")
    if estimator is not None and not isinstance(estimator, SPMTC | LSSMTC | ASI | MultiTaskGaussianMixture):
        raise TypeError(
            "estimator should be an SPMTC, LSSMTC, ASI or MultiTaskGaussianMixture, such as LSSMTC(8); got "
            f"{estimator!r}."
        )
    model = SPMTC(n_clusters, **parameters) if estimator is None else clone(estimator)
    model.fit(X, tasks=tasks)
    _write(adata, model, X, key_added, {"task_key": task_key, "layer": layer, "use_rep": use_rep}, pandas)
    return model


def _checked(adata: Any, key_added: Any) -> Any:
    """Import pandas, after checking that results can be written into `adata`."""
    try:
        import pandas
        from anndata import AnnData
    except ImportError as error:
        raise ImportError("AnnData objects need anndata: pip install 'mtcluster[anndata]'.") from error
    if not isinstance(adata, AnnData):
        raise TypeError(f"adata should be an AnnData object; got {type(adata).__name__}.")
    if adata.is_view:
        raise ValueError("adata is a view, which cannot be written into: copy it first by adata = adata.copy().")
    if not isinstance(key_added, str) or not key_added or "/" in key_added:
        raise ValueError(f"key_added={key_added!r} should be a name without '/', which .h5ad files do not allow.")
    return pandas


def _entry(entries: Any, key: Any, argument: str, where: str) -> Any:
    if key not in entries:
        known = [repr(name) for name in entries]
        there = f"there are {listed(known)}" if known else "there are none"
        raise KeyError(f"{argument}={key!r} is not in {where}: {there}.")
    return entries[key]


def _tasks(adata: Any, key: Any) -> Array:
    """Read the task of each cell: strings, numbers or whatever the column holds."""
    column = _entry(adata.obs, key, "task_key", "the columns of adata.obs")
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        first = adata.obs_names[missing[0]]
        raise ValueError(
            f"adata.obs[{key!r}] has {len(missing)} missing value(s), the first at cell {first!r}: each cell needs a "
            "task."
        )
    return np.asarray(column)


def _matrix(adata: Any, layer: str | None, use_rep: str | None) -> Any:
    if layer is not None and use_rep is not None:
        raise ValueError(f"layer={layer!r} and use_rep={use_rep!r} exclude each other: name one of them.")
    if layer is not None:
        return _entry(adata.layers, layer, "layer", "adata.layers")
    if use_rep is not None:
        X = _entry(adata.obsm, use_rep, "use_rep", "adata.obsm")
        return X.to_numpy() if hasattr(X, "to_numpy") else X
    if adata.X is None:
        raise ValueError("adata.X is None: name a layer or a use_rep.")
    return adata.X[:] if adata.isbacked else adata.X


def _write(adata: Any, model: Any, X: Any, key: str, source: dict[str, Any], pandas: Any) -> None:
    fitted = model.fitted_
    labels, codes, losses = (host(array) for array in (model.labels_, fitted.rows.tasks, model.losses_))
    names = [str(j) for j in range(fitted.model.n_clusters)]
    adata.obs[key] = pandas.Categorical.from_codes(labels, categories=names).remove_unused_categories()
    nothing = labels < 0  # cells without any value are neither easy nor outlying
    adata.obs[f"{key}_easiness"] = np.where(nothing, np.nan, easiness(losses, codes))
    adata.obs[f"{key}_outlier"] = np.where(nothing, np.nan, outlier_scores(losses, codes))
    adata.obsm[f"X_{key}"] = np.asarray(host(model.transform(X)))
    parameters = {"estimator": type(model).__name__, **source, **model.get_params()}
    adata.uns[key] = {
        "params": {  # .h5ad files hold numbers and strings, but not None
            name: value if isinstance(value, bool | int | float | str | np.number) else repr(value)
            for name, value in parameters.items()
            if value is not None
        },
        "tasks": np.array([str(task) for task in fitted.tasks.tolist()]),
        "task_relatedness": fitted.relatedness,
        "cluster_support": fitted.support,
        "cluster_presence": fitted.holds,
        "cluster_sizes": fitted.sizes,
    }
