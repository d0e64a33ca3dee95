"""Commands as lines of Python, and commands as a program asks for them."""

from __future__ import annotations

import io
from argparse import Namespace
from collections.abc import Sequence
from contextlib import redirect_stderr

from .errors import InputError
from .main import make_parser

READ = {".csv": "read_csv({!r}, sep=None, engine='python')", ".parquet": "read_parquet({!r})",
        ".feather": "read_feather({!r})", ".xlsx": "read_excel({!r})"}  # fmt: skip
CHECKED = ("task", "id", "label", "features", "text", "missing", "dates", "impute", "scale", "min_rows", "drop_unnamed",
           "drop_duplicates", "keep_spelling", "decimal", "thousands", "drop_rows")  # fmt: skip
MADE = ("scale", "impute", "text", "dates")


def parsed(argv: Sequence[str]) -> Namespace:
    """Parse the arguments of a command; what is wrong with them is an error of one sentence."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            return make_parser().parse_args(list(argv))
    except SystemExit:
        raise InputError(said.getvalue().partition(": ")[2].partition(" (see ")[0] or "These are no options.") from None


def python_lines(steps: Sequence[Sequence[str]]) -> str:
    """Write what commands do as lines of Python: with the library's functions for a table, else by the commands.

    Examples
    --------
    >>> print(python_lines([["fit", "cells.npz", "--clusters=3", "--out=run"]]))
    from mtcluster.cli.main import main
    <BLANKLINE>
    main(['fit', 'cells.npz', '--clusters=3', '--out=run'])
    """
    later = [_later(step) for step in steps[1:]]
    arguments = parsed(steps[0]) if steps[0][1] != "..." else None
    plain = arguments is not None and len(arguments.files) == 1 and arguments.files[0].suffix in READ
    if arguments is None or not plain or None in later:
        return "\n".join(["from mtcluster.cli.main import main", "", *(f"main({list(step)!r})" for step in steps)])
    return "\n".join([*_fit_lines(arguments), *(line for line in later if line)])


def _later(step: Sequence[str]) -> str | None:
    """Write a later command as a line; None if it is none of those of a model."""
    if step[0] == "merge":
        return f"model.merge({[int(j) for j in step[2:]]})"
    named = [pair.partition("=") for pair in step[2:]]
    return f"model.rename({ {int(j): name for j, _, name in named} })" if step[0] == "rename" else None


def _fit_lines(arguments: Namespace) -> list[str]:
    """Write the lines of a fit to one table."""
    defaults, path, dropped = parsed(["fit", "x", "--out=x"]), arguments.files[0], arguments.drop
    given = {name: getattr(arguments, name) for name in CHECKED}
    given["missing"] = None if given["missing"] == ["none"] else given["missing"]
    said = [f"{name}={value!r}" for name, value in given.items() if value != getattr(defaults, name)]
    makes = [f"{name}={given[name]!r}" for name in MADE if given[name] != getattr(defaults, name)]
    imports = ["from mtcluster.preprocessing import TablePreprocessor, check"]
    number = str(arguments.clusters)
    if not isinstance(arguments.clusters, int):
        least, most = (2, 10) if arguments.clusters == "auto" else arguments.clusters
        seed = f"random_state={arguments.seed}"
        number = f"select_n_clusters(X, tasks=found.tasks, n_clusters=range({least}, {most + 1}), {seed}).best"
        imports.insert(0, "from mtcluster.model_selection import select_n_clusters")
    return [
        "import pandas as pd",
        "from mtcluster import SPMTC",
        *imports,
        "",
        f"table = pd.{READ[path.suffix].format(str(path))}{f'.drop(columns={dropped!r})' if dropped else ''}",
        f"found = check({', '.join(['table', *said])})",
        f"X = TablePreprocessor({', '.join(makes)}).fit_transform(found.X, tasks=found.tasks)",
        f"model = SPMTC(n_clusters={number}, random_state={arguments.seed}).fit(X, tasks=found.tasks)",
    ]
