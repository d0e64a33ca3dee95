"""Tables and matrices → the numbers that are clustered, in the same way for the rows of fit and for new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import StrOptions
from .._utils.restoring import restores
from .._utils.tasks import column_of_tasks
from .._utils.text import count, listed
from ..core.arrays import Array
from ._columns import MISSING_CATEGORY, TableError, as_categories, as_frame, column_kind, counts_listed
from ._dates import DatesMixin
from ._input import InputMixin, is_table
from ._numbers import NumbersMixin

MAX_WORDS = 20_000  # of the vocabulary of a column of texts


class TablePreprocessor(InputMixin, DatesMixin, NumbersMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turn a table of numbers, categories and texts into a matrix that can be clustered.

    Columns of numbers are standardised, columns with few different values are one-hot encoded, and columns of texts
    become TF-IDF weights of their words. Columns that are none of these are refused by name; dates too, unless `dates`
    says what they become.
    A matrix is used as it is, unless `scale`, `impute` or `tfidf` say otherwise. Missing values stay missing (NaN),
    which :class:`~mtcluster.SPMTC` takes as such, and columns without any value are left out.

    Parameters
    ----------
    scale : {"auto", "standard", "within", "none"}, default="auto"
        How numbers are scaled to mean 0 and standard deviation 1: "standard", over the rows of all tasks together;
        "within", over the rows of each task; "none", not at all. "auto" is "standard" for tables and "none" for
        matrices.
    impute : {None, "median"}, default=None
        What to do with missing values. None leaves them missing: a missing category is NaN in all columns of its
        categories; where the output is sparse (texts, TF-IDF, sparse matrices) they are refused, because a zero there
        is a value. "median" replaces missing numbers by the median of their column, makes missing categories a
        category of their own and missing texts empty.
    text : sequence of str, default=()
        Columns that hold texts.
    tfidf : bool, default=False
        Whether the matrix holds counts of words, to be replaced by TF-IDF weights.
    stop_words : {"english"}, list of str or None, default="english"
        Words of texts that are ignored, as in :class:`~sklearn.feature_extraction.text.TfidfVectorizer`.
    dates : sequence of {"year", "month", "days"}, default=()
        The numbers that dates are turned into: the year, the month (1 to 12), the days since the first date of the
        column in `fit`. Texts are dates if all of them are written in one way, such as 2024-12-31. Empty: dates are
        refused.

    Attributes
    ----------
    is_table_ : bool
        Whether `fit` was given a data frame.
    numbers_, categories_, texts_ : list of str
        The columns of a table by what they hold; the features of the output are in this order. A date is a column of
        numbers for each of its parts, such as "born (year)".
    dates_ : dict
        For each column of dates how it is written, None for a type of dates, and its first day, in days since 1970.
    left_out_ : list of str
        Columns of a table, or numbers of features of a matrix, in which no row has a value; the output lacks them.
    n_missing_ : dict
        The number of missing values of the other columns, by column.
    tasks_ : ndarray of shape (n_tasks,)
        The tasks whose rows were scaled by themselves; empty unless `scale="within"`.
    n_features_in_ : int
        The number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, for data frames.

    Notes
    -----
    With `scale="within"`, rows of a task that was not in `fit` are scaled by their own mean and standard deviation if
    there are at least 20 of them, and otherwise as rows of all tasks together.

    Examples
    --------
    >>> import pandas as pd
    >>> from mtcluster.preprocessing import TablePreprocessor
    >>> table = pd.DataFrame({"age": [20, 30, 40], "smokes": ["no", "yes", "no"]})
    >>> preprocessor = TablePreprocessor()
    >>> preprocessor.fit_transform(table).round(2)
    array([[-1.22,  1.  ,  0.  ],
           [ 0.  ,  0.  ,  1.  ],
           [ 1.22,  1.  ,  0.  ]])
    >>> preprocessor.get_feature_names_out().tolist()
    ['age', 'smokes = no', 'smokes = yes']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scale": [StrOptions({"auto", "standard", "within", "none"})],
        "impute": [StrOptions({"median"}), None],
        "text": [list, tuple],
        "tfidf": ["boolean"],
        "stop_words": [StrOptions({"english"}), list, None],
        "dates": [list, tuple],
    }

    def __init__(
        self,
        scale: str = "auto",
        impute: str | None = None,
        text: Sequence[str] = (),
        tfidf: bool = False,
        stop_words: str | list[str] | None = "english",
        dates: Sequence[str] = (),
    ) -> None:
        self.scale = scale
        self.impute = impute
        self.text = text
        self.tfidf = tfidf
        self.stop_words = stop_words
        self.dates = dates

    def fit(self, X: Any, y: Any = None, *, tasks: Any = None) -> TablePreprocessor:
        """Learn what the columns hold, and how to turn them into numbers.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (n_samples, n_columns)
            The table, or a matrix of numbers.
        y : None
            Ignored.
        tasks : array-like of shape (n_samples,) or str, default=None
            The task of each row, for `scale="within"`, or the name of the column that holds it, which is taken out.

        Returns
        -------
        self : TablePreprocessor
            The fitted preprocessor.

        Raises
        ------
        TableError
            If a column cannot be used; the error says which, and what can be done.
        """
        self.fit_transform(X, tasks=tasks)
        return self

    @restores
    def fit_transform(self, X: Any, y: Any = None, *, tasks: Any = None) -> Any:
        """Fit to `X`, and return it as numbers.

        Parameters
        ----------
        X, y, tasks
            As in :meth:`fit`.

        Returns
        -------
        X_new : ndarray or CSR matrix of shape (n_samples, n_features_out)
            The numbers; sparse if they include TF-IDF weights, or if the matrix was sparse.
        """
        self._validate_params()
        X, tasks = column_of_tasks(X, tasks)
        self.is_table_ = is_table(X)
        self.left_out_: list[str] = []
        self.numbers_: list[str] = []
        self.categories_: list[str] = []
        self.texts_: list[str] = []
        self.scaler_, self.tasks_, self.task_scalers_ = None, np.array([]), []
        self.dates_: dict[str, tuple[str | None, float]] = {}
        X = self._checked(X, reset=True)
        if not self.is_table_:
            return self._fit_numbers(X, tasks)
        self._fit_dates(X)
        X = self._without_dates(X)
        self._fit_columns(X)
        frame = as_frame(X, self.numbers_, self.categories_, self.texts_)
        if self.numbers_:
            frame[self.numbers_] = self._fit_numbers(np.ascontiguousarray(frame[self.numbers_]), tasks)
        self.encoder_ = self._encoder(X, frame)
        try:
            return self._with_gaps(_by_rows(self.encoder_.fit_transform(frame)), X)
        except ValueError:
            self._refuse_without_words(frame)
            raise

    def transform(self, X: Any, *, tasks: Any = None) -> Any:
        """Turn other rows with the same columns into numbers.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (n_samples, n_columns)
            Rows with the columns seen during `fit`.
        tasks : array-like of shape (n_samples,) or str, default=None
            The task of each row, for `scale="within"`, or the name of the column that holds it, which is taken out.

        Returns
        -------
        X_new : ndarray or CSR matrix of shape (n_samples, n_features_out)
            The numbers. A category that was not in `fit` is 0 in all columns of its categories; a missing one is NaN
            there, unless missing values are filled.
        """
        check_is_fitted(self)
        X, tasks = column_of_tasks(X, tasks)
        X = self._checked(X, reset=False)
        if not self.is_table_:
            return self._transform_numbers(X, tasks)
        X = self._without_dates(X)
        frame = as_frame(X, self.numbers_, self.categories_, self.texts_)
        if self.numbers_:
            frame[self.numbers_] = self._transform_numbers(np.ascontiguousarray(frame[self.numbers_]), tasks)
        return self._with_gaps(_by_rows(self.encoder_.transform(frame)), X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features of the output.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of a matrix, which has none of its own.

        Returns
        -------
        names : ndarray of str
            The columns of numbers, "column = value" for each category, and the words of texts.
        """
        check_is_fitted(self)
        if not self.is_table_:
            return np.delete(super().get_feature_names_out(input_features), list(map(int, self.left_out_)))
        names = list(self.numbers_)
        for name, values in self._known_categories().items():
            names += [f"{name} = {value}" for value in values]
        for j, name in enumerate(self.texts_):
            taken, alone = set(names), len(self.texts_) == 1
            words = self.encoder_.named_transformers_[f"text{j}"].get_feature_names_out()
            names += [word if alone and word not in taken else f"{name}: {word}" for word in words]
        return np.array(names, dtype=object)

    def describe(self, X: Any = None) -> list[str]:
        """Say in sentences what was done.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_columns), optional
            Rows whose missing values are counted. None: those of `fit`.

        Returns
        -------
        sentences : list of str
            One sentence for each kind of column, and those on missing values.
        """
        check_is_fitted(self)
        scaled = "used as they are"
        if self.scaler_ is not None:
            within = " within each task" if self.task_scalers_ else ""
            scaled = f"each scaled to mean 0 and standard deviation 1{within}"
        said = []
        if not self.is_table_:
            weighted = "weighted by TF-IDF, " * self.tfidf
            used = self.n_features_in_ - len(self.left_out_)
            said.append(f"{count(used, 'feature')} of a matrix, {weighted}{scaled}.")
        if self.numbers_:
            said.append(f"{count(len(self.numbers_), 'column')} ({listed(self.numbers_)}) of numbers, {scaled}.")
        if self.dates_:
            parts = listed(self.dates, final=" and ")
            said.append(f"{count(len(self.dates_), 'column')} ({listed(self.dates_)}) of dates, as {parts}.")
        if self.categories_:
            names = f"{count(len(self.categories_), 'column')} ({listed(self.categories_)})"
            said.append(f"{names} of categories, one-hot encoded as 0 and 1.")
        for j, name in enumerate(self.texts_):
            words = len(self.encoder_.named_transformers_[f"text{j}"].vocabulary_)
            ignored = " (English stop words ignored)" if self.stop_words == "english" else ""
            said.append(f"Texts of {name!r} as TF-IDF of {count(words, 'word')}{ignored}.")
        if self.left_out_:
            empty = [repr(name) if self.is_table_ else f"feature {name}" for name in self.left_out_]
            said.append(f"Left out, as no row{'' if X is None else ' of the fit'} has a value: {listed(empty)}.")
        missing = self.n_missing_ if X is None else self._missing_in(X)
        if missing and self.impute is None:
            said.append(f"Missing values stay missing and count nothing: {counts_listed(missing)}.")
        elif missing:
            by = f"median of their column, categories by {MISSING_CATEGORY!r}, texts by empty ones"
            said.append(f"Missing values were replaced, numbers by the {by}: {counts_listed(missing)}.")
        return said

    def unseen_categories(self, X: Any) -> dict[str, dict[str, int]]:
        """Find categories that were not in `fit`.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
            Rows with the columns seen during `fit`.

        Returns
        -------
        unseen : dict
            For each column that holds such categories, the number of rows for each of them.
        """
        check_is_fitted(self)
        found = {}
        for name, known in self._known_categories().items():
            given = X[name].dropna() if self.impute is None else X[name]
            values, counts = np.unique(as_categories(given), return_counts=True)
            new = {str(value): int(n) for value, n in zip(values, counts, strict=True) if value not in known}
            if new:
                found[name] = new
        return found

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn what kinds of data are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.scale in ("auto", "none")
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.impute is not None or not self.tfidf
        return tags

    def _fit_columns(self, X: Any) -> None:
        """Find out what each column holds."""
        if self.tfidf:
            advice = "name its texts in text instead of tfidf=True"
            raise TableError("this is a table, not a matrix of counts", advice, kind="tfidf")
        unknown = [name for name in self.text if name not in X.columns]
        if unknown:
            raise ValueError(f"text={list(self.text)!r} names columns that X lacks: {listed(unknown)}.")
        self.texts_ = [name for name in dict.fromkeys(self.text) if name not in self.left_out_]
        others = [name for name in X.columns if name not in (*self.texts_, *self.left_out_)]
        kinds = {name: column_kind(X[name]) for name in others}
        self.numbers_ = [name for name, kind in kinds.items() if kind == "number"]
        self.categories_ = [name for name, kind in kinds.items() if kind == "category"]

    def _words(self, n_rows: int) -> TfidfVectorizer:
        return TfidfVectorizer(
            stop_words=self.stop_words,
            sublinear_tf=True,
            strip_accents="unicode",
            min_df=2 if n_rows >= 20 else 1,
            max_features=MAX_WORDS,
        )

    def _encoder(self, X: Any, frame: Any) -> ColumnTransformer:
        known = [
            np.unique(frame[name] if self.impute is not None else frame[name][X[name].notna().to_numpy()])
            for name in self.categories_
        ]
        one_hot = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
        parts = [
            ("numbers", "passthrough", self.numbers_),
            ("categories", one_hot, self.categories_),
            *((f"text{j}", self._words(len(frame)), name) for j, name in enumerate(self.texts_)),
        ]
        return ColumnTransformer(parts, sparse_threshold=1.0)

    def _with_gaps(self, found: Any, X: Any) -> Any:
        """Make the output with NaN in all columns of a category that is missing; numbers have their gaps already."""
        if self.impute is not None:
            return found
        end = len(self.numbers_)
        for name, values in self._known_categories().items():
            missing, start, end = X[name].isna().to_numpy(), end, end + len(values)
            if missing.any():
                found[missing, start:end] = np.nan
        return found

    def _refuse_without_words(self, frame: Any) -> None:
        """Find the column of texts that a vectorizer could not be fitted to."""
        for name in self.texts_:
            try:
                self._words(len(frame)).fit(frame[name])
            except ValueError as error:
                problem = f"no word of the texts of column {name!r} occurs in two rows"
                raise TableError(problem, "are they texts?", kind="no_words", column=name) from error

    def _known_categories(self) -> dict[str, list[str]]:
        """Find the categories seen during fit, by column."""
        if not self.categories_:
            return {}
        found = self.encoder_.named_transformers_["categories"].categories_
        return {name: values.tolist() for name, values in zip(self.categories_, found, strict=True)}


def _by_rows(X: Any) -> Any:
    """Make an array whose rows are contiguous in memory, as estimators work on rows; sparse matrices are."""
    return X if sparse.issparse(X) else np.ascontiguousarray(X)
