"""The n-th write, rename, fsync, allocation … of a command fails, or is where the process is stopped.

After each the output is the old or the new one, whole, what is said of it is true, and the next run works. Where a
system cannot exchange two folders in one step, a kill between two steps leaves the old output beside its place: the
next run, whatever it does, puts it back.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from .campaign import Outcome
from .children import import_all, in_child
from .injecting import EFFECTS, FAILS, Fault

MANY = 25  # points of a kind that are tried of a command, if there are more
HIDDEN = ".mtcluster-"  # begins the names of what is not finished
OLD, NEW, EITHER, GONE = "old", "new", "old or new", "the output is gone"
FIT = ("--task", "site", "--refits", "0", "--quiet", "--clusters")


@dataclass(frozen=True)
class Command:
    """A command, where its output goes, and what is there before: a name in the folder of originals, or nothing."""

    name: str
    arguments: tuple[str, ...]
    out: str
    before: str | None
    exchange: bool = True

    @property
    def forced(self) -> list[str]:
        """The arguments of a run that may replace what is there."""
        force = () if self.name in ("report", "rename") or "--force" in self.arguments else ("--force",)
        return [*self.arguments, *force]


def commands(originals: Path, here: Path) -> list[Command]:
    """All commands that write; what they read is in the folder of originals."""
    table, parts, other, run = (str(originals / name) for name in ("t.csv", "t.parquet", "u.csv", "old"))
    out, new = str(here / "run"), str(here / "p.csv")
    fit = ("fit", table, *FIT, "3", "--out", out)
    return [
        Command("fit", fit, "run", None),
        Command("fit --force", (*fit, "--force"), "run", "old"),
        Command("fit --force without renameat2", (*fit, "--force"), "run", "old", exchange=False),
        Command("fit --out-of-core --force", ("fit", parts, *fit[2:], "--out-of-core", "--force"), "run", "old"),
        Command("predict --force", ("predict", run, table, "--out", new, "--force", "--quiet"), "p.csv", "u.csv"),
        Command("adapt --force", ("adapt", run, other, "--out", out, "--force", "--quiet"), "run", "old"),
        Command("report", ("report", out, "--quiet"), "run", "old"),
        Command("rename", ("rename", out, "0=large", "--quiet"), "run", "old"),
    ]


class Ground:
    """A folder of originals, one that each trial finds as it should be, and what commands write if nothing fails."""

    def __init__(self, folder: Path) -> None:
        self.originals, self.here, self.said = folder / "originals", folder / "here", folder / "said.txt"
        self.originals.mkdir()
        write_tables(self.originals)
        old = ["fit", str(self.originals / "t.csv"), *FIT, "2", "--out", str(self.originals / "old")]
        self.expect(old)
        self.commands = commands(self.originals, self.here)

    def expect(self, arguments: list[str]) -> None:
        """Run a command that must work."""
        code, said = in_child(arguments, self.said)
        if code:
            raise RuntimeError(f"{' '.join(arguments)} ended with {code}: {said}")

    def prepare(self, command: Command) -> None:
        """Make the folder as it is before the command."""
        shutil.rmtree(self.here, ignore_errors=True)
        self.here.mkdir()
        if command.before is not None:
            before, out = self.originals / command.before, self.here / command.out
            (shutil.copytree if before.is_dir() else shutil.copy)(before, out)

    def counted(self, command: Command) -> dict[str, int]:
        """How many calls of each kind a command makes; what it wrote is kept as the example of its output."""
        self.prepare(command)
        fault = Fault()
        counts = self.here / "counts.json"
        code, said = in_child(
            list(command.arguments), self.said, partial(_begin, fault, command), lambda: _tell(fault, counts)
        )
        if code:
            raise RuntimeError(f"{command.name} ended with {code}: {said}")
        found = {str(kind): int(n) for kind, n in json.loads(counts.read_text()).items()}
        example = self.originals / f"example {command.name}"
        (shutil.copytree if (self.here / command.out).is_dir() else shutil.copy)(self.here / command.out, example)
        return found

    def state(self, command: Command) -> str:
        """'old' (or nothing, as before), 'new', 'old or new' if they are the same, or what is wrong with the output."""
        out = self.here / command.out
        if command.before is None and not out.exists():
            return OLD
        if not out.exists():
            return GONE
        found, wanted = digests(out), digests(self.originals / f"example {command.name}")
        if command.before is not None and found == digests(self.originals / command.before):
            return EITHER if found == wanted else OLD
        if set(found) != set(wanted):
            return f"files {sorted(set(found) ^ set(wanted))} are missing, or too many"
        changing = {name for name in found if name in ("model.skops", "settings.json", "report.html")}
        other = [name for name in found if name not in changing and found[name] != wanted[name]]
        return f"{other[0]} is not whole" if other else (_whole(out, changing) or NEW)

    def leftovers(self) -> list[str]:
        """Hidden files and folders beside the output, or in it."""
        return [path.name for path in self.here.rglob(f"{HIDDEN}*")]


def measured(trials: Iterable[int], seed: int = 0) -> Outcome:
    """Count the points of all commands, and try them in the order that the seed gives."""
    import_all()
    outcome = Outcome("Fault points")
    with ground() as place:
        points, n_calls = plan(place)
        outcome.note = (
            f"{len(place.commands)} commands make {n_calls:,} such calls. At most {MANY} of one kind are taken from a "
            f"command, evenly, each with {len(EFFECTS)} effects: {len(points):,} trials if all are made."
        )
        order = np.random.default_rng(seed).permutation(len(points))
        for i in trials:
            if i >= len(points):
                break
            command, fault = points[order[i]]
            problem = trial(place, command, fault)
            at = f"{command.name}, {fault.kind} {fault.n}, {fault.effect}"
            outcome.add(f"{fault.kind} {fault.effect}", problem and f"{at}: {problem}")
    return outcome


@contextmanager
def ground() -> Iterator[Ground]:
    """A place for trials, which is removed at the end."""
    with tempfile.TemporaryDirectory() as name:
        yield Ground(Path(name))


def plan(place: Ground) -> tuple[list[tuple[Command, Fault]], int]:
    """All points that may be tried, each with each effect, and how many calls the commands make."""
    found, n_calls = [], 0
    for command in place.commands:
        for kind, n in place.counted(command).items():
            n_calls += n
            numbers = range(1, n + 1) if n <= MANY else np.linspace(1, n, MANY).astype(int).tolist()
            found += [(command, Fault(kind, at, effect)) for at in numbers for effect in EFFECTS]
    return found, n_calls


def trial(place: Ground, command: Command, fault: Fault) -> str:
    """What went wrong; empty if nothing did."""
    place.prepare(command)
    code, said = in_child(list(command.arguments), place.said, partial(_begin, fault, command))
    state, told = place.state(command), said[-300:].strip()
    if state == GONE and fault.effect == "SIGKILL" and not command.exchange:
        state = put_back(place, command)
    if state not in (OLD, NEW, EITHER):
        return f"{state} (code {code}: {told})"
    if code not in ((0, 2) if fault.effect == FAILS else (0, 130) if fault.effect != "SIGKILL" else (0, -9)):
        return f"code {code}: {told}"
    if "Traceback" in said or "bug in mtcluster" in said:
        return f"a traceback: {told}"
    if code == 0 and state == OLD:
        return f"code 0, but the old output: {told}"
    if "nothing was written" in said and state == NEW:
        return f"the new output is there, but: {told}"
    if code != 0 and not said.strip() and fault.effect != "SIGKILL":
        return f"code {code} without a word"
    left = place.leftovers()
    if left and fault.effect != "SIGKILL" and fault.kind not in ("remove", "rename", "allocation"):
        return f"{left[0]} is left over (code {code}: {told})"
    return next_run(place, command)


def put_back(place: Ground, command: Command) -> str:
    """The state of the output after a run that may not replace anything."""
    code, said = in_child([word for word in command.arguments if word != "--force"], place.said)
    return place.state(command) if code == 2 else f"not put back (code {code}: {said[-300:].strip()})"


def next_run(place: Ground, command: Command) -> str:
    """What is wrong with a run that comes afterwards; empty if nothing is."""
    code, said = in_child(command.forced, place.said)
    state, left = place.state(command), place.leftovers()
    if code or state not in (NEW, EITHER):
        return f"the next run ended with {code}, {state}: {said[-300:].strip()}"
    return f"the next run leaves {left[0]}" if left else ""


def _begin(fault: Fault, command: Command) -> None:
    if not command.exchange:
        from mtcluster._utils import files

        files._exchange = lambda a, b: False
    fault.inject()


def _tell(fault: Fault, path: Path) -> None:
    seen = dict(fault.seen)
    path.write_text(json.dumps(seen))


def _whole(out: Path, changing: set[str]) -> str:
    """What is wrong with the files that differ from run to run."""
    from mtcluster.interop._persistence import is_sealed

    if "model.skops" in changing and not is_sealed((out / "model.skops").read_bytes()):
        return "model.skops is not whole"
    if "settings.json" in changing:
        json.loads((out / "settings.json").read_text(encoding="utf-8"))
    if "report.html" in changing and not (out / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>"):
        return "report.html is not whole"
    return ""


def digests(path: Path) -> dict[str, str]:
    """A checksum for each file, by its name in the folder."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file() and HIDDEN not in str(one)]
    return {
        one.relative_to(path).as_posix() if one != path else "": hashlib.sha256(one.read_bytes()).hexdigest()
        for one in files
    }


def write_tables(folder: Path) -> None:
    """Two tables of three clusters at two sites, and one of a third site."""
    import pandas as pd

    rng = np.random.default_rng(0)
    centers = 5 * rng.normal(size=(3, 3))
    for name, sites in (("t", ["a", "b"]), ("u", ["c"])):
        n = 30 * len(sites)
        frame = pd.DataFrame(centers[rng.integers(0, 3, n)] + rng.normal(size=(n, 3)), columns=["x", "y", "z"])
        frame["site"] = sites * 30
        frame.to_csv(folder / f"{name}.csv", index=False)
        frame.to_parquet(folder / f"{name}.parquet")
