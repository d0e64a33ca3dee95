"""Files → rows, with the task, the name and, where it is known, the class of each.

One file with a column that names the task of each row, or several files, one a task. Tables (CSV, TSV, Parquet,
Feather, Excel) come as data frames; task sets (.npz), Matrix Market files and AnnData as matrices with named columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .core.arrays import Array
from .datasets import load_task_set
from .text_tables import read_text_table

ROW = "(row)"  # the name that a first column without one gets
LARGEST_WHOLE = 2**53  # up to it floats tell whole numbers apart
SHOWN = 8  # names in a list
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


class InputError(ValueError):
    """What a user can mend: one sentence that says what, where and how."""


@dataclass(frozen=True)
class Reading:
    """How files are to be read."""

    task: str | None = None  # column with the task of each row
    id: str | None = None  # column with its name
    label: str | None = None  # column with its known class: for scoring alone
    features: tuple[str, ...] = ()  # columns to use; none: all others
    text: tuple[str, ...] = ()  # of them, those that hold texts
    drop: tuple[str, ...] = ()  # columns not to use
    optional: tuple[str, ...] = ()  # "task", "id": those columns may be missing


@dataclass(frozen=True)
class Collection:
    """Rows of all files, in order: a table of columns, or a matrix with named columns."""

    files: tuple[Path, ...]
    values: Any  # pandas data frame, array or CSR matrix
    names: list[str]  # of its columns
    tasks: Array | None  # (n,) strings; None: the file does not say
    ids: Array  # (n,) strings
    classes: Array | None = None  # (n,)

    counts: tuple[int, ...] = ()  # rows of each file
    notes: tuple[str, ...] = ()  # what was done unasked

    @property
    def is_table(self) -> bool:
        """Whether the values are columns of several kinds."""
        return hasattr(self.values, "columns")

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def name(self) -> str:
        """The file, or the first of them and how many more."""
        more = len(self.files) - 1
        return str(self.files[0]) if not more else f"{self.files[0]} and {more} more"

    def place(self, row: int) -> tuple[Path, int]:
        """The file that a row stands in, and its number there, from 1."""
        for path, count in zip(self.files, self.counts, strict=False):
            if row < count:
                return path, row + 1
            row -= count
        return self.files[-1], row + 1


def read_files(paths: Sequence[Path], how: Reading, *, one_task: bool = False) -> Collection:
    """Rows of one file with a task column, or of several files, one a task.

    `one_task`: a file that does not say its tasks is one, named after the file.
    """
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file.")
        if path.is_dir():
            raise InputError(f"{path} is a folder: name the files in it.")
    twice = [path for i, path in enumerate(paths) if path.resolve() in [other.resolve() for other in paths[:i]]]
    if twice:
        raise InputError(f"{twice[0]} is named twice: every file is a task of its own.")
    parts = [_read(path, how) for path in paths]
    if len(parts) == 1 and parts[0].tasks is None and not one_task:
        raise InputError(_no_task(parts[0]))
    stems = [stem(path) for path in paths]
    shown = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    named = [
        part if part.tasks is not None else _as_one_task(part, name) for part, name in zip(parts, shown, strict=True)
    ]
    return named[0] if len(named) == 1 else _joined(named, how, shown)


def stem(path: Path) -> str:
    """The name of a file without its endings."""
    name = path.name
    for ending in (*COMPRESSED, path.with_suffix("").suffix if path.suffix in COMPRESSED else path.suffix):
        name = name.removesuffix(ending) or name
    return name


def kind_of(path: Path) -> str:
    """The ending that says what a file is, without that of its compression."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in COMPRESSED else suffix


def need(package: str, extra: str, why: str) -> None:
    """Refuse to go on without a package."""
    if find_spec(package) is None:
        raise InputError(f"{why} needs {package}: pip install 'mtcluster[{extra}]'.")


def _read(path: Path, how: Reading) -> Collection:
    kind = kind_of(path)
    if kind not in READERS:
        known = ", ".join(sorted(READERS))
        raise InputError(f"{path}: files that end in {path.suffix or 'nothing'!r} are not known; known are {known}.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    try:
        part = READERS[kind](path, how)
    except (InputError, MemoryError, ImportError, PermissionError):
        raise
    except Exception as error:  # every reader has failures of its own
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path} cannot be read as {kind}: {reason}") from error
    if not len(part):
        raise InputError(f"{path} has a header but no rows.")
    return replace(part, counts=(len(part),))


