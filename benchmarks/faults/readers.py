"""Files of every kind, mutated by a seeded fuzzer and read by a child process: exit code 0 or 2, and no signal.

The child is a fork of a process that has imported everything, with limits on memory and time.
"""

from __future__ import annotations

import gzip
import io
import os
import resource
import signal
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .campaign import Outcome

MEMORY, SECONDS = 4 * 2**30, 60
TASK = ("--task", "site")
KINDS: dict[str, tuple[str, ...]] = {
    "csv": TASK, "tsv": TASK, "csv.gz": TASK, "parquet": TASK, "feather": TASK, "xlsx": TASK, "npz": (), "mtx": (),
    "h5ad": TASK, "model": (),
}  # fmt: skip
ZIPPED = ("xlsx", "npz", "model")
TOKENS = (b"\0", b"\xff\xfe", b"nan", b"1e999", b'"', b",,,,", b"-", b"99999999999999999999", b"\n\n", b"{{{{")


def measured(trials: int, seed: int = 0) -> Outcome:
    """Mutate and read; a tenth as many AnnData files, as each takes a process of its own."""
    outcome = Outcome("Readers")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        originals = corpus(folder)
        for i in range(trials):
            rng = np.random.default_rng([seed, i])
            kinds = [kind for kind in originals if kind != "h5ad" or i % 10 == 0]
            kind = kinds[i % len(kinds)]
            problem = trial(kind, mutated(kind, originals[kind], rng), folder)
            outcome.add(kind, problem and f"seed {seed}, trial {i}: {problem}")
    return outcome


def corpus(folder: Path) -> dict[str, bytes]:
    """One valid file of each kind that can be written here."""
    import pandas as pd
    from scipy import io as sio
    from scipy import sparse

    from mtcluster.cli.main import main

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)).round(3), columns=["x", "y", "z"])
    frame["site"], frame["sex"] = ["a", "b"] * 20, ["f", "m", "f", None] * 10
    frame["day"] = pd.date_range("2020-01-01", periods=40).astype(str)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    frame.to_parquet(folder / "t.parquet")
    frame.to_feather(folder / "t.feather")
    frame.to_excel(folder / "t.xlsx", index=False)
    X = frame[["x", "y", "z"]].to_numpy()
    arrays = {f"task{k}_X": X[k::2] for k in (1, 0)} | {f"task{k}_y": np.zeros(20, dtype=int) for k in (1, 0)}
    np.savez_compressed(folder / "t.npz", **{name.replace("0", "2"): value for name, value in arrays.items()})
    sio.mmwrite(folder / "t.mtx", sparse.csr_matrix(np.maximum(X, 0)))
    found = {kind: (folder / f"t.{kind}").read_bytes() for kind in KINDS if kind not in ("h5ad", "model")}
    try:
        import anndata

        cells = anndata.AnnData(sparse.csr_matrix(X), obs=frame[["site"]].set_index(frame.index.astype(str)))
        cells.write_h5ad(folder / "t.h5ad")
        found["h5ad"] = (folder / "t.h5ad").read_bytes()
    except ImportError:
        pass
    out = folder / "run"
    code = _silent(lambda: main(["fit", str(folder / "t.csv"), *TASK, "--clusters", "2", "--refits", "0", "--quiet",
                                 "--out", str(out)]))  # fmt: skip
    if code:
        raise RuntimeError("the model of the corpus could not be made")
    return found | {"model": (out / "model.skops").read_bytes()}


def mutated(kind: str, data: bytes, rng: np.random.Generator) -> bytes:
    """A file with a few changes; of archives half of the time within one of their members."""
    if kind in ZIPPED and rng.random() < 0.5:
        return _within(data, rng)
    if kind == "csv.gz" and rng.random() < 0.5:
        return gzip.compress(_changed(gzip.decompress(data), rng))
    return _changed(data, rng)


def _within(data: bytes, rng: np.random.Generator) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = names[int(rng.integers(len(names)))]
        for name in names:
            content = old.read(name)
            if name == chosen:
                if rng.random() < 0.1:
                    continue
                content = _changed(content, rng)
            new.writestr(name, content)
    return buffer.getvalue()


def _changed(data: bytes, rng: np.random.Generator) -> bytes:
    for _ in range(int(rng.integers(1, 5))):
        at, n = int(rng.integers(len(data) + 1)), int(rng.choice([1, 1, 2, 8, 64]))
        before, here, after = data[:at], data[at : at + n], data[at + n :]
        flipped = bytes(byte ^ (1 << int(rng.integers(8))) for byte in here[:1]) + here[1:]
        inserted = TOKENS[int(rng.integers(len(TOKENS)))]
        choices = (rng.bytes(n), b"", here + rng.bytes(n), here * 50, flipped, inserted + here)
        i = int(rng.integers(len(choices) + 1))
        data = before if i == len(choices) else before + choices[i] + after
    return data


def trial(kind: str, data: bytes, folder: Path) -> str:
    """What went wrong when a file was read; empty if nothing did."""
    if kind == "model":
        path = folder / "run" / "model.skops"
        arguments = ["predict", str(folder / "run"), str(folder / "t.csv"), "--out", str(folder / "p.csv"), "--force"]
    else:
        path = folder / f"m.{kind}"
        files = [str(path)] if kind != "mtx" else [str(path), str(folder / "t.mtx")]
        arguments = ["check", *files, *KINDS[kind]]
    path.write_bytes(data)
    code, said = in_child(arguments, folder / "said.txt")
    if code not in (0, 2):
        return f"{' '.join(arguments[:1])} ended with {code}: {said[-300:]}"
    return f"a traceback: {said[-300:]}" if "Traceback" in said else ""


def in_child(arguments: list[str], said: Path) -> tuple[int, str]:
    """The exit code (negative: a signal) of the command line in a fork of this process, and what it printed."""
    child = os.fork()
    if child == 0:
        try:
            output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS)
            os._exit(_exit_code(arguments))
        except BaseException:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, said.read_text(errors="replace")


def _exit_code(arguments: list[str]) -> int:
    from mtcluster.cli.main import main

    try:
        code = main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _silent(call: Callable[[], Any]) -> Any:
    before, sys.stderr = sys.stderr, io.StringIO()
    try:
        return call()
    finally:
        sys.stderr = before
