"""AnnData objects: what is read, and what is written into them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from mtcluster import ASI, LSSMTC, SPMTC, Pooled
from mtcluster.inspection import easiness, outlier_scores
from mtcluster.interop import fit_anndata as fit

anndata = pytest.importorskip("anndata")
pd = pytest.importorskip("pandas")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("error::UserWarning")]


@pytest.fixture
def cells(blobs):
    """Cells of three batches, with a reduction, a layer and something else in obs."""
    X, y, tasks = blobs
    obs = pd.DataFrame(
        {"batch": pd.Categorical(np.array(["b1", "b2", "b3"])[tasks]), "site": tasks, "truth": y.astype(str)},
        index=[f"cell{i}" for i in range(len(X))],
    )
    adata = anndata.AnnData(np.abs(X), obs=obs)
    adata.layers["counts"] = sparse.csr_matrix(np.round(np.abs(X)))
    adata.obsm["X_pca"] = X
    return adata


@pytest.mark.slow
def test_what_is_found_is_written(cells):
    model = fit(cells, "batch", n_clusters=4, use_rep="X_pca", random_state=0)
    X, tasks = cells.obsm["X_pca"], np.asarray(cells.obs["batch"])
    wanted = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    np.testing.assert_array_equal(model.labels_, wanted.labels_)
    assert isinstance(cells.obs["mtcluster"].dtype, pd.CategoricalDtype)
    assert cells.obs["mtcluster"].astype(int).tolist() == wanted.labels_.tolist()
    np.testing.assert_allclose(cells.obs["mtcluster_easiness"], easiness(wanted.losses_, wanted.fitted_.rows.tasks))
    np.testing.assert_allclose(
        cells.obs["mtcluster_outlier"], outlier_scores(wanted.losses_, wanted.fitted_.rows.tasks)
    )
    np.testing.assert_allclose(cells.obsm["X_mtcluster"], wanted.transform(X))
    found = cells.uns["mtcluster"]
    assert found["tasks"].tolist() == ["b1", "b2", "b3"]
    np.testing.assert_allclose(found["task_relatedness"], wanted.task_relatedness_)
    np.testing.assert_allclose(found["cluster_support"], wanted.fitted_.support)
    np.testing.assert_allclose(found["cluster_sizes"], wanted.cluster_sizes_)
    assert found["params"]["n_clusters"] == 4
    assert found["params"]["use_rep"] == "X_pca"
    assert found["params"]["estimator"] == "SPMTC"


def test_nothing_else_changes(cells):
    before = cells.copy()
    fit(cells, "batch", n_clusters=4, key_added="groups", random_state=0)
    np.testing.assert_array_equal(cells.X, before.X)
    pd.testing.assert_frame_equal(cells.obs[before.obs.columns], before.obs)
    assert set(cells.obs) - set(before.obs) == {"groups", "groups_easiness", "groups_outlier"}
    assert set(cells.obsm) - set(before.obsm) == {"X_groups"}
    assert set(cells.uns) == {"groups"}
    assert set(cells.layers) == {"counts"}


def test_it_survives_a_file(cells, tmp_path):
    fit(cells, "batch", n_clusters=4, init=np.eye(4)[np.arange(120) % 4], random_state=np.random.RandomState(0))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    pd.testing.assert_frame_equal(again.obs, cells.obs)
    np.testing.assert_array_equal(again.obsm["X_mtcluster"], cells.obsm["X_mtcluster"])
    assert again.uns["mtcluster"].keys() == cells.uns["mtcluster"].keys()
    for name, value in cells.uns["mtcluster"].items():
        if name == "params":
            assert {key: str(item) for key, item in again.uns["mtcluster"][name].items()} == {
                key: str(item) for key, item in value.items()
            }
        else:
            np.testing.assert_array_equal(again.uns["mtcluster"][name], value)


@pytest.mark.slow
def test_a_file_opened_in_place_is_read(cells, tmp_path):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    model = fit(backed, "batch", n_clusters=4, random_state=0)
    np.testing.assert_array_equal(model.labels_, fit(cells, "batch", n_clusters=4, random_state=0).labels_)
    backed.file.close()


@pytest.mark.parametrize(
    "as_x",
    [
        np.asarray,
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.csr_array,
        lambda X: X.astype(np.float32),
        lambda X: sparse.csr_matrix(X.astype(np.float32)),
        lambda X: X.astype(np.int64),
        lambda X: sparse.csc_matrix(X.astype(np.int32)),
    ],
    ids=["dense", "csr", "csc", "csr_array", "float32", "csr float32", "int", "csc int"],
)
def test_every_kind_of_matrix_is_read(cells, as_x):
    whole = 10 * np.round(cells.X)
    adata = anndata.AnnData(as_x(whole), obs=cells.obs.copy())
    fit(adata, "batch", n_clusters=4, metric="euclidean", random_state=0)
    wanted = SPMTC(4, metric="euclidean", random_state=0).fit(whole, tasks=np.asarray(cells.obs["batch"]))
    assert np.mean(adata.obs["mtcluster"].astype(int) == wanted.labels_) > 0.95
    assert adata.obsm["X_mtcluster"].shape == (120, 4)


def test_layers_and_frames_are_read(cells):
    fit(cells, "batch", n_clusters=3, layer="counts", key_added="counts", random_state=0)
    wanted = SPMTC(3, random_state=0).fit(cells.layers["counts"], tasks=np.asarray(cells.obs["batch"]))
    assert cells.obs["counts"].astype(int).tolist() == wanted.labels_.tolist()
    cells.obsm["frame"] = pd.DataFrame(cells.obsm["X_pca"], index=cells.obs_names).rename(columns=str)
    by_frame = fit(cells, "batch", n_clusters=4, use_rep="frame", random_state=0)
    by_array = fit(cells, "batch", n_clusters=4, use_rep="X_pca", random_state=0)
    np.testing.assert_array_equal(by_frame.labels_, by_array.labels_)


def test_tasks_may_be_numbers(cells):
    fit(cells, "site", n_clusters=4, use_rep="X_pca", random_state=0)
    assert cells.uns["mtcluster"]["tasks"].tolist() == ["0", "1", "2"]


@pytest.mark.parametrize("estimator", [LSSMTC(4, random_state=0), ASI(4, random_state=0)])
def test_another_estimator_is_cloned(cells, estimator):
    model = fit(cells, "batch", use_rep="X_pca", estimator=estimator)
    assert type(model) is type(estimator)
    assert not hasattr(estimator, "labels_")
    assert cells.uns["mtcluster"]["params"]["estimator"] == type(estimator).__name__


def test_a_second_run_replaces_the_first(cells):
    fit(cells, "batch", n_clusters=6, use_rep="X_pca", random_state=0)
    fit(cells, "batch", n_clusters=2, use_rep="X_pca", random_state=0)
    assert cells.obs["mtcluster"].cat.categories.tolist() == ["0", "1"]
    assert cells.uns["mtcluster"]["cluster_sizes"].shape == (3, 2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"task_key": "donor"},
            KeyError,
            "task_key='donor' is not in the columns of adata.obs: there are 'batch', 'site' and 'truth'",
        ),
        ({"layer": "spliced"}, KeyError, "layer='spliced' is not in adata.layers: there are 'counts'"),
        ({"use_rep": "X_umap"}, KeyError, "use_rep='X_umap' is not in adata.obsm: there are 'X_pca'"),
        ({"use_rep": "X_pca", "layer": "counts"}, ValueError, "name one of them"),
        ({"n_clusters": 121}, ValueError, "n_samples=120 should be >= n_clusters=121"),
        ({"key_added": ""}, ValueError, "key_added=''"),
        ({"key_added": "a/b"}, ValueError, "key_added='a/b'"),
        (
            {"estimator": LSSMTC(4), "weighting": "hard"},
            ValueError,
            "weighting: set the parameters of the estimator itself",
        ),
        ({"estimator": "SPMTC"}, TypeError, "estimator should be an SPMTC, LSSMTC, ASI or MultiTaskGaussianMixture"),
        (
            {"estimator": Pooled(KMeans(4))},
            TypeError,
            "estimator should be an SPMTC, LSSMTC, ASI or MultiTaskGaussianMixture",
        ),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_written(cells, arguments, error, message):
    before = set(cells.obs), set(cells.obsm), set(cells.uns)
    with pytest.raises(error, match=message):
        fit(cells, **{"task_key": "batch", **arguments})
    assert (set(cells.obs), set(cells.obsm), set(cells.uns)) == before


def test_missing_tasks_are_named(cells):
    cells.obs.loc["cell7", "batch"] = None
    with pytest.raises(ValueError, match=r"adata.obs\['batch'\] has 1 missing value\(s\), the first at cell 'cell7'"):
        fit(cells, "batch", n_clusters=4)


def test_views_and_other_things_are_refused(cells):
    with pytest.raises(ValueError, match=r"adata is a view.*adata\.copy\(\)"):
        fit(cells[:50], "batch", n_clusters=4)
    fit(cells[:50].copy(), "batch", n_clusters=2, random_state=0)
    with pytest.raises(TypeError, match="adata should be an AnnData object; got ndarray"):
        fit(cells.X, "batch")
    with pytest.raises(ValueError, match=r"adata\.X is None"):
        fit(anndata.AnnData(obs=cells.obs), "batch", n_clusters=4)


def test_cells_with_gaps_and_without_any_value(cells, tmp_path):
    X = cells.obsm["X_pca"].copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[4] = np.nan
    cells.obsm["X_gaps"] = X
    with pytest.warns(UserWarning, match="no value at all"):
        model = fit(cells, "batch", n_clusters=4, use_rep="X_gaps", random_state=0)
    assert model.labels_[4] == -1
    assert cells.obs["mtcluster"].isna().tolist() == (model.labels_ < 0).tolist()
    for name in ("mtcluster_easiness", "mtcluster_outlier"):
        assert cells.obs[name].isna().tolist() == (model.labels_ < 0).tolist()
    assert np.isfinite(cells.obsm["X_mtcluster"]).all()
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.obs["mtcluster"].isna().sum() == 1
