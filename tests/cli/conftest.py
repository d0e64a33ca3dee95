"""Small files of every kind, and the command line as a function."""

import gzip
import json

import numpy as np
import pytest
from scipy import io, sparse

from mtcluster.cli.main import main
from mtcluster.datasets import make_multitask_blobs

pd = pytest.importorskip("pandas", reason="files are read with pandas: pip install 'mtcluster[files]'")

NUMBERS = ["age", "income", "trust", "hours"]


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the command line in a folder of its own: exit code, what it printed, what it complained about."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def survey():
    """A table of three countries: numbers, a category, names, and classes that are known."""
    X, y, tasks = make_multitask_blobs([40, 50, 30], 4, n_tasks=3, n_clusters=3, separation=9, random_state=0)
    frame = pd.DataFrame(X, columns=NUMBERS)
    frame["sex"] = np.where(np.arange(len(X)) % 2, "f", "m")
    frame.insert(0, "person", [f"p{i}" for i in range(len(X))])
    frame.insert(1, "country", np.array(["fr", "de", "it"])[tasks])
    frame["class"] = np.array(["a", "b", "c"])[y]
    return frame


@pytest.fixture
def files(tmp_path, survey):
    """One set of rows as every kind of file: (arguments that name them, number of rows)."""
    plain = survey.drop(columns=["person", "class"])
    matrix = survey[NUMBERS].to_numpy()
    parts = dict(list(survey.groupby("country")))
    plain.to_csv(tmp_path / "a.csv", index=False)
    plain.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    plain.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    plain.to_parquet(tmp_path / "a.parquet")
    plain.to_feather(tmp_path / "a.feather")
    plain.to_excel(tmp_path / "a.xlsx", index=False)
    arrays = {}
    for k, part in enumerate(parts.values(), start=1):
        arrays |= {
            f"task{k}_X": part[NUMBERS].to_numpy(),
            f"task{k}_y": np.zeros(len(part), int),
        }
    np.savez(tmp_path / "a.npz", task_names=np.array(list(parts)), **arrays)
    for name, part in parts.items():
        part.drop(columns=["person", "class", "country"]).to_csv(tmp_path / f"{name}.csv", index=False)
        io.mmwrite(tmp_path / f"{name}.mtx", sparse.coo_matrix(part[NUMBERS].to_numpy()))
    found = {
        **{name: [f"a.{name}", "--task", "country"] for name in ("csv", "tsv", "csv.gz", "parquet", "feather", "xlsx")},
        "semicolons": ["semicolons.csv", "--task", "country"],
        "npz": ["a.npz"],
        "several csv": ["fr.csv", "de.csv", "it.csv"],
        "mtx": ["fr.mtx", "de.mtx", "it.mtx"],
    }
    try:
        import anndata
    except ImportError:
        return found
    cells = anndata.AnnData(matrix.astype(np.float32), obs=survey[["country"]].set_index(survey["person"]))
    cells.write_h5ad(tmp_path / "a.h5ad")
    return found | {"h5ad": ["a.h5ad", "--task", "country"]}


@pytest.fixture
def fitted(run, survey, tmp_path):
    """The folder of a run."""
    survey.to_csv(tmp_path / "survey.csv", index=False)
    code, _, err = run("fit", "survey.csv", "--task", "country", "--id", "person", "--label", "class", "--clusters", 3,
                       "--refits", 0, "--quiet", "--out", "run")  # fmt: skip
    assert (code, err) == (0, "")
    return tmp_path / "run"


@pytest.fixture
def edit_settings():
    """Change settings.json of a run."""

    def edit(folder, change):
        path = folder / "settings.json"
        settings = json.loads(path.read_text())
        change(settings)
        path.write_text(json.dumps(settings))

    return edit
