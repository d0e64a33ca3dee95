"""Models whose parts are exchanged for others, written again with a valid checksum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mtcluster.interop._persistence import _here, _skops, load, sealed

PARTS = ("model", "model", "model", "preprocessor")
OTHERS: tuple[Any, ...] = (-1, 3, "x", None, [], {}, np.zeros(0), np.array([np.nan]), "[" * 100_000)


def tamper(path: Path, rng: np.random.Generator) -> None:
    """Exchange one or two parts of a model file, or leave them out."""
    contents = load(path)
    for _ in range(int(rng.integers(1, 3))):
        parts = contents if rng.random() < 0.2 else vars(contents[PARTS[int(rng.integers(len(PARTS)))]])
        name = list(parts)[int(rng.integers(len(parts)))]
        if isinstance(parts[name], dict) and parts[name] and rng.random() < 0.5:
            parts, name = parts[name], list(parts[name])[int(rng.integers(len(parts[name])))]
        if rng.random() < 0.15:
            del parts[name]
        else:
            parts[name] = _other(parts[name], rng)
        if parts is contents and name in PARTS:
            break
    path.write_bytes(sealed(_skops().dumps(_here(contents))))


def _other(value: Any, rng: np.random.Generator) -> Any:
    """Something else, of arrays half of the time one of another shape or with other values."""
    if not isinstance(value, np.ndarray) or not value.ndim or rng.random() < 0.5:
        return OTHERS[int(rng.integers(len(OTHERS)))]
    shapes = [value[: len(value) // 2], value[..., :1], value[None], value.T, np.repeat(value, 2, axis=0)]
    values = [np.full_like(value, fill) for fill in ((np.nan, np.inf, -1, 1e300) if value.dtype.kind == "f" else ())]
    choices = shapes + values
    return choices[int(rng.integers(len(choices)))]
