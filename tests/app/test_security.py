"""Whoever is not a page of the app gets 403, and what comes in does no harm."""

import os
import signal
import socket
import threading
import time
from urllib.parse import quote

import pytest

HOSTILE = ["<script>window.hacked=1</script>", '"><img src=x onerror="window.hacked=1">', "{{7*7}}", "' onclick='x"]


def test_the_address_is_the_last_line_and_the_token_is_long(app):
    assert app.lines[-1].startswith("http://127.0.0.1:")
    assert len(app.token) >= 32
    assert app.ask()[0] == 200


@pytest.mark.parametrize("path", ["/", "", "/static/app.css", "/runs/1", "//", "/x/", "/..", "/%2e%2e/", "/?token=x"])
def test_without_the_token_there_is_nothing(app, path):
    assert app.ask(path or "*", whole=True)[0] in (400, 403)
    assert app.ask(f"/{app.token[:-1]}x{path}", whole=True)[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "",
                                  "0.0.0.0:{port}",
                                  "127.0.0.1:{port}.evil.example", "localhost.evil.example:{port}"])  # fmt: skip
def test_another_host_is_refused_so_that_no_name_can_be_made_to_point_here(app, host):
    assert app.ask(Host=host.format(port=app.port))[0] == 403
    assert app.ask("data", {}, Host=host.format(port=app.port))[0] == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", ""]
)
def test_another_origin_is_refused(app, origin):
    before = app.ask("runs")[1]
    named = origin.format(port=app.port) or None
    assert app.ask("data", {}, Origin=named)[0] == 403
    if named:
        assert app.ask("", Origin=named)[0] == 403
    assert app.ask("runs")[1] == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_cannot_even_show_it(app, site):
    assert app.ask("", Sec_Fetch_Site=site)[0] == 403


def test_a_second_host_header_is_refused(app):
    with socket.create_connection(("127.0.0.1", app.port), timeout=10) as raw:
        good = f"Host: 127.0.0.1:{app.port}\r\n"
        raw.sendall(f"GET /{app.token}/ HTTP/1.1\r\n{good}Host: evil.example\r\nConnection: close\r\n\r\n".encode())
        assert raw.recv(1000).split()[1] in (b"400", b"403")


def test_only_this_computer_can_reach_it(app):
    try:
        own = next(found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET))
    except (OSError, StopIteration):
        pytest.skip("this machine has no name")
    if own.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError):
        socket.create_connection((own, app.port), timeout=3)


def test_every_answer_says_what_a_page_may_do(app, fitted):
    import http.client

    for path in ("", f"runs/{fitted}", "static/common.js", "nothing", f"runs/{fitted}/take/report"):
        connection = http.client.HTTPConnection("127.0.0.1", app.port)
        connection.request("GET", f"/{app.token}/{path}")
        answer = connection.getresponse()
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers
        connection.close()


def test_no_page_holds_styles_or_scripts_of_its_own(app, fitted):
    for path in ("", f"runs/{fitted}", f"compare/{fitted}/{fitted}"):
        _, page = app.ask(path)
        assert "<style" not in page
        assert " style=" not in page
        assert "<script>" not in page
        assert "//" not in page.replace("http://www.w3.org", "").split("<body")[0].replace("://127.0.0.1", "")


@pytest.mark.parametrize(
    "name",
    ["../../evil.csv", "..\\..\\evil.csv", "/etc/evil.csv", "C:\\evil.csv", ".evil.csv", "a\x00b.csv", "-evil.csv",
     "evil.csv/", "....//evil.csv", "\u202evsc.csv", "x" * 5000 + ".csv", "..", "", "CON.csv", "a;rm -rf $HOME.csv"],
)  # fmt: skip
def test_names_of_files_stay_names(app, kept, csv, name):
    number = app.upload(csv, quote(name, safe=""))
    [path] = (kept / "data" / str(number)).iterdir()
    assert path.is_file()
    assert len(path.name) <= 120
    assert not path.name.startswith((".", "-"))
    assert not set(path.name) & set("/\\;$\x00\u202e")
    assert not list(kept.parent.rglob("evil*")) or path.name.endswith("evil.csv") or "evil" not in name
    assert app.ask(f"data/{number}")[0] == 200
    assert app.ask(f"data/{number}/remove", {})[0] == 200


@pytest.mark.parametrize("path", ["static/..%2f..%2f__init__.py", "static/../security.py", "runs/1/take/..%2fx",
                                  "runs/-1",
                                  "runs/1e3", "data/99999", "data/../../etc/passwd", "compare/1/x"])  # fmt: skip
def test_addresses_name_no_files(app, path):
    assert app.ask(path)[0] in (400, 403, 404)


