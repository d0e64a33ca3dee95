"""Command lines, run in this process: the tables that they write, what they print and what their reports say."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, load_wine

from . import states
from .record import Record

TABLES = ("labels.csv", "centers.csv", "relations.csv", "changes.csv")
TOLD = ("check", "verdict", "stability", "selection", "preparation", "columns", "estimator", "parameters")
ON_DATA = "fit, penguins"  # needs the data folder
Run = Callable[..., None]


def wine() -> pd.DataFrame:
    """Wine, of three growers that measure a little differently."""
    found = load_wine(as_frame=True)
    table = found.data.round(3)
    table["grower"] = np.array(["Berg", "Hof", "Tal"])[np.arange(len(table)) % 3]
    table.loc[table["grower"] == "Hof", "alcohol"] += 1.5
    table["kind"] = [f"kind {k}" for k in found.target]
    return table


def flowers() -> pd.DataFrame:
    """Iris with gaps, a category, and rows of two gardens."""
    found, rng = load_iris(as_frame=True), np.random.default_rng(0)
    table = found.data.copy()
    table.columns = ["sepal length", "sepal width", "petal length", "petal width"]
    table = table.mask(rng.random(table.shape) < 0.08)
    table["soil"] = np.where(rng.random(150) < 0.1, None, np.array(["clay", "sand", "peat"])[found.target])
    table["garden"] = np.where(np.arange(150) % 2, "north", "south")
    table.insert(0, "name", [f"plant {i}" for i in range(150)])
    return table


def plain_fit(run: Run) -> None:
    """A fit with a number, known classes and few refits."""
    wine().to_csv("wine.csv", index=False)
    run("fit", "wine.csv", "--task", "grower", "--label", "kind", "--clusters", "3", "--refits", "4", "--out", "out")
    run("compare", "wine.csv", "--task", "grower", "--label", "kind", "--clusters", "3", "--refits", "0")


def number(run: Run) -> None:
    """A fit that chooses the number."""
    wine().drop(columns="kind").to_csv("wine.csv", index=False)
    run("fit", "wine.csv", "--task", "grower", "--clusters", "2-5", "--refits", "0", "--out", "out")


def gaps(run: Run) -> None:
    """Missing values and categories: the check, and fits by three methods."""
    flowers().to_csv("flowers.csv", index=False)
    options = ("--task", "garden", "--id", "name")
    run("check", "flowers.csv", *options)
    for method in ("spmtc", "mixture", "kmeans"):
        more = ("--impute", "median") if method == "kmeans" else ()
        run(
            "fit",
            "flowers.csv",
            *options,
            "--clusters",
            "3",
            "--method",
            method,
            "--refits",
            "0",
            *more,
            "--out",
            method,
        )
    run("fit", "flowers.csv", *options, "--clusters", "3", "--refits", "0", "--anonymous", "--out", "anonymous")


def later(run: Run) -> None:
    """A fit, then labels of other rows, a task that joins, names, and a fit that continues."""
    table = wine().drop(columns="kind")
    for name, part in table.groupby("grower"):
        part.drop(columns="grower").to_csv(f"{name}.csv", index=False)
    run("fit", "Berg.csv", "Hof.csv", "--clusters", "3", "--refits", "0", "--out", "first")
    run("predict", "first", "Tal.csv", "--out", "labels.csv")
    run("adapt", "first", "Tal.csv", "--out", "joined")
    run("adapt", "first", "Tal.csv", "--update", "--novelty", "new", "--out", "followed")
    run("rename", "first", "0=strong")
    run("report", "first", "--out", "page.html")
    run("fit", *(f"{name}.csv" for name in ("Berg", "Hof", "Tal")), "--clusters", "3", "--refits", "0",
        "--previous", "first", "--out", "second")  # fmt: skip
    run("fit", "Tal.csv", "--clusters", "0", "--out", "never")
    run("predict", "first", "nowhere.csv", "--out", "never.csv")


def pieces(run: Run) -> None:
    """Files read piece by piece, from Parquet and from CSV."""
    table = wine().drop(columns="kind")
    for name, part in table.groupby("grower"):
        part.to_parquet(f"{name}.parquet", index=False, row_group_size=20)
    table.to_csv("wine.csv", index=False)
    options = ("--task", "grower", "--clusters", "3", "--refits", "0", "--out-of-core")
    run("fit", "Berg.parquet", "Hof.parquet", "Tal.parquet", *options, "--out", "of parquet")
    run("fit", "wine.csv", *options, "--out", "of csv")
    run("predict", "of csv", "Tal.parquet", "--out-of-core", "--out", "later")


def penguins(run: Run) -> None:
    """A table as people have them."""
    source = Path(os.environ.get("MTCLUSTER_DATA") or "/", "tables", "penguins.csv")
    Path("penguins.csv").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    run("check", "penguins.csv", "--task", "island")
    run("fit", "penguins.csv", "--task", "island", "--label", "species", "--clusters", "auto", "--refits", "4",
        "--out", "out")  # fmt: skip


COMMANDS: dict[str, Callable[[Run], None]] = {
    "fit": plain_fit,
    "fit, number": number,
    "fit, gaps": gaps,
    "fit, then others": later,
    "fit, pieces": pieces,
    ON_DATA: penguins,
}


def record_command(name: str, record: Record) -> None:
    """Record some command lines."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        record.fit(None, lambda _: COMMANDS[name](lambda *words: _run(record, words)), "command")


