"""Columns → numbers: what is done to a table before it is clustered, in fit and in predict alike.

Numbers are standardised, categories become columns of 0 and 1, texts become TF-IDF; missing values are refused or
filled. Matrices are taken as they are, or as counts of words.
"""

from __future__ import annotations

import warnings
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ..cli.readers import Collection, InputError
from ..core.arrays import Array

MOST_CATEGORIES = 50  # values of a column that becomes columns of 0 and 1
MOST_WORDS = 20_000
STRAY = 0.5  # share of numbers from which on the rest of a column is a slip, not a category
ENOUGH = 20  # rows of a new task that say where it lies and how wide it is
FILLED = "(missing)"  # the category of a missing value, where those are filled


class TablePreprocessor:
    """What was done to the columns, to be done again.

    Parameters
    ----------
    scale : {"auto", "standard", "within", "none"}
        Whether numbers are standardised, over all tasks or within each; "auto": those of tables are, over all, matrices
        are not.
    impute : {None, "median"}
        What happens to missing values: they are refused, or filled with the median of their column; a missing category
        becomes one of its own, a missing text an empty one.
    text : tuple of str
        Columns that hold texts.
    tfidf : bool
        Whether a matrix holds counts of words, to be weighted by TF-IDF.
    stop_words : {"english", None}
        Words that are left out of texts.
    """

    def __init__(
        self,
        *,
        scale: str = "auto",
        impute: str | None = None,
        text: tuple[str, ...] = (),
        tfidf: bool = False,
        stop_words: str | None = "english",
    ) -> None:
        self.scale, self.impute, self.text, self.tfidf, self.stop_words = scale, impute, list(text), tfidf, stop_words
        self.numeric: list[str] = []
        self.categories: list[str] = []
        self.filled: list[tuple[str, int]] = []
        self.scaler: StandardScaler | None = None
        self.within: dict[str | None, StandardScaler] = {}

    def fit_transform(self, rows: Collection) -> Any:
        """Look at the columns, and make numbers of them."""
        self.columns = list(rows.names)
        self.is_table = rows.is_table
        if not rows.is_table:
            return self._fit_matrix(rows)
        if self.tfidf:
            raise InputError(
                "--tfidf is for matrices of counts (.npz, .mtx, .h5ad): name the columns of a table by --text."
            )
        self._find_kinds(rows)
        self.filled = self._look_for_gaps(rows)
        empty = [name for name, count in self.filled if count == len(rows)]
        if empty:
            raise InputError(f"{rows.name}: column {empty[0]!r} has no value at all: leave it out with --drop.")
        self.medians = [float(np.nanmedian(_numbers(rows.values[name], name, rows))) for name in self.numeric]
        blocks = []
        if self.numeric:
            X = self._numeric(rows)
            self._fit_scale(X, rows)
            blocks.append(self._scaled(X, rows))
        self.encoder = None
        if self.categories:
            self.encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            blocks.append(self.encoder.fit_transform(self._categories(rows)))
        self.vectorizers = [self._vectorizer(len(rows)) for _ in self.text]
        for name, vectorizer in zip(self.text, self.vectorizers, strict=True):
            blocks.append(_fit_words(vectorizer, self._texts(rows, name), name, rows))
        self.names = self._names()
        return _stacked(blocks)

    def transform(self, rows: Collection) -> Any:
        """Make numbers of the same columns of other rows."""
        if rows.is_table != self.is_table:
            wanted = "a table" if self.is_table else "a matrix (.npz, .mtx or .h5ad)"
            raise InputError(f"{rows.name}: the model was fitted on {wanted}, so such a file is needed.")
        if not self.is_table:
            if list(rows.names) != self.columns:
                raise InputError(
                    f"{rows.name} has {len(rows.names)} features where the model has {len(self.columns)}, or "
                    "others: the same in the same order are needed."
                )
            return self._transform_matrix(rows)
        self._look_for_gaps(rows)
        blocks = []
        if self.numeric:
            blocks.append(self._scaled(self._numeric(rows), rows))
        if self.encoder is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # `strange` says it in our words
                blocks.append(self.encoder.transform(self._categories(rows)))
        for name, vectorizer in zip(self.text, self.vectorizers, strict=True):
            blocks.append(vectorizer.transform(self._texts(rows, name)))
        return _stacked(blocks)

    def original(self, centers: Array, task: str | None = None) -> Array:
        """Centres (c, d) of a task, or those that all tasks share, in the units of the columns."""
        if self.scaler is None:
            return centers
        found, scaler = np.array(centers, dtype=np.float64), self.within.get(task, self.scaler)
        k = len(scaler.mean_)
        found[:, :k] = found[:, :k] * scaler.scale_ + scaler.mean_
        return found

    def lines(self) -> list[str]:
        """What was done, in words."""
        said = []
        if not self.is_table:
            said.append(f"{len(self.names)} features of a matrix" + (", weighted by TF-IDF." if self.tfidf else "."))
        elif self.numeric:
            said.append(f"{_columns(self.numeric, 'column')} of numbers, {self._scaling()}.")
        if not self.is_table and self.scaler is not None:
            said.append(f"Features were {self._scaling()}.")
        if self.is_table and self.categories:
            said.append(f"{_columns(self.categories, 'column')} of categories, as 0 and 1.")
        if self.is_table:
            for name, vectorizer in zip(self.text, self.vectorizers, strict=True):
                left_out = " (English stop words left out)" if self.stop_words == "english" else ""
                said.append(f"Texts of {name!r} as TF-IDF of {len(vectorizer.vocabulary_)} words{left_out}.")
            if self.filled:
                gaps = ", ".join(f"{name} ({count})" for name, count in self.filled[:8])
                said.append(
                    f"Missing values were filled, numbers with the median of their column, categories as {FILLED!r}, "
                    f"texts as empty ones: {gaps}."
                )
        return said

    def _scaling(self) -> str:
        if self.scaler is None:
            return "used as they are"
        return "each brought to mean 0 and standard deviation 1" + (" within each task" if self.within else "")

    def _fit_scale(self, X: Array, rows: Collection) -> None:
        if self.scale == "none":
            return
        self.scaler = StandardScaler().fit(X)
        if self.scale == "within" and rows.tasks is not None:
            self.within = {task: StandardScaler().fit(X[rows.tasks == task]) for task in np.unique(rows.tasks).tolist()}

    def _scaled(self, X: Array, rows: Collection) -> Array:
        """Numbers as they are clustered; those of a new task are scaled by its own rows, if they suffice."""
        if self.scaler is None:
            return X
        if not self.within or rows.tasks is None:
            return self.scaler.transform(X)
        found = np.empty(X.shape)
        for task in np.unique(rows.tasks).tolist():
            own = X[rows.tasks == task]
            other = StandardScaler().fit(own) if len(own) >= ENOUGH else self.scaler
            found[rows.tasks == task] = self.within.get(task, other).transform(own)
        return found

    def _fit_matrix(self, rows: Collection) -> Any:
        self.names = list(rows.names)
        self.weighting = None
        X = rows.values
        bad = np.count_nonzero(~np.isfinite(X.data if sparse.issparse(X) else X))
        if bad:
            raise InputError(f"{rows.name} holds {bad} value(s) that are no numbers (NaN or infinity): fill them in.")
        if self.tfidf:
            if (X.data if sparse.issparse(X) else X).min(initial=0) < 0:
                raise InputError("--tfidf is for counts: the matrix holds negative numbers.")
            self.weighting = TfidfTransformer(sublinear_tf=True).fit(X)
        if self.scale in ("standard", "within"):
            if sparse.issparse(X):
                raise InputError(
                    f"--scale {self.scale} would fill a sparse matrix: take --scale none, or --tfidf for counts."
                )
            self._fit_scale(X if self.weighting is None else self.weighting.transform(X).toarray(), rows)
        return self._transform_matrix(rows)

    def _transform_matrix(self, rows: Collection) -> Any:
        X = rows.values if self.weighting is None else self.weighting.transform(rows.values)
        return X if self.scaler is None else self._scaled(X.toarray() if sparse.issparse(X) else X, rows)

    def _find_kinds(self, rows: Collection) -> None:
        """Which columns are numbers and which are categories; what is neither is refused."""
        for name in self.columns:
            if name in self.text:
                continue
            column = rows.values[name]
            kind = _kind(column)
            if kind == "date":
                raise InputError(
                    f"{rows.name}: column {name!r} holds dates: make numbers of them, or leave it out with --drop."
                )
            if kind == "number":
                self.numeric.append(name)
                continue
            _refuse_slips(column, name, rows)
            different = column.nunique()
            if different > MOST_CATEGORIES:
                raise InputError(
                    f"{rows.name}: column {name!r} holds {different} different texts: say --text {name} to use "
                    f"their words, --id {name} if they name the rows, or leave it out with --drop."
                )
            self.categories.append(name)

    def _look_for_gaps(self, rows: Collection) -> list[tuple[str, int]]:
        """Refuse missing values with their columns and counts, unless they are filled."""
        counts = rows.values[self.columns].isna().sum()
        gaps = [(name, int(counts[name])) for name in self.columns if counts[name]]
        if gaps and self.impute is None:
            shown = ", ".join(f"{name} ({count})" for name, count in gaps[:8])
            more = f" and {len(gaps) - 8} more" if len(gaps) > 8 else ""
            mend = "Add --impute median to fill them, or leave these columns out with --drop."
            if hasattr(self, "names"):
                mend = "Fill them in, or fit with --impute median."
            raise InputError(f"{rows.name}: values are missing in {len(gaps)} column(s): {shown}{more}. {mend}")
        return gaps

    def _numeric(self, rows: Collection) -> Array:
        X = np.empty((len(rows), len(self.numeric)))
        for j, (name, median) in enumerate(zip(self.numeric, self.medians, strict=True)):
            values = _numbers(rows.values[name], name, rows)
            X[:, j] = np.where(np.isnan(values), median, values)
        return X

    def _categories(self, rows: Collection) -> Array:
        """As text; whole numbers are written as such, whatever a gap in their column made of them."""
        found = np.empty((len(rows), len(self.categories)), dtype=object)
        for j, name in enumerate(self.categories):
            column = rows.values[name]
            whole = column.dtype.kind == "f" and bool((column.dropna() == column.dropna().round()).all())
            text = (column.astype("Int64") if whole else column).astype(object)
            found[:, j] = text.where(column.notna(), FILLED).astype(str)
        return found

    def strange(self, rows: Collection) -> list[str]:
        """Categories that were not there in fit, in words."""
        said = []
        if self.is_table and self.encoder is not None:
            for name, values, known in zip(
                self.categories, self._categories(rows).T, self.encoder.categories_, strict=True
            ):
                new = sorted(set(values.tolist()) - set(known.tolist()))
                if new:
                    count = int(np.isin(values, new).sum())
                    said.append(f"column {name!r} holds {new[0]!r} or others in {count} row(s), not there in the fit.")
        return said

    def _texts(self, rows: Collection, name: str) -> list[str]:
        column = rows.values[name]
        return [str(text) for text in column.astype(object).where(column.notna(), "")]

    def _vectorizer(self, n: int) -> TfidfVectorizer:
        return TfidfVectorizer(
            stop_words=self.stop_words, sublinear_tf=True, strip_accents="unicode", min_df=2 if n >= 20 else 1,
            max_features=MOST_WORDS,
        )  # fmt: skip

    def _names(self) -> list[str]:
        """A name for every number of a row."""
        names = list(self.numeric)
        if self.encoder is not None:
            for name, values in zip(self.categories, self.encoder.categories_, strict=True):
                names += [f"{name} = {value}" for value in values]
        alone = len(self.text) == 1
        for name, vectorizer in zip(self.text, self.vectorizers, strict=True):
            taken = set(names)
            words = vectorizer.get_feature_names_out()
            names += [word if alone and word not in taken else f"{name}: {word}" for word in words]
        return names


