"""What can be wrong with a matrix of numbers, of which nothing is left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from .._utils.text import count, listed
from ._column_checks import column_spreads, uneven
from ._draft import Draft
from ._findings import Finding, shown

SPREAD_SAMPLE = 20_000  # rows from which spreads are estimated


def numbers(draft: Draft) -> Iterator[Finding]:
    """Missing values, features with one value, and those whose spread is much larger than the usual one."""
    X, names = draft.X, [shown(name) for name in draft.names]
    values = X.data if sparse.issparse(X) else X
    gaps = int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0
    if gaps and not draft.impute:
        stops = sparse.issparse(X)
        done = "A sparse matrix cannot hold them; to fill them:" if stops else "They stay missing."
        yield Finding("missing", (), f"{count(gaps, 'missing value')}.", done, "--impute median", stops)
    some = X if X.shape[0] <= SPREAD_SAMPLE else X[:: -(-X.shape[0] // SPREAD_SAMPLE)]
    spreads = column_spreads(some)
    constant = np.flatnonzero(spreads == 0)
    if len(constant) and some is X:
        found = f"{count(len(constant), 'feature')} with one value only: {listed(names[j] for j in constant)}."
        yield Finding("one_value", tuple(draft.names[j] for j in constant), found, "They are kept, and count nothing.")
    if draft.scale == "none":
        yield from uneven(spreads, names, "--tfidf" if sparse.issparse(X) else "--scale standard")