def _read_table(path: Path, how: Reading) -> Collection:
    need("pandas", "files", f"{path}: reading tables")
    frame = TABLES[kind_of(path)](path, how)
    frame.columns = [str(column).strip() for column in frame.columns]
    said = [frame.attrs.pop("note")] if "note" in frame.attrs else []
    frame, how, notes = _without_index(path, frame, how)
    repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
    if repeated:
        raise InputError(f"{path} has several columns named {repeated[0]!r}: every column needs a name of its own.")
    return replace(_taken_apart(path, frame, how), notes=(*said, *notes))


def _read_text(path: Path, how: Reading) -> Any:
    need("pyarrow", "files", f"{path}: reading tables")
    return read_text_table(path, [name for name in (how.task, how.id, how.label) if name is not None])


def _read_excel(path: Path, how: Reading) -> Any:
    import pandas as pd

    need("openpyxl", "files", f"{path}: reading Excel files")
    with pd.ExcelFile(path) as book:
        frame = book.parse(0)
        if len(book.sheet_names) > 1:
            first = book.sheet_names[0]
            frame.attrs["note"] = f"{path.name} has {len(book.sheet_names)} sheets; the first, {first!r}, was read."
    return frame


def _pandas(name: str) -> Callable[[Path, Reading], Any]:
    def read(path: Path, how: Reading) -> Any:
        import pandas as pd

        need("pyarrow", "files", f"{path}: reading this kind of file")
        frame = getattr(pd, name)(path)
        named = [level is not None for level in frame.index.names]
        return frame.reset_index() if any(named) else frame

    return read


def _without_index(path: Path, frame: Any, how: Reading) -> tuple[Any, Reading, tuple[str, ...]]:
    """A first column without a name is the index that pandas writes: it names the rows, unless something else does."""
    nameless = [i for i, name in enumerate(frame.columns) if name == "" or name.startswith("Unnamed: ")]
    if not nameless:
        return frame, how, ()
    if nameless != [0]:
        raise InputError(f"{path}: column {nameless[-1] + 1} has no name: every column needs one.")
    if how.id is not None:
        return frame.iloc[:, 1:], how, (f"The first column of {path.name} has no name and was left out.",)
    frame.columns = [ROW, *frame.columns[1:]]
    return (
        frame,
        replace(how, id=ROW),
        (f"The first column of {path.name} has no name: it was taken to name the rows.",),
    )


def _without(how: Reading, option: str) -> Reading:
    return replace(how, task=None) if option == "task" else replace(how, id=None)


def _taken_apart(path: Path, frame: Any, how: Reading) -> Collection:
    """Task, name and class of each row, and the columns that are used."""
    columns = list(frame.columns)
    for option in ("task", "id", "label"):
        column = getattr(how, option)
        if column is not None and column not in columns:
            if option not in how.optional:
                raise InputError(
                    f"{path} has no column {column!r} (--{option}){_meant(column, columns)}; {_columns(columns)}."
                )
            how = _without(how, option)
    for option in ("features", "text", "drop"):
        unknown = [column for column in getattr(how, option) if column not in columns]
        if unknown:
            raise InputError(f"{path} has no column {', '.join(map(repr, unknown))} (--{option}); {_columns(columns)}.")
    special = [column for column in (how.task, how.id, how.label) if column is not None]
    wanted = (
        [*how.features, *(column for column in how.text if column not in how.features)] if how.features else columns
    )
    left_out = {*how.drop, *(() if how.features else special)}
    used = [column for column in wanted if column not in left_out]
    both = [column for column in used if column in special]
    if both:
        raise InputError(f"column {both[0]!r} cannot be a feature and the --task, --id or --label at once.")
    if not used:
        raise InputError(f"{path} has no column left to cluster by; {_columns(columns)}.")
    tasks = None if how.task is None else _names(path, frame, how.task, "every row needs a task")
    ids = (
        np.arange(1, len(frame) + 1).astype(str)
        if how.id is None
        else _names(path, frame, how.id, "every row needs a name")
    )
    classes = None if how.label is None else _names(path, frame, how.label)
    return Collection((path,), frame[used], used, tasks, ids, classes)