def _kind(column: Any) -> str:
    dtype = str(column.dtype).lower()
    if dtype.startswith(("datetime", "timedelta", "period", "date", "time", "duration")):
        return "date"
    if dtype.startswith(("int", "uint", "float", "double", "decimal")):
        return "number"
    some = column.dropna()
    first = some.iloc[0] if len(some) and str(column.dtype) == "object" else None
    if isinstance(first, date | time | timedelta):
        return "date"
    return "number" if isinstance(first, Decimal) else "category"


def _numbers(column: Any, name: str, rows: Collection) -> Array:
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        _refuse_slips(column, name, rows, least=-1.0)
        raise InputError(f"{rows.name}: column {name!r} should hold numbers, as it did in fit.") from None
    if np.isinf(values).any():
        path, row = rows.place(int(np.flatnonzero(np.isinf(values))[0]))
        raise InputError(f"{path}: column {name!r} holds infinity in row {row}: mend it, or drop the row.")
    return values


def _refuse_slips(column: Any, name: str, rows: Collection, least: float = STRAY) -> None:
    """Refuse a column of numbers in which some values are none."""
    import pandas as pd

    if str(column.dtype) in ("bool", "boolean", "category"):
        return
    given = column.notna().to_numpy()
    parsed = pd.to_numeric(column.astype(object), errors="coerce").notna().to_numpy()
    commas = column.astype(str).str.fullmatch(r"\s*[+-]?[\d.]*\d,\d+\s*").to_numpy(dtype=bool)
    odd = np.flatnonzero(given & ~parsed)
    if not len(odd) or (parsed | commas).sum() <= least * given.sum():
        return
    (path, row), shown = rows.place(int(odd[0])), str(column.iloc[odd[0]])[:40]
    comma = " (write decimals with a point)" if commas.any() else ""
    raise InputError(
        f"{path}: column {name!r} should hold numbers, but for {len(odd)} value(s) it does not, the first of them "
        f"{shown!r} in row {row}: mend them{comma}, or leave the column out with --drop."
    )


def _fit_words(vectorizer: TfidfVectorizer, texts: list[str], name: str, rows: Collection) -> Any:
    try:
        return vectorizer.fit_transform(texts)
    except ValueError as error:
        raise InputError(
            f"{rows.name}: the texts of column {name!r} hold no word that occurs in two rows: are they texts?"
        ) from error


def _stacked(blocks: list[Any]) -> Any:
    if any(sparse.issparse(block) for block in blocks):
        return sparse.hstack(blocks, format="csr") if len(blocks) > 1 else sparse.csr_matrix(blocks[0])
    return np.concatenate(blocks, axis=1) if len(blocks) > 1 else blocks[0]


def _columns(names: list[str], word: str) -> str:
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"{len(names)} {word}{'s' if len(names) != 1 else ''} ({shown})"
