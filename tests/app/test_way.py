"""The whole way through the app in a real browser, with the pointer and by keyboard alone."""

import csv
import io
import shutil
import zipfile

import pytest

from .conftest import LONG

pytestmark = pytest.mark.browser

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("there is no Chromium on this machine", allow_module_level=True)

DROP = """([name, text]) => {
    const told = new DataTransfer(), zone = document.getElementById("drop");
    told.items.add(new File([text], name, { type: "text/csv" }));
    for (const kind of ["dragenter", "dragover", "drop"])
        zone.dispatchEvent(new DragEvent(kind, { dataTransfer: told, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser):
    """Open an app; whatever goes wrong on its pages, or is asked of other hosts, fails the test."""
    contexts, faults = [], []

    def open_page(app, width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(1000 * LONG)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        own = ("data:", "blob:", app.url)
        page.on("request", lambda asked: None if asked.url.startswith(own) else faults.append(asked.url))
        page.goto(app.url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def checked(page):
    page.locator("#findings[aria-busy=false]").wait_for()


def result(page):
    page.locator("#canvas[data-shown]").wait_for()


def rows_in(download):
    return list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))


def start(page, clusters="3", refits="0"):
    page.get_by_label("Number of clusters").fill(clusters)
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Refits to measure").fill(refits)
    page.get_by_role("button", name="Start").click()


def test_the_whole_way(app, opened, csv, table):
    page = opened(app)
    page.evaluate(DROP, ["clinics.csv", csv])
    page.get_by_role("heading", name="clinics.csv").wait_for()
    checked(page)
    assert page.get_by_label("Column of groups").input_value() == "site"
    assert "120 rows in 3 groups" in page.locator("#findings").inner_text()
    switch = page.get_by_role("switch").first
    assert "stand for missing values" in switch.locator("xpath=..").inner_text()
    switch.check()
    page.get_by_text("Changed by you").wait_for()

    start(page, clusters="", refits="40")
    page.locator(".stage", has_text="choosing the number").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("was cancelled").wait_for()
    page.get_by_role("link", name="Run again with a change").click()
    checked(page)
    assert page.get_by_role("switch").first.is_checked()
    start(page)
    result(page)

    page.get_by_label("Name of cluster 1").fill("strong <b>")
    page.get_by_label("Name of cluster 1").press("Tab")
    page.locator("[data-name='1'][value='strong <b>']").wait_for()
    page.get_by_text("Cluster 1 · strong <b>").first.wait_for()
    first = page.url

    total = int(page.locator("#canvas").get_attribute("data-shown"))
    page.get_by_label("Show cluster 0 on the map").uncheck()
    shown = int(page.locator("#canvas").get_attribute("data-shown"))
    assert shown < total == 120
    page.get_by_label("Colour by any column").select_option("smokes")
    page.locator("#levels", has_text="yes").wait_for()
    page.get_by_role("button", name="Select all that are shown").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the selected rows").click()
    rows = rows_in(download)
    assert len(rows) == shown
    assert {row["cluster"] for row in rows} == {"1", "2"}
    assert table["age"].astype(str)[int(rows[0]["id"][1:])] == rows[0]["age"]

    page.get_by_role("button", name="Select rows on the map").click()
    canvas = page.locator("#canvas")
    box = canvas.bounding_box()
    right, below = box["width"] - 12, box["height"] - 12
    canvas.hover(position={"x": 12, "y": 12})
    page.mouse.down()
    for x, y in ((right, 12), (right, below), (12, below)):
        canvas.hover(position={"x": x, "y": y})
    page.mouse.up()
    some = int(page.locator("#selected").inner_text().split()[0])
    assert some == shown  # all of them are inside

    page.get_by_text("Look up a row").click()
    page.get_by_label("Its id").fill("p7")
    page.get_by_role("button", name="Why is it where it is?").click()
    page.locator("#why table").wait_for()
    assert "Probabilities: cluster" in page.locator("#why").inner_text()

    page.get_by_label("Merge cluster 0").check()
    page.get_by_label("Merge cluster 2").check()
    page.get_by_role("button", name="Merge the marked clusters").click()
    page.get_by_text("Merged by hand: clusters 0 and 2.").first.wait_for(state="attached")
    assert page.get_by_label("Name of cluster 2").count() == 0
    assert page.get_by_label("Name of cluster 1").input_value() == "strong <b>"
    page.get_by_role("link", name="Compare with run").first.click()
    page.locator("svg.flow").wait_for()
    assert "120 rows are in both" in page.locator("main").inner_text()

    page.goto(first)
    result(page)
    new = table[table["site"] == "west"].assign(site="east")
    far = new[:6].assign(age=90, income=-80, person=[f"far{i}" for i in range(6)])
    page.get_by_text("New data on this result").click()
    page.evaluate(DROP, ["east.csv", new.to_csv(index=False) + far.to_csv(index=False, header=False)])
    page.get_by_text("30 new rows").or_(page.get_by_label("No cluster (−1)")).first.wait_for()
    result(page)
    page.get_by_label("No cluster (−1)").uncheck()
    left = int(page.locator("#canvas").get_attribute("data-shown"))
    assert left < 36
    page.get_by_text("Take away").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="whole results folder").click()
    names = zipfile.ZipFile(download.value.path()).namelist()
    assert {"labels.csv", "model.skops", "report.html", "settings.json", "tables/east.csv"} <= set(names)
    lines = page.locator("#command").inner_text().splitlines()
    assert [line.split()[1] for line in lines] == ["fit", "rename", "adapt"]
    page.reload()
    result(page)
    page.go_back()
    assert page.locator("#app").count()


def test_new_rows_are_only_labelled(app, opened, fitted, table):
    page = opened(app)
    page.goto(f"{app.url}runs/{fitted}")
    page.get_by_text("New data on this result").click()
    page.get_by_label("What to do").select_option("predict")
    page.evaluate(DROP, ["more.csv", table[:30].to_csv(index=False)])
    page.get_by_role("heading", name="30 new rows, labelled").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Labels (CSV)").click()
    assert len(rows_in(download)) == 30


def test_results_are_opened_again(app, opened, start, fitted, kept, tmp_path):
    shutil.copytree(kept, tmp_path / "app")
    shutil.copytree(kept / "runs" / str(fitted) / "result", tmp_path / "mine")
    again = start(tmp_path / "mine", "--keep", tmp_path / "app")
    page = opened(again)
    assert page.get_by_text("opened", exact=True).count() == 1
    page.goto(f"{again.url}runs/{fitted}")
    result(page)
    page.get_by_text("Look up a row").click()
    page.get_by_label("Its id").fill("p7")
    page.get_by_label("Its id").press("Enter")
    page.locator("#why table").wait_for()
    page.goto(again.url)
    page.get_by_role("link", name="mine").click()
    result(page)


def tab_to(page, wanted):
    """Press Tab until an element has the focus."""
    for _ in range(80):
        if page.locator(wanted).first.evaluate("one => one === document.activeElement"):
            return page.locator(wanted).first
        page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} cannot be reached with Tab")


def test_by_keyboard_alone_on_a_small_screen(app, opened):
    page = opened(app, 390)
    tab_to(page, "#example").press("Enter")
    checked(page)
    assert page.get_by_label("Column of groups").input_value() == "laboratory"
    tab_to(page, "[name=clusters]").type("3")
    tab_to(page, "summary").press("Enter")
    tab_to(page, "[name=refits]").fill("0")
    tab_to(page, "#start").press("Enter")
    result(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab_to(page, "[data-name='0']").type("light")
    page.keyboard.press("Tab")
    page.locator("[data-name='0'][value=light]").wait_for()
    tab_to(page, "[data-merge='0']").press("Space")
    tab_to(page, "[data-merge='1']").press("Space")
    tab_to(page, "#merge").press("Enter")
    page.get_by_text("Merged by hand").first.wait_for(state="attached")
    tab_to(page, "#select-shown").press("Enter")
    with page.expect_download() as download:
        tab_to(page, "#download").press("Enter")
    assert len(rows_in(download)) == 178
    page.goto(app.url)
    tab_to(page, "#compare").press("Enter")
    page.locator("svg.flow").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_pages_are_accessible_and_never_scroll_sideways(app, opened, fitted, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed").Axe()
    page = opened(app, width, color_scheme=scheme, bypass_csp=True)
    run = app.ask(f"runs/{fitted}")[1]
    data = run.split("data/")[1].split("?")[0]
    for path in ("", f"data/{data}", f"runs/{fitted}", f"compare/{fitted}/{fitted}"):
        page.goto(app.url + path)
        if path.startswith("data"):
            checked(page)
        page.locator("details").evaluate_all("all => all.forEach((details) => { details.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        found = axe.run(page).response["violations"]
        serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
        assert serious == [], path
