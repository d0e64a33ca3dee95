"""Valid files of every kind, as the campaign on readers mutates them."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

TASK = ("--task", "site")
FIT = ("--clusters", "2", "--refits", "0", "--quiet")
RUN = "run"  # folder of a fit of `t.csv`, which stays as it is


TAMPERED = "tampered"  # instead of a suffix: parts are exchanged, not bytes


@dataclass(frozen=True)
class Original:
    """A file, or a file of a folder of results, and the options that it is read with."""

    data: bytes
    suffix: str
    options: tuple[str, ...] = TASK
    in_run: str = ""  # its name in the folder of a fit


def corpus(folder: Path) -> dict[str, Original]:
    """One or more valid files of each kind that can be written here, and a fit in `folder / RUN`."""
    frame = table()
    found = _texts(frame, folder) | _tables(frame, folder) | _matrices(frame, folder) | _cells(frame, folder)
    return found | _results(folder)


def table() -> Any:
    """Numbers, two tasks, a category with gaps, and dates."""
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)).round(3), columns=["x", "y", "z"])
    frame["site"], frame["sex"] = ["a", "b"] * 20, ["f", "m", "f", None] * 10
    frame["day"] = pd.date_range("2020-01-01", periods=40).astype(str)
    return frame


def _texts(frame: Any, folder: Path) -> dict[str, Original]:
    words = ["the cat sat", 'a "quoted" dog, with commas', "two\nlines", "ein Hündchen läuft"]
    text = frame.to_csv(index=False)
    (folder / "t.csv").write_text(text)
    said = frame.assign(words=words * 10)
    compressed: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    found = {
        "csv": Original(text.encode(), "csv"),
        "tsv": Original(frame.to_csv(index=False, sep="\t").encode(), "tsv"),
        "csv with quotes": Original(said.to_csv(index=False, quoting=1).encode(), "csv", (*TASK, "--drop", "words")),
        "csv with texts": Original(said.to_csv(index=False).encode(), "csv", (*TASK, "--text", "words")),
        "csv with semicolons": Original(frame.to_csv(index=False, sep=";", decimal=",").encode(), "csv"),
        "csv with dates": Original(text.encode(), "csv", (*TASK, "--dates", "year,month,days")),
        "csv in UTF-16": Original(text.encode("utf-16"), "csv", (*TASK, "--encoding", "utf-16")),
    } | {f"csv.{name}": Original(packed(text.encode()), f"csv.{name}") for name, packed in compressed.items()}
    try:
        import pyarrow as pa

        found["csv.zst"] = Original(pa.compress(text.encode(), "zstd", asbytes=True), "csv.zst")
    except (ImportError, OSError):
        pass
    return found


def _tables(frame: Any, folder: Path) -> dict[str, Original]:
    import pandas as pd

    frame.to_parquet(folder / "t.parquet")
    frame.to_feather(folder / "t.feather")
    frame.to_excel(folder / "t.xlsx", index=False)
    rich = frame.assign(
        sex=frame["sex"].astype("category"),
        day=pd.to_datetime(frame["day"]).mask(frame.index % 7 == 0),
        nested=[[1.0, 2.0], [3.0]] * 20,
        whole=pd.array([1, 2, None, 4] * 10, dtype="Int64"),
        flag=[True, False] * 20,
        code=[b"a", b"caf\xc3\xa9"] * 20,
    )
    rich.to_parquet(folder / "rich.parquet", row_group_size=15)
    rich.drop(columns="nested").to_feather(folder / "rich.feather")
    with pd.ExcelWriter(folder / "two.xlsx") as writer:
        for name, own in frame.groupby("site"):
            own.drop(columns="site").to_excel(writer, sheet_name=f"sheet {name}", index=False)
    options = {"rich.parquet": (*TASK, "--drop", "nested"), "two.xlsx": ("--sheet", "all")}
    names = ("t.parquet", "t.feather", "t.xlsx", "rich.parquet", "rich.feather", "two.xlsx")
    return {
        name.removeprefix("t."): Original(
            (folder / name).read_bytes(), name.rpartition(".")[2], options.get(name, TASK)
        )
        for name in names
    }


def _matrices(frame: Any, folder: Path) -> dict[str, Original]:
    from scipy import io, sparse

    X = frame[["x", "y", "z"]].to_numpy()
    thin = sparse.csr_matrix(np.maximum(X, 0))
    classes = {f"task{k}_y": np.zeros(20, dtype=int) for k in (1, 2)}
    np.savez_compressed(folder / "t.npz", **{f"task{k}_X": X[k - 1 :: 2] for k in (1, 2)}, **classes)
    parts = {
        f"task{k}_{name}": getattr(thin[k - 1 :: 2], name) for k in (1, 2) for name in ("data", "indices", "indptr")
    }
    shapes = {f"task{k}_shape": np.array([20, 3]) for k in (1, 2)}
    names = {"task_names": np.array(["a", "b"]), "class_names": np.array(["one"]), "vocabulary": np.array(list("xyz"))}
    np.savez(folder / "thin.npz", **parts, **shapes, **classes, **names)
    io.mmwrite(folder / "t.mtx", thin)
    io.mmwrite(folder / "dense.mtx", X)
    found = {"npz": "t.npz", "sparse npz": "thin.npz", "mtx": "t.mtx", "dense mtx": "dense.mtx"}
    return {name: Original((folder / file).read_bytes(), file.rpartition(".")[2], ()) for name, file in found.items()}


def _cells(frame: Any, folder: Path) -> dict[str, Original]:
    """AnnData files, if they can be written here."""
    import pandas as pd
    from scipy import sparse

    try:
        import anndata
    except ImportError:
        return {}
    X, found = frame[["x", "y", "z"]].to_numpy(), {}
    obs = frame[["site", "sex"]].astype("category").set_index(frame.index.astype(str))
    for name, matrix in {"h5ad": sparse.csr_matrix(X), "dense h5ad": X, "csc h5ad": sparse.csc_matrix(X)}.items():
        anndata.AnnData(matrix, obs=obs.copy(), var=pd.DataFrame(index=list("xyz"))).write_h5ad(folder / "t.h5ad")
        found[name] = Original((folder / "t.h5ad").read_bytes(), "h5ad")
    return found


def _results(folder: Path) -> dict[str, Original]:
    """Files of the folder of a fit."""
    from mtcluster.cli.main import main

    if main(["fit", str(folder / "t.csv"), *TASK, *FIT, "--out", str(folder / RUN)]):
        raise RuntimeError("the model of the corpus could not be made")
    files = {"model": "model.skops", "settings": "settings.json", "centres": "centers.csv"}
    found = {name: Original((folder / RUN / file).read_bytes(), "", (), file) for name, file in files.items()}
    return found | {"model, sealed again": replace(found["model"], suffix=TAMPERED)}
