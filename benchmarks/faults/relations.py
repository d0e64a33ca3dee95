"""Pairs of calls whose results must agree: relations that mathematics demands, over models, kinds of rows and calls.

Clear clusters are fitted once more with other units, orders, names, weights, columns, containers and threads, with
one relation changed at a time; what `predict`, `predict_proba`, `score_samples`, `adapt` and `partial_fit` say must
be the same, up to the numbers of the clusters. A fitted model must say the same of the same rows, however they come
and wherever it has been: in another order or container, in several calls, copied, pickled, from a file, or by the
command line. A trial of the table is one such comparison; each case makes some hundred of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import numpy as np

from .campaign import Outcome
from .relations_cases import Case, answers, drawn
from .relations_files import of_files
from .relations_fits import of_fits
from .relations_rows import of_rows

WITH_FILES, WITH_CHUNKS = 8, 15  # one case in so many
Check = tuple[str, str]  # relation and call; what does not agree, empty if nothing


def measured(trials: Iterable[int], seed: int = 0) -> Outcome:
    """Draw cases, and compare."""
    outcome = Outcome("Relations")
    for i in trials:
        rng = np.random.default_rng([seed, i])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case = drawn(rng, i)
            for relation, problem in checked(case, rng, i):
                outcome.add(relation, problem and f"seed {seed}, case {i} ({case.name}): {problem}")
    return outcome


def checked(case: Case, rng: np.random.Generator, number: int) -> Iterator[Check]:
    """Compare what a fit says with what all others say."""
    model = case.fit()
    known = answers(model, case)
    yield from of_rows(model, case, rng, chunks=number % WITH_CHUNKS == 0)
    yield from of_fits(case, known, rng)
    if number % WITH_FILES == 0:
        yield from of_files(rng)
