"""The page in a real browser, opened from a file."""

import shutil

import numpy as np
import pytest

from mtcluster.inspection import make_report

from .conftest import HOSTILE, SELECTION

pytestmark = pytest.mark.browser

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("there is no Chromium on this machine", allow_module_level=True)

WIDTHS = (390, 1400)
COUNT_PIXELS = """(j) => {
    const canvas = document.getElementById("canvas"), copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const pen = copy.getContext("2d", { willReadFrequently: true });
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--c${j}`).trim();
    pen.fillRect(0, 0, 1, 1);
    const colour = pen.getImageData(0, 0, 1, 1).data;
    pen.clearRect(0, 0, 1, 1);
    pen.drawImage(canvas, 0, 0);
    const { data } = pen.getImageData(0, 0, copy.width, copy.height);
    let near = 0;
    for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 150 && [0, 1, 2].every((k) => Math.abs(data[i + k] - colour[k]) < 6)) near++;
    return near;
}"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def page_file(blob_model, blob_stability, tmp_path_factory):
    rows = len(blob_model.labels_)
    report = make_report(
        blob_model,
        ids=[f"patient-{i}" for i in range(rows)],
        feature_names=["age", "weight", "iron", "sodium", "glucose", "pulse"],
        cells=lambda rows: [{"note": f"cell of {i}"} for i in rows],
        stability=blob_stability,
        selection=SELECTION,
    )
    return report.save(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def opened(browser):
    """Open a file; whatever goes wrong in it, or is asked of the network, fails the test."""
    contexts, faults = [], []

    def open_page(path, width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        page.locator("#canvas[data-shown]").wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def point_on_map(page, row):
    """Where a row is drawn, from the coordinates that the page holds; the first view shows all of these blobs."""
    return page.evaluate(
        """(row) => {
            const data = JSON.parse(document.getElementById("data").textContent);
            const box = document.getElementById("canvas").getBoundingClientRect();
            const share = (axis, at) => {
                const pad = 0.03 * (axis.to - axis.from);
                return (at - axis.from + pad) / (axis.to - axis.from + 2 * pad);
            };
            const [x, y] = data.axes.map((axis) => share(axis, axis.at[row]));
            return [box.x + 26 + x * (box.width - 52), box.y + 26 + (1 - y) * (box.height - 52)];
        }""",
        row,
    )


def shown(page):
    return int(page.locator("#canvas").get_attribute("data-shown"))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_a_fault_and_never_scrolls_sideways(opened, page_file, width, scheme):
    page = opened(page_file, width, color_scheme=scheme)
    assert shown(page) == 120
    page.locator("details").evaluate_all("all => all.forEach((details) => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 24, 28)")


def test_the_map_draws_its_points_in_the_colours_of_their_clusters(opened, page_file, blob_model):
    page = opened(page_file)
    for j in range(4):
        rows = np.flatnonzero(blob_model.labels_ == j)
        page.locator("button[data-none=cluster]").click()
        page.locator(f"input[data-cluster='{j}']").check()
        assert shown(page) == len(rows)
        pixels = page.evaluate(COUNT_PIXELS, j)
        assert pixels > 10 * len(rows)


def test_pointing_at_an_example_tells_what_it_is(opened, page_file, blob_model):
    page = opened(page_file)
    page.locator("#canvas").scroll_into_view_if_needed()
    row = int(np.argmax(blob_model.fitted_.rows.map[:, 0]))  # at the edge, where nothing hides it
    page.mouse.move(*point_on_map(page, row))
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert tip.locator("strong").inner_text() == f"patient-{row}"
    assert f"cluster {blob_model.labels_[row]}" in tip.inner_text()
    assert f"data set {blob_model.tasks_[blob_model.fitted_.rows.tasks[row]]}" in tip.inner_text()
    assert "% of the refits" in tip.inner_text()
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def test_filters_reduce_what_is_drawn(opened, page_file, blob_model):
    page = opened(page_file)
    page.locator("input[data-task='1']").uncheck()
    assert shown(page) == np.count_nonzero(blob_model.fitted_.rows.tasks != 1)
    page.locator("input[data-cluster='2']").uncheck()
    assert shown(page) == np.count_nonzero((blob_model.fitted_.rows.tasks != 1) & (blob_model.labels_ != 2))
    page.locator("button[data-all=task]").click()
    page.locator("button[data-all=cluster]").click()
    assert shown(page) == 120
    page.locator("button[data-none=task]").click()
    assert shown(page) == 0


def test_other_views_of_the_map(opened, page_file):
    page = opened(page_file)

    def picture():
        return page.evaluate("document.getElementById('canvas').toDataURL()")

    seen = [picture()]
    for change in (
        lambda: page.locator("#colour").select_option("task"),
        lambda: page.locator("#colour").select_option("easiness"),
        lambda: page.locator("#across").select_option("2"),
        lambda: page.locator("#apart").check(),
        lambda: page.locator("#closer").click(),
    ):
        change()
        assert picture() not in seen
        seen.append(picture())
    page.locator("#whole").click()
    assert picture() == seen[-2]
    assert page.locator("#scale").is_visible()


def test_the_map_by_keyboard_is_heard(opened, page_file):
    page = opened(page_file)
    page.locator("#canvas").focus()
    heard = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        heard.append(page.locator("#heard").text_content())
    assert all(text.startswith("patient-") for text in heard)
    assert heard[0] != heard[1]
    assert page.locator("#heard").get_attribute("aria-live") == "polite"
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_a_table_sorts_both_ways(opened, page_file):
    page = opened(page_file)

    def column(place):
        cells = page.locator(f"table.outliers tbody tr td:nth-child({place})")
        return [float(value) for value in cells.evaluate_all("all => all.map((cell) => cell.dataset.value)")]

    page.locator("#examples summary").click()
    easiness = page.locator("table.outliers thead th", has_text="Easiness")
    for expected, descending in (("descending", True), ("ascending", False), ("descending", True)):
        easiness.locator("button").click()
        assert easiness.get_attribute("aria-sort") == expected
        assert column(5) == sorted(column(5), reverse=descending)
    assert page.locator("table.outliers [aria-sort]").count() == 1
    page.locator("table.outliers thead th", has_text="Row").locator("button").click()
    names = page.locator("table.outliers tbody th").all_inner_texts()
    assert names == sorted(names, key=lambda name: int(name.removeprefix("patient-")))


def test_the_theme_changes_and_is_remembered(opened, page_file):
    page = opened(page_file, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme").click()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark
    page.locator("#theme").click()
    assert page.evaluate(ground) == light


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(opened, page_file):
    page = opened(page_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    reached = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            """() => {
                const at = document.activeElement;
                return [at.id || at.dataset.task || at.tagName, getComputedStyle(at).outlineStyle];
            }"""
        )
        reached.add(name)
        assert name == "BODY" or outline != "none"
    by_id = {"theme", "colour", "across", "up", "apart", "closer", "wider", "whole", "canvas"}
    assert by_id | {"A", "SUMMARY", "BUTTON"} <= reached


def test_hostile_names_run_nothing_and_show_as_text(opened, hostile_model, hostile_arguments, tmp_path):
    path = make_report(hostile_model, **hostile_arguments).save(tmp_path / "hostile.html")
    page = opened(path, 390)
    page.locator("details").evaluate_all("all => all.forEach((details) => { details.open = true; })")
    page.locator("#canvas").focus()
    told = []
    for key in ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"] * 8:
        page.keyboard.press(key)
        told.append(page.locator("#tip").inner_text())
    page.locator("#apart").check()
    for button in page.locator("table.outliers thead button").all():
        button.click()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert any("<script>window.hacked=1</script>" in text for text in told)
    assert page.title().startswith("<script>")
    assert page.get_by_text("<script>window.hacked=1</script>").count() > 3
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_print_shows_everything_on_white(opened, page_file):
    page = opened(page_file, color_scheme="dark")
    page.emulate_media(media="print")
    page.locator("details[open]").first.wait_for()
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for control in ("nav", ".controls", ".filters", "#theme"):
        assert page.locator(control).is_hidden()
    assert page.locator("#canvas").is_visible()
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="screen")
    page.wait_for_function("document.querySelectorAll('details[open]').length === 0")


def test_without_scripts_the_page_still_tells_all_but_the_map(browser, page_file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("#map .controls").is_hidden()
    assert page.get_by_text("The map needs JavaScript").is_visible()
    assert page.locator("table.outliers tbody tr").count() == 50
    context.close()


def test_a_notebook_frame_works_without_storage(browser, blob_model, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html><body>{blob_model.report()._repr_html_()}</body>", encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#canvas[data-shown='120']").wait_for()
    frame.locator("#theme").click()
    assert frame.locator("html").get_attribute("data-theme") in ("light", "dark")
    page.close()


def test_twenty_thousand_examples_are_drawn_and_pointed_at(opened, large_model, tmp_path):
    page = opened(make_report(large_model, settings={}).save(tmp_path / "large.html"))
    assert shown(page) == 20_000
    page.locator("#canvas").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#heard").text_content().startswith("row ")
    assert page.locator("#ring").is_visible()
    page.locator("input[data-task='0']").uncheck()
    assert shown(page) == np.count_nonzero(large_model.fitted_.rows.tasks != 0)
    assert page.locator("#ring").is_hidden()


def test_the_legend_shows_the_colours_of_what_is_coloured(opened, page_file):
    page = opened(page_file)

    def ground(kind):
        dot = page.locator(f"input[data-{kind}='1'] + .dot")
        return dot.evaluate("(dot) => getComputedStyle(dot).backgroundColor")

    by_cluster = ground("cluster"), ground("task")
    page.locator("#colour").select_option("task")
    assert (ground("task"), ground("cluster")) == by_cluster
    assert by_cluster[0] == "rgb(194, 127, 0)"
    assert page.locator("#scale").is_hidden()


def test_reduced_motion_is_respected(opened, page_file):
    page = opened(page_file, reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


@pytest.fixture(scope="module")
def patients_file(patients, tmp_path_factory):
    report = make_report(patients.model, **patients.arguments, classes=patients.classes, cluster_names={0: "named"})
    return report.save(tmp_path_factory.mktemp("patients") / "report.html")


@pytest.fixture(scope="module")
def many_file(many_tasks, tmp_path_factory):
    return make_report(many_tasks.model, **many_tasks.arguments).save(tmp_path_factory.mktemp("many") / "report.html")


WIDER = """() => [...document.querySelectorAll(".box")].filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => [box.getAttribute("aria-label"), box.classList.contains("scrolls")])"""


def test_no_column_is_cut_off_in_a_wide_window(opened, patients_file):
    page = opened(patients_file)
    page.locator("details").evaluate_all("all => all.forEach((details) => { details.open = true; })")
    assert page.evaluate(WIDER) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_thirty_tasks_fit_a_page_of_bearable_height(opened, many_file):
    page = opened(many_file)
    assert page.evaluate("document.documentElement.scrollHeight") < 7000
    page.locator("details").evaluate_all("all => all.forEach((details) => { details.open = true; })")
    page.wait_for_timeout(100)
    wider = page.evaluate(WIDER)
    assert all("outlier scores" in name and told for name, told in wider)
    assert page.evaluate(
        "[...document.querySelectorAll('.card')].every((card) => card.scrollWidth <= card.clientWidth)"
    )


def test_tables_wider_than_a_narrow_window_say_that_they_scroll(opened, many_file):
    page = opened(many_file, 390)
    page.locator("details").evaluate_all("all => all.forEach((details) => { details.open = true; })")
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wider = page.evaluate(WIDER)
    assert wider
    assert all(told for _, told in wider)
    assert page.locator(".box.scrolls .wider").first.is_visible()


def test_the_units_of_means_can_be_switched(opened, patients_file):
    page = opened(patients_file)
    first = page.locator("#features .card").first.locator("td.num").first
    in_units = first.inner_text()
    page.locator("#units").check()
    assert first.inner_text() != in_units
    page.locator("#units").uncheck()
    assert first.inner_text() == in_units


def test_points_are_coloured_by_a_number_or_a_category(opened, patients_file, patients):
    page = opened(patients_file)
    page.locator("#colour").select_option(label="sex")
    assert page.locator("#levels").inner_text().split() == ["female", "male"]
    assert page.locator("#scale").is_hidden()
    first, second = (page.evaluate(COUNT_PIXELS, j) for j in (0, 1))
    known = patients.table["sex"]
    assert first > 10 * np.sum(known == "female")
    assert second > 10 * np.sum(known == "male")
    page.locator("#colour").select_option(label="iron")
    assert page.locator("#scale").is_visible()
    low = float(page.locator("#low").inner_text().split()[-1])
    assert low == pytest.approx(patients.table["iron"].quantile(0.01), abs=0.05)
    assert page.locator("#levels").inner_text() == ""


def test_a_feature_can_be_an_axis_and_rows_without_it_are_not_drawn(opened, patients_file):
    page = opened(patients_file)
    picture = "document.getElementById('canvas').toDataURL()"
    seen = [page.evaluate(picture)]
    for axis, label in (("#across", "age"), ("#up", "sex"), ("#across", "Principal axis 1")):
        value = page.locator(f"{axis} option", has_text=label).first.get_attribute("value")
        page.locator(axis).select_option(value)
        assert page.evaluate(picture) not in seen
        seen.append(page.evaluate(picture))


@pytest.mark.parametrize("width", WIDTHS)
def test_details_stay_inside_the_window_at_every_edge(opened, patients_file, width):
    page = opened(patients_file, width)
    for part in (0, 0.5, -0.5):  # the map in the window, and half of it above or below
        page.evaluate(
            """(part) => {
                document.documentElement.style.scrollBehavior = "auto";
                const box = document.getElementById("canvas").getBoundingClientRect();
                scrollTo(0, scrollY + box.top - (innerHeight - box.height) / 2 + part * innerHeight);
            }""",
            part,
        )
        page.locator("#canvas").evaluate("(canvas) => canvas.focus({ preventScroll: true })")
        for key in ["ArrowRight"] * 12 + ["ArrowUp"] * 12 + ["ArrowLeft"] * 12 + ["ArrowDown"] * 12:
            page.keyboard.press(key)
            box = page.locator("#tip").bounding_box()
            assert box["x"] >= 0
            assert box["y"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= 900


def test_print_keeps_the_proportions_of_the_map(opened, patients_file):
    page = opened(patients_file)
    ratio = """() => {
        const canvas = document.getElementById("canvas"), box = canvas.getBoundingClientRect();
        return [canvas.width / canvas.height, box.width / box.height, box.width];
    }"""
    drawn, seen, _ = page.evaluate(ratio)
    assert seen == pytest.approx(drawn, rel=0.01)
    for width in (1400, 700):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="print")
        page.wait_for_timeout(100)
        drawn, seen, wide = page.evaluate(ratio)
        assert seen == pytest.approx(drawn, rel=0.01)
        assert wide > 0.9 * width - 40
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")  # but for rounding
        page.emulate_media(media="screen")


def test_an_anonymous_page_opens_without_a_map(browser, patients, tmp_path):
    path = make_report(patients.model, **patients.arguments, anonymous=True).save(tmp_path / "anonymous.html")
    page, faults = browser.new_page(), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path.as_uri())
    page.locator("#theme").click()
    assert page.locator("#canvas").count() == 0
    assert page.get_by_text("This report is anonymous").is_visible()
    assert faults == []
    page.close()


def test_names_of_clusters_are_in_details_and_legend(opened, patients_file):
    page = opened(patients_file)
    page.locator("button[data-none=cluster]").click()
    page.locator("label", has_text="Cluster 0 · named").locator("input").check()
    page.locator("#canvas").focus()
    page.keyboard.press("ArrowRight")
    assert "cluster 0 · named" in page.locator("#tip").inner_text()


def test_hostile_columns_and_categories_run_nothing(opened, hostile_model, tmp_path):
    pandas = pytest.importorskip("pandas")
    values = [HOSTILE[i % 5] for i in range(120)]
    table = pandas.DataFrame({HOSTILE[0]: values, HOSTILE[1]: np.arange(120.0)})
    names = [f"{HOSTILE[0]} = {value}" for value in HOSTILE[:5]] + [HOSTILE[1]]
    path = make_report(hostile_model, X=table, feature_names=names).save(tmp_path / "hostile.html")
    page = opened(path)
    for option in page.locator("#colour option").all():
        page.locator("#colour").select_option(option.get_attribute("value"))
        page.locator("#canvas").focus()
        page.keyboard.press("ArrowRight")
    page.locator("#colour").select_option(label=HOSTILE[0])
    assert HOSTILE[0] in page.locator("#levels").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
