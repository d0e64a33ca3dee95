"""What the app holds: data sets that came in and runs, in one folder with numbers for names."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..cli.errors import InputError
from ..cli.layout import SETTINGS
from ..cli.naming import free_name, safe_name

MARK = "mtcluster-app.json"  # a file that says that a folder is the app's own
MOST_FILES = 100  # of a data set
PLACE = re.compile(r"\.\./\.\./runs/(\d+)/")


@dataclass
class DataSet:
    """Files that came in together."""

    number: int
    folder: Path
    files: list[str] = field(default_factory=list)
    bytes: int = 0
    look: dict[str, Any] | None = None  # what was seen in the files; None: not looked at yet
    offered: dict[str, dict[str, Any]] = field(default_factory=dict)  # options of findings, by their text

    @property
    def title(self) -> str:
        """The name of the first file, and how many others there are."""
        others = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0]}{others}" if self.files else "no file yet"


@dataclass
class Run:
    """A command with its settings, how far it is, and what came out."""

    number: int
    kind: str  # fit, adapt, predict, merge or opened
    data: int | None  # the data set; None: the folder in which the app was started
    steps: list[list[str]]  # commands that make the result from the data, the last one first to be run here
    settings: dict[str, Any] = field(default_factory=dict)  # as the page asked for them
    status: str = "waiting"  # then running, and done, failed or cancelled
    stage: str = ""
    share: float = 0.0
    error: str = ""
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The folder of the result, seen from that of a data set."""
        return f"../../runs/{self.number}/{'labels.csv' if self.kind == 'predict' else 'result'}"

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("done", "failed", "cancelled")

    @property
    def shown(self) -> list[list[str]]:
        """The commands with names of folders that say what they are."""

        def named(one: str) -> str:
            plain = re.sub(r"/labels\.csv$", ".csv", PLACE.sub(r"run-\1/", one))
            return re.sub(r"(run-\d+)/result$", r"\1", plain)

        return [[named(one) for one in step] for step in self.steps]

    @property
    def own(self) -> str:
        """The command that the run is about, which others may have changed since."""
        return " ".join(next(step for step in reversed(self.shown) if step[0] != "rename"))


class Workspace:
    """The folder of the app, and the data sets and runs in it."""

    def __init__(self, root: Path, most: int, started_in: Path) -> None:
        self.root, self.most, self.started_in = root, most, started_in
        self.data: dict[int, DataSet] = {}
        self.runs: dict[int, Run] = {}
        self._last = {"data": 0, "runs": 0}
        _own(root)
        self._read()

    @property
    def held(self) -> int:
        """Bytes of all files that came in."""
        return sum(one.bytes for one in self.data.values())

    def number(self, kind: str) -> int:
        """Give a number that was not used before."""
        self._last[kind] += 1
        return self._last[kind]

    def new_data(self) -> DataSet:
        """Make room for the files of a data set."""
        number = self.number("data")
        found = self.data[number] = DataSet(number, self.root / "data" / str(number))
        found.folder.mkdir(parents=True)
        return found

    def new_run(self, kind: str, data: int | None, settings: dict[str, Any]) -> Run:
        """Make room for a run; its steps are still to be told."""
        number = self.number("runs")
        (self.root / "runs" / str(number)).mkdir(parents=True)
        self.runs[number] = Run(number, kind, data, [], settings)
        return self.runs[number]

    def folder(self, run: Run) -> Path:
        """Find the folder of a run."""
        return self.root / "runs" / str(run.number)

    def cwd(self, run: Run) -> Path:
        """Find the folder in which the commands of a run are run, as names of files in its result are seen from it."""
        return self.started_in if run.data is None else self.root / "data" / str(run.data)

    def result(self, run: Run) -> str:
        """Find the folder, or the file, of the result."""
        return str(self.folder(run) / ("labels.csv" if run.kind == "predict" else "result"))

    async def receive(self, data: DataSet, name: str, chunks: AsyncIterator[bytes]) -> None:
        """Write a file as it comes in, as long as there is room for it."""
        name = free_name(safe_name(name), data.files)
        if len(data.files) >= MOST_FILES:
            raise InputError(f"There are {MOST_FILES} files already: drop them as one table with a column of groups.")
        path = data.folder / name
        data.files.append(name)
        began = data.bytes
        try:
            with path.open("xb") as file:
                async for chunk in chunks:
                    data.bytes += len(chunk)
                    if self.held > self.most:
                        raise InputError(f"{name}: there is room for {self.most:,} bytes in all (--max-bytes).")
                    file.write(chunk)
            data.look = None
        except BaseException:
            path.unlink(missing_ok=True)
            data.files.remove(name)
            data.bytes = began
            raise

    def forget_run(self, run: Run) -> None:
        """Remove a run and its files."""
        shutil.rmtree(self.folder(run), ignore_errors=True)
        self.runs.pop(run.number, None)

    def forget_data(self, data: DataSet) -> None:
        """Remove a data set that no run needs."""
        if any(run.data == data.number for run in self.runs.values()):
            raise InputError("Runs need these data: remove those runs first.")
        shutil.rmtree(data.folder, ignore_errors=True)
        del self.data[data.number]

    def keep(self, one: DataSet | Run) -> None:
        """Write down what is not in the files themselves."""
        folder = one.folder if isinstance(one, DataSet) else self.folder(one)
        told = asdict(one) | ({"folder": "", "look": None, "offered": {}} if isinstance(one, DataSet) else {})
        kind = "data" if isinstance(one, DataSet) else "run"
        (folder.parent / f"{folder.name}.{kind}.json").write_text(json.dumps(told), encoding="utf-8")

    def _read(self) -> None:
        """Find what an earlier app kept."""
        for path in sorted(self.root.glob("data/*.data.json")):
            told = json.loads(path.read_text(encoding="utf-8"))
            folder = self.root / "data" / str(told["number"])
            if folder.is_dir():
                self.data[told["number"]] = DataSet(**told | {"folder": folder})
        for path in sorted(self.root.glob("runs/*.run.json")):
            run = Run(**json.loads(path.read_text(encoding="utf-8")))
            if Path(self.result(run)).exists():
                self.runs[run.number] = run
        self._last = {"data": max((*self.data, 0)), "runs": max((*self.runs, 0))}

    def open(self, folder: Path) -> Run:
        """Copy a results folder among the runs."""
        if not (folder / SETTINGS).is_file():
            raise InputError(f"{folder} was not written by `mtcluster fit`, as it has no {SETTINGS}.")
        run = self.new_run("opened", None, {})
        shutil.copytree(folder, self.result(run))
        run.steps, run.status, run.share = [["fit", "...", f"--out={run.place}"]], "done", 1.0
        run.summary = {"title": folder.name}
        return run


def _own(root: Path) -> None:
    """Take a folder that is empty, or that an earlier app kept."""
    root.mkdir(parents=True, exist_ok=True)
    if not (root / MARK).is_file() and any(root.iterdir()):
        raise InputError(f"--keep {root} holds other files: name an empty folder, or one that `mtcluster app` kept.")
    (root / MARK).write_text("{}", encoding="utf-8")
