"""The app as a process of its own, and what talks to it."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

from mtcluster.datasets import make_multitask_blobs

pd = pytest.importorskip("pandas", reason="files are read with pandas: pip install 'mtcluster[files]'")
pytest.importorskip("skops", reason="models are written with skops: pip install 'mtcluster[files]'")
pytest.importorskip("starlette", reason="the app is served with starlette: pip install 'mtcluster[app]'")
pytest.importorskip("uvicorn", reason="the app is served with uvicorn: pip install 'mtcluster[app]'")

LONG = 60  # seconds within which everything has happened


class App:
    """`mtcluster app` as a process."""

    def __init__(self, *arguments, **environment):
        command = [sys.executable, "-m", "mtcluster", "app", "--no-browser", *map(str, arguments)]
        told = {"env": {**os.environ, **{name: str(value) for name, value in environment.items()}}}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **told)
        self.lines = [self.process.stdout.readline().strip() for _ in range(2)]
        self.url = self.lines[-1]
        parts = urlsplit(self.url)
        self.port, self.token = parts.port, parts.path.strip("/")

    def ask(self, path="", told=None, *, raw=None, whole=False, **headers):
        """Answer of the app: status, and its text or what its JSON says."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        body = raw if told is None else json.dumps(told)
        if body is not None:
            sent.setdefault("Origin", f"http://127.0.0.1:{self.port}")
        sent = {name: value for name, value in sent.items() if value is not None}
        connection.request("GET" if body is None else "POST", path if whole else f"/{self.token}/{path}", body, sent)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        kind = answer.headers.get("content-type", "")
        return answer.status, json.loads(content) if "json" in kind else content.decode("utf-8", "replace")

    def upload(self, content, name="table.csv"):
        """Send a file as a data set of its own, and return its number."""
        number = self.ask("data", {})[1]["data"]
        status, told = self.ask(f"data/{number}/files?name={name}", raw=content)
        assert status == 200, told
        return number

    def wait(self, run):
        """Wait until a run is over, and return its page."""
        for _ in range(10 * LONG):
            status, page = self.ask(f"runs/{run}")
            if status != 200 or "data-alone" not in page or "<progress" not in page:
                return page
            time.sleep(0.1)
        raise AssertionError(f"run {run} is not over")

    @property
    def children(self):
        """Processes that the app started."""
        told = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in told.stdout.split()]

    def end(self, number=signal.SIGINT):
        """Stop the app, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(LONG)
        self.process.stdout.close()
        return code


@pytest.fixture
def start():
    """Start an app of its own."""
    apps = []

    def started(*arguments, **environment):
        apps.append(App(*arguments, **environment))
        return apps[-1]

    yield started
    for app in apps:
        app.end()


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept") / "app"


@pytest.fixture(scope="session")
def app(kept):
    """One app for all tests that leave it as it is."""
    if shutil.which("ps") is None:
        pytest.skip("there is no ps on this machine")
    started = App("--keep", kept)
    yield started
    assert started.end() == 0


@pytest.fixture(scope="session")
def table():
    """Three sites with an offset each, three clusters, ids, and a code for missing values."""
    X, _, tasks = make_multitask_blobs([40, 50, 30], 4, n_tasks=3, n_clusters=3, separation=9, random_state=0)
    frame = pd.DataFrame(X.round(3), columns=["age", "income", "trust", "hours"])
    frame.insert(0, "person", [f"p{i}" for i in range(len(X))])
    frame.insert(1, "site", np.array(["north", "south", "west"])[tasks])
    frame["smokes"] = np.where(np.arange(len(X)) % 3, "yes", "no")
    frame.loc[3, "smokes"] = "-"
    return frame


@pytest.fixture(scope="session")
def csv(table):
    return table.to_csv(index=False)


@pytest.fixture(scope="session")
def fitted(app, csv):
    """The number of a run that is done, of a data set that came in."""
    data = app.upload(csv)
    settings = {"task": "site", "id": "person", "clusters": "3", "refits": "2", "seed": "0"}
    run = app.ask(f"data/{data}/fit", settings)[1]["run"]
    assert "app" in app.wait(run)
    return run