def _run(record: Record, words: tuple[str, ...]) -> None:
    """Run a command, and record what it printed and wrote."""
    from mtcluster.cli.main import main

    said, errors = io.StringIO(), io.StringIO()
    key = f"{words[0]} {words[words.index('--out') + 1]}" if "--out" in words else words[0]
    json_too = () if words[0] == "report" else ("--json",)
    with redirect_stdout(said), redirect_stderr(errors):
        try:
            code = main([*words, *json_too])
        except SystemExit as ended:
            code = ended.code
    record.put(f"{key} code", code)
    if code:
        record.put(f"{key} says", [line for line in errors.getvalue().splitlines() if not line.startswith("[")])
    text = said.getvalue()
    record.put(f"{key} prints", _told(text))
    if "--out" not in words or code:
        return
    out = Path(words[words.index("--out") + 1])
    for path in sorted(out.rglob("part-*.parquet")):
        record.put(f"{key} {path.name}", {name: values.to_numpy() for name, values in pd.read_parquet(path).items()})
    if (out / "settings.json").exists():
        _folder(record, key, out)
    elif out.is_file() and out.suffix == ".csv":
        _table(record, f"{key} labels", out)


def _told(text: str) -> Any:
    """What was printed, without times."""
    try:
        return states.without_untold(json.loads(text))
    except ValueError:
        return text.splitlines()


def _folder(record: Record, key: str, out: Path) -> None:
    """The files of a results folder."""
    record.put(f"{key} files", sorted(path.name for path in out.iterdir()))
    for name in TABLES:
        if (out / name).exists():
            _table(record, f"{key} {name}", out / name)
    settings = json.loads((out / "settings.json").read_text(encoding="utf-8"))
    record.put(f"{key} settings", {name: settings[name] for name in TOLD if name in settings})
    record.guard(f"{key} report", lambda: states.summary_of(out))


def _table(record: Record, key: str, path: Path) -> None:
    """The columns of a CSV file: numbers where all cells are."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    for name, cells in zip(head, zip(*lines, strict=True), strict=False):
        try:
            values = np.array([float(cell) if cell else np.nan for cell in cells])
        except ValueError:
            values = np.array(cells)
        record.put(f"{key}.{name}", values.astype(int) if name == "cluster" and values.dtype.kind == "f" else values)