def _names(path: Path, frame: Any, column: str, why: str | None = None) -> Array:
    """A column as strings; whole numbers are written as such, whatever the file made of them.

    `why` none may be missing; without it, what is missing is None.
    """
    values = frame[column]
    missing = values.isna().to_numpy()
    if missing.any() and why is not None:
        raise InputError(
            f"{path}: column {column!r} is empty in {missing.sum()} row(s), first in row {missing.argmax() + 1}: {why}."
        )
    found = np.full(len(values), None, dtype=object)
    given = values[~missing]
    if given.dtype.kind == "f" and bool(((given == given.round()) & (given.abs() < LARGEST_WHOLE)).all()):
        given = given.astype("int64")
    found[~missing] = given.astype(str).to_numpy(dtype=object)
    return found


def _read_npz(path: Path, how: Reading) -> Collection:
    asked = [f"--{name}" for name in ("task", "id", "label") if getattr(how, name) is not None]
    if asked:
        raise InputError(
            f"{path}: a task set says its tasks and classes itself and has no columns; leave {asked[0]} out."
        )
    tasks = load_task_set(path)
    d, n = tasks.X.shape[1], tasks.X.shape[0]
    names = list(tasks.feature_names) if len(tasks.feature_names) == d else [f"feature {j}" for j in range(d)]
    classes = None
    if np.any(tasks.y != -1):
        known = len(tasks.class_names) > int(tasks.y.max()) and tasks.y.min() >= 0
        classes = np.array(tasks.class_names)[tasks.y] if known else tasks.y.astype(str)
    ids = np.arange(1, n + 1).astype(str)
    part = Collection((path,), tasks.X, names, np.asarray(tasks.tasks, dtype=str).astype(object), ids, classes)
    return _picked(path, part, how)


def _read_mtx(path: Path, how: Reading) -> Collection:
    if how.task is not None or how.id is not None or how.label is not None:
        raise InputError(
            f"{path}: a Matrix Market file has no named columns for --task, --id or --label; give several files, one a "
            "task."
        )
    from scipy.io import mmread

    X = mmread(path)
    X = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
    if np.iscomplexobj(X):
        raise InputError(f"{path} holds complex numbers: real ones are needed.")
    X = X.astype(np.float64)
    names = [f"feature {j}" for j in range(X.shape[1])]
    return _picked(path, Collection((path,), X, names, None, np.arange(1, X.shape[0] + 1).astype(str)), how)


def _read_h5ad(path: Path, how: Reading) -> Collection:
    need("anndata", "anndata", f"{path}: reading AnnData")
    import anndata

    cells = anndata.read_h5ad(path)
    if cells.X is None:
        raise InputError(f"{path} has no X: the matrix of cells and genes is missing.")
    for option in ("task", "id", "label"):
        column = getattr(how, option)
        if column is not None and column not in cells.obs.columns:
            if option in how.optional:
                how = _without(how, option)
                continue
            raise InputError(f"{path}: obs has no column {column!r} (--{option}); {_columns(list(cells.obs.columns))}.")
    X = sparse.csr_matrix(cells.X) if sparse.issparse(cells.X) else np.asarray(cells.X)
    X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
    read = {
        option: None
        if getattr(how, option) is None
        else _names(path, cells.obs, getattr(how, option), None if option == "label" else "every cell needs one")
        for option in ("task", "id", "label")
    }
    ids = np.asarray(cells.obs_names, dtype=object) if read["id"] is None else read["id"]
    values: Any = X.data if sparse.issparse(X) else X.ravel()
    counts = values.size and values.max() > 1 and values.min() >= 0 and bool((values == np.round(values)).all())
    notes = (f"X of {path.name} holds whole numbers: if they are counts, normalise and take logarithms first.",)
    genes = [str(gene) for gene in cells.var_names]
    part = Collection((path,), X, genes, read["task"], ids, read["label"], notes=notes if counts else ())
    return _picked(path, part, how)


def _picked(path: Path, part: Collection, how: Reading) -> Collection:
    """The features that were asked for."""
    if how.text:
        raise InputError(f"{path} holds numbers, no column of texts: leave --text out.")
    if not how.features and not how.drop:
        return part
    index = {name: j for j, name in enumerate(part.names)}
    unknown = [name for name in (*how.features, *how.drop) if name not in index]
    if unknown:
        raise InputError(f"{path} has no feature {unknown[0]!r} (--features, --drop); {_columns(part.names)}.")
    names = [name for name in (how.features or part.names) if name not in how.drop]
    if not names:
        raise InputError(f"{path} has no feature left to cluster by.")
    return replace(part, values=part.values[:, [index[name] for name in names]], names=names)