@pytest.mark.parametrize("told", [
    {"switches": ["--stop-words /etc/passwd"]}, {"switches": ["--previous /tmp"]}, {"clusters": "--out=/tmp/x"},
    {"task": "nothing"}, {"clusters": "many"}, {"refits": "-1"}, {"text": 3}, {"switches": 3}, {"scale": "/etc/passwd"},
])  # fmt: skip
def test_a_page_cannot_ask_for_other_options(app, csv, told):
    number = app.upload(csv)
    status, answer = app.ask(f"data/{number}/fit", told)
    if status == 200:
        assert 'class="wrong"' in app.wait(answer["run"])
        assert app.ask(f"runs/{answer['run']}/remove", {})[0] == 200
    else:
        assert status == 400
    assert app.ask(f"data/{number}/remove", {})[0] == 200


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff", b'{"names": 3}', b'{"names": {"x": "y"}}', b"[" * 100_000])
def test_malformed_requests_are_refused(app, fitted, raw):
    for path in (f"runs/{fitted}/rename", f"runs/{fitted}/select", f"runs/{fitted}/join"):
        assert app.ask(path, raw=raw)[0] == 400
    assert app.ask(f"runs/{fitted}")[0] == 200


def test_a_hostile_table_is_shown_as_text(app, table):
    hostile = table.rename(columns={"age": HOSTILE[0], "income": HOSTILE[1], "smokes": HOSTILE[2]})
    hostile["site"] = hostile["site"].map({"north": HOSTILE[0], "south": HOSTILE[1], "west": HOSTILE[3]})
    hostile["person"] = [f"{HOSTILE[i % 4]}{i}" for i in range(len(hostile))]
    number = app.upload(hostile.to_csv(index=False), quote('<img src=x onerror="x">.csv'))
    settings = {"task": "site", "id": "person", "clusters": "3", "refits": "0", "title": HOSTILE[0]}
    run = app.ask(f"data/{number}/fit", settings)[1]["run"]
    app.wait(run)
    assert app.ask(f"runs/{run}/rename", {"names": {"0": HOSTILE[1][:50]}})[0] == 200
    pages = [app.ask(path)[1] for path in ("", f"data/{number}", f"runs/{run}", f"compare/{run}/{run}")]
    pages.append(app.ask(f"data/{number}/check", settings)[1])
    pages.append(app.ask(f"runs/{run}/row", {"id": f"{HOSTILE[0]}0"})[1])
    for page in pages:
        assert "<script>window" not in page
        assert "<img" not in page
        assert "onclick='x" not in page
    assert "{{7*7}}" in pages[1]
    assert "&lt;script&gt;" in pages[2]


def test_an_upload_that_is_too_large_is_refused_while_it_comes_in(start, tmp_path):
    app = start("--keep", tmp_path / "app", "--max-bytes", 100_000)
    number = app.ask("data", {})[1]["data"]
    sent = 0
    with socket.create_connection(("127.0.0.1", app.port), timeout=20) as raw:
        where = f"127.0.0.1:{app.port}"
        head = (
            f"POST /{app.token}/data/{number}/files?name=a.csv HTTP/1.1\r\nHost: {where}\r\nOrigin: http://{where}\r\n"
        )
        raw.sendall(f"{head}Content-Length: {2**30}\r\n\r\n".encode())
        try:
            while sent < 2**30:
                raw.sendall(b"x" * 2**16)
                sent += 2**16
        except OSError:
            pass
    assert sent < 2**26
    assert list((tmp_path / "app" / "data" / str(number)).iterdir()) == []
    assert app.ask()[0] == 200


def test_ten_uploads_at_once_stay_within_the_limit(start, tmp_path):
    app, answers = start("--keep", tmp_path / "app", "--max-bytes", 100_000), []

    def send():
        number = app.ask("data", {})[1]["data"]
        answers.append(app.ask(f"data/{number}/files?name=a.csv", raw=b"a,b\n" + b"1,2\n" * 7_500)[0])

    threads = [threading.Thread(target=send) for _ in range(10)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert set(answers) <= {200, 413}
    assert 1 <= answers.count(200) <= 3
    held = sum(path.stat().st_size for path in (tmp_path / "app" / "data").rglob("*.csv"))
    assert held <= 100_000
    assert app.ask()[0] == 200


def slow_run(app, csv):
    number = app.upload(csv)
    run = app.ask(f"data/{number}/fit", {"task": "site", "id": "person", "refits": "40"})[1]["run"]
    for _ in range(300):
        if "choosing" in app.ask(f"runs/{run}")[1]:
            return run
        time.sleep(0.1)
    raise AssertionError("the run does not begin")


def test_a_killed_worker_is_told_and_ctrl_c_leaves_nothing(start, csv, tmp_path):
    app = start(TMPDIR=tmp_path)
    run = slow_run(app, csv)
    for pid in app.children:
        os.kill(pid, signal.SIGKILL)
    assert "The process that did this ended" in app.wait(run)
    slow_run(app, csv)
    children = app.children
    assert children
    assert app.end() == 0
    assert list(tmp_path.iterdir()) == []
    assert not [pid for pid in children if os.path.exists(f"/proc/{pid}")]


def test_processes_end_even_if_the_app_is_killed(start, csv, tmp_path):
    app = start(TMPDIR=tmp_path)
    slow_run(app, csv)
    children = app.children
    app.end(signal.SIGKILL)
    for _ in range(100):
        if not [pid for pid in children if os.path.exists(f"/proc/{pid}")]:
            return
        time.sleep(0.1)
    raise AssertionError("processes are left")