def _as_one_task(part: Collection, name: str) -> Collection:
    return replace(part, tasks=np.full(len(part), name, dtype=object))


def _joined(parts: list[Collection], how: Reading, shown: list[str]) -> Collection:
    """Rows of several files under the columns of the first."""
    first = parts[0]
    if any(part.is_table != first.is_table for part in parts):
        raise InputError("tables cannot be joined with matrices (.npz, .mtx, .h5ad): give files of one kind.")
    values = [first.values]
    for part in parts[1:]:
        lacking = [name for name in first.names if name not in set(part.names)]
        extra = [name for name in part.names if name not in set(first.names)]
        if lacking or extra:
            column, has = (lacking[0], "lacks") if lacking else (extra[0], "alone has")
            raise InputError(
                f"{part.files[0]} {has} the column {column!r}: all files need the same; --features names those to use."
            )
        if part.is_table:
            values.append(part.values[first.names])
        else:
            values.append(_reordered(part, first))
    if first.is_table:
        import pandas as pd

        stacked = pd.concat(values, ignore_index=True)
    elif any(sparse.issparse(X) for X in values):
        stacked = sparse.vstack([sparse.csr_matrix(X) for X in values], format="csr")
    else:
        stacked = np.concatenate(values)
    own = how.id is not None or kind_of(first.files[0]) == ".h5ad"
    ids = [
        part.ids if own else np.array([f"{name}:{i}" for i in part.ids])
        for part, name in zip(parts, shown, strict=True)
    ]
    classes = [part.classes for part in parts if part.classes is not None]
    return Collection(
        tuple(path for part in parts for path in part.files),
        stacked,
        first.names,
        np.concatenate([part.tasks for part in parts if part.tasks is not None]),
        np.concatenate(ids),
        np.concatenate(classes) if len(classes) == len(parts) else None,
        tuple(count for part in parts for count in part.counts),
        tuple(note for part in parts for note in part.notes),
    )


def _reordered(part: Collection, first: Collection) -> Any:
    """The matrix of a file with its columns in the order of the first file."""
    if part.names == first.names:
        return part.values
    repeated = [name for name in first.names if first.names.count(name) > 1][:1]
    if repeated:
        raise InputError(
            f"{part.files[0]} has its columns in another order than {first.files[0]}, and several are named "
            f"{repeated[0]!r}: every column needs a name of its own."
        )
    index = {name: j for j, name in enumerate(part.names)}
    return part.values[:, [index[name] for name in first.names]]


def _no_task(part: Collection) -> str:
    path = part.files[0]
    if kind_of(path) == ".mtx":
        return f"{path} alone is one data set: give several Matrix Market files, one a task."
    unsaid = f"{path} alone does not say the task of each row: name its column"
    if not part.is_table:
        return f"{unsaid} of obs with --task, or give several files."
    few = [name for name in part.names if 2 <= part.values[name].nunique() <= min(50, max(2, len(part) // 2))]
    hint = f" (perhaps {', '.join(map(repr, few[:3]))})" if few else ""
    return f"{unsaid} with --task{hint}, or give several files, one a task."


def _meant(column: str, columns: Sequence[str]) -> str:
    near = get_close_matches(column, columns, 1)
    return f", do you mean {near[0]!r}?" if near else ""


def _columns(columns: Sequence[Any]) -> str:
    if not columns:
        return "it has none"
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    return f"its columns are {', '.join(map(repr, columns[:SHOWN]))}{more}"


TABLES: dict[str, Callable[[Path, Reading], Any]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), _read_text),
    **dict.fromkeys((".parquet", ".pq"), _pandas("read_parquet")),
    **dict.fromkeys((".feather", ".arrow"), _pandas("read_feather")),
    **dict.fromkeys((".xlsx", ".xlsm"), _read_excel),
}
READERS: dict[str, Callable[[Path, Reading], Collection]] = {
    **dict.fromkeys(TABLES, _read_table),
    ".npz": _read_npz,
    ".mtx": _read_mtx,
    ".h5ad": _read_h5ad,
}
