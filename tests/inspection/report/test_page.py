"""The page: safe whatever the data hold, whole in one file, small, and readable."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mtcluster import SPMTC
from mtcluster.certainty import MEANINGS
from mtcluster.inspection import LabelDescription, Report, _report, make_report
from mtcluster.inspection._report.charts import line_chart, number_chart, reference_chart, tree_chart

from .conftest import SELECTION

TEMPLATES = Path(_report.__file__).parent / "templates"
VOID = {"meta", "input", "br", "img", "line", "circle", "rect", "polyline"}


class Outline(HTMLParser):
    """Elements, their attributes and text, checked for balance."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.stack, self.text = [], [], []
        self.feed(page)
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "script" not in self.stack and "style" not in self.stack:
            self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def page_of(model, **arguments):
    return make_report(model, **arguments).html


@pytest.fixture(scope="module")
def page(blob_model):
    return page_of(blob_model)


def test_the_page_is_whole_and_its_headings_are_in_order(page):
    outline = Outline(page)
    levels = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert outline.all("html") == [{"lang": "en"}]
    ids = [attrs["id"] for _, attrs in outline.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for attrs in outline.all("a")]
    assert all(link.startswith("#") and link[1:] in ids for link in links)


def test_sections_stand_in_their_order(page):
    sections = [attrs["id"] for attrs in Outline(page).all("section")]
    assert sections == [
        "told",
        "sizes",
        "features",
        "map",
        "separation",
        "next",
        "sure",
        "merging",
        "related",
        "examples",
        "fit",
        "done",
    ]


def test_the_verdict_and_the_numbers_behind_it_are_shown(blob_model, blob_stability):
    outline = Outline(page_of(blob_model, stability=blob_stability, selection=SELECTION))
    told = " ".join("".join(outline.text).split())
    word = blob_stability.verdict
    assert f"{word.capitalize()}: {MEANINGS[word]}." in told
    assert (
        "4 clusters: there are gaps between them." in told
    )  # one share of rows that keep their cluster, that of the fit
    for line in (*blob_stability.sentences[1:], "From 2 to 4 clusters"):
        assert line in told
    sections = [attrs["id"] for attrs in outline.all("section")]
    assert sections[6:8] == ["sure", "number"]
    classes = [attrs.get("class") for attrs in outline.all("circle")]
    assert classes.count("other") == len(blob_stability.reference)
    assert (classes.count("chosen"), classes.count("open"), classes.count("node")) == (1, 1, 6)


def test_charts_of_certainty_stay_in_their_area():
    found = reference_chart(0.97, [0.42, 0.9])
    assert all(34 <= x <= 606 for x in [found["here"], *found["others"], *(tick["x"] for tick in found["ticks"])])
    assert [round(tick["share"], 2) for tick in found["ticks"]] == [1.0, 0.8, 0.6, 0.4]
    assert reference_chart(1.0, [])["here"] == 606
    assert reference_chart(None, []) is None
    assert number_chart(None) is None
    assert tree_chart(None) is None
    rows = [
        {"n_clusters": c, "silhouette": sharp, "reference": reference, "supported": False}
        for c, sharp, reference in ((1, None, None), (2, 0.5, 0.4), (3, -0.3, 0.1))
    ]
    for table in (rows, rows[:2], rows[1:]):
        points = number_chart({"table": table, "n_clusters": None})["points"]
        assert [point["number"] for point in points] == [row["n_clusters"] for row in table if row["n_clusters"] > 1]
        for point in points:
            assert 70 <= point["x"] <= 630
            assert all(20 <= point[name] <= 164 for name in ("y", "reference"))
    assert number_chart({"table": rows[:1], "n_clusters": 1}) is None
    many = {"coarse": 2, "fine": 17, "splits": []}
    assert tree_chart({"tree": [many]}) is None


def test_a_tree_puts_parts_below_what_they_are_parts_of():
    part = {"child": 1, "share": 1.0}, {"child": 0, "share": 0.5}, {"child": 2, "share": 0.5}
    splits = [{"parent": 0, "parts": [part[0]]}, {"parent": 1, "parts": list(part[1:])}]
    found = tree_chart({"tree": [{"coarse": 2, "fine": 3, "splits": splits}]})
    below = [node["cluster"] for node in found["nodes"] if node["y"] > 50]
    assert below == [1, 0, 2]
    assert [line["width"] for line in found["lines"]] == [8.0, 4.5, 4.5]


def test_every_table_has_a_caption_and_heads_with_a_scope(page):
    outline = Outline(page)
    assert len(outline.all("caption")) == len(outline.all("table")) > 5
    assert all(attrs.get("scope") in ("row", "col") for attrs in outline.all("th"))


def test_nothing_is_loaded_from_anywhere(page):
    outline = Outline(page)
    assert not re.search("https?://", page)
    assert not re.search(r"@import|url\(", page)
    for attribute in ("src", "srcset", "action", "data", "poster"):
        assert not [attrs for _, attrs in outline.elements if attribute in attrs]
    assert outline.all("link") == []


def test_the_policy_lets_the_one_script_run_and_nothing_else(page):
    policy = next(a["content"] for a in Outline(page).all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    script = re.search(r"<script>(.*?)</script>", page, flags=re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy


def test_the_script_writes_text_alone():
    script = (TEMPLATES / "page.js").read_text()
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert way not in script


def test_hostile_names_are_text(hostile_model, hostile_arguments):
    page = page_of(hostile_model, **hostile_arguments)
    page.encode("utf-8")
    outline = Outline(page)
    assert len(outline.all("script")) == 2
    assert outline.all("img") == []
    assert not [a for _, attrs in outline.elements for a in attrs if a.startswith("on")]
    told = "".join(outline.text)
    assert "<script>window.hacked=1</script>" in told
    assert '"><img src=x onerror="window.hacked=1">' in told
    assert "%%BODY%%" in told


def test_embedded_data_cannot_end_their_element(hostile_model, hostile_arguments):
    report = make_report(hostile_model, **hostile_arguments)
    element = re.search(r'<script type="application/json" id="data">(.*?)</script>', report.html, flags=re.DOTALL)
    assert not re.search("[<>&]", element.group(1))
    data = json.loads(element.group(1))
    assert data["tasks"] == [task["name"] for task in report.summary["tasks"]]
    assert any("</script>" in name for name in data["ids"])
    assert any("<!--" in name for name in data["ids"])


def test_no_template_inserts_anything_unescaped():
    sources = {path.name: path.read_text() for path in TEMPLATES.iterdir()}
    assert len(sources) > 10
    for name, source in sources.items():
        assert not re.search(r"\|\s*safe|autoescape|Markup", source), name


def test_templates_are_read_when_a_page_is_made_and_not_before():
    code = "import sys, mtcluster, mtcluster.inspection, mtcluster.plotting; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_chart_spans_its_area_and_names_the_stages_that_have_room():
    stages = [{"name": "warm-up"}, {"name": "1"}]
    found = line_chart(stages, [[5.0, 3.0, None], [1.0]])
    assert found["points"] == [(140.0, 20.0), (280.0, 92.0), (560.0, 164.0)]
    assert [(part["x"], part["name"]) for part in found["parts"]] == [(70.0, "warm-up"), (490.0, "1")]
    assert (found["low"], found["high"]) == (1.0, 5.0)
    narrow = line_chart(stages, [[1.0] * 99, [1.0]])
    assert [part["name"] for part in narrow["parts"]] == ["warm-up", ""]
    assert line_chart([], [])["points"] == []


def test_many_tasks_have_a_matrix_of_the_largest():
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(45), np.r_[np.full(5, 3), np.full(40, 6)])
    X, labels = rng.normal(size=(len(tasks), 2)), np.arange(len(tasks)) % 2
    page = page_of(LabelDescription().fit(X, labels, tasks=[f"task-{k:02d}" for k in tasks]))
    matrix = page[page.index('id="related"') : page.index('id="examples"')]
    assert "The 40 largest data sets are shown." in matrix
    matrix = matrix[matrix.index("<table") :]
    assert "task-04" not in matrix
    assert "task-05" in matrix
    assert matrix.count("<tr>") == 41


def test_direction_marks_are_kept_to_the_name_that_has_them(hostile_model, hostile_arguments):
    page = page_of(hostile_model, **hostile_arguments)
    title = re.compile("<(li|p|title|option|pre|figcaption|caption)[^>]*>[^<]*\u202e")
    bare = [match.group(1) for match in title.finditer(page)]
    assert set(bare) <= {"pre", "p", "option", "li"}  # a paragraph, the settings or an option end what a mark began


def test_twenty_thousand_examples_with_long_names_stay_below_five_megabytes(large_model):
    n = len(large_model.labels_)
    ids = [f"https-like-identifier/{i:06d}/" + "é<&" * 100 for i in range(n)]
    report = make_report(large_model, ids=ids, settings={})
    assert len(report.html.encode()) < 5_000_000


def test_a_map_of_few_of_many_says_so(blob_model, monkeypatch):
    monkeypatch.setattr("mtcluster.inspection._report.examples.POINTS", 30)
    assert "30 of 120 rows are shown" in "".join(Outline(page_of(blob_model)).text)


@pytest.mark.parametrize("n_clusters", [1, 4])
def test_one_task_has_a_page(blobs, n_clusters):
    outline = Outline(page_of(SPMTC(n_clusters=n_clusters, random_state=0).fit(blobs.X)))
    assert "There is one data set, so there is nothing to compare." in outline.text
    assert ("There is one cluster, so there is nothing to compare it with." in outline.text) == (n_clusters == 1)


def test_labels_from_elsewhere_have_a_page(blobs):
    X, y, tasks = blobs
    told = "".join(Outline(page_of(LabelDescription("k-means").fit(X, y, tasks=tasks))).text)
    assert "no stages" in told
    assert "k-means" in told


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return np.dot(
        [0.2126, 0.7152, 0.0722], [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    )


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_told_from_their_ground(theme):
    source = (TEMPLATES / ("dark.css" if theme == "dark" else "style.css")).read_text().split("}")[0]
    colours = dict(re.findall(r"--([\w]+): (#[0-9a-f]{6});", source))
    for ground in ("ground", "raised"):
        for ink in ("ink", "faint", "accent", "good", "middling", "bad"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
        for ink in ("focus", "hard", "even", "easy", *(f"c{j}" for j in range(8))):
            assert contrast(colours[ink], colours[ground]) >= 3, (ink, ground)


def test_a_report_is_saved_whole_and_says_where(blob_model, tmp_path):
    report = blob_model.report(title="Näme")
    path = report.save(tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8") == report.html
    path.write_text("old")
    report.save(path)
    assert path.read_text(encoding="utf-8") == report.html
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError, match=r"the folder .* does not exist"):
        report.save(tmp_path / "nowhere" / "report.html")


def test_a_page_that_cannot_be_made_leaves_the_old_file(blob_model, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(KeyError):
        Report({"title": "broken"}).save(path)
    summary = make_report(blob_model).summary
    with pytest.raises(ValueError, match=r"lacks what the page shows.*advice"):
        Report({key: value for key, value in summary.items() if key != "advice"}).save(path)
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(blob_model):
    report = blob_model.report()
    frame = Outline(report._repr_html_()).all("iframe")[0]
    assert frame["srcdoc"] == report.html
    assert frame["sandbox"] == "allow-scripts allow-modals"
    assert report.html is report.html
    assert "4 clusters in 3 data sets" in repr(report)


def section(page, name):
    """The text of a section."""
    start = page.index(f'<section id="{name}"')
    outline = Outline(page[start : page.index("</section>", start) + len("</section>")])
    return " ".join("".join(outline.text).split())


def test_means_are_in_the_units_of_the_user_with_those_of_the_fit_beside(patients):
    report = make_report(patients.model, **patients.arguments)
    scaler = patients.preprocessor.scaler_
    for cluster in report.summary["features"]["clusters"]:
        for feature in cluster["shared"]:
            i = patients.names.index(feature["name"])
            values = patients.table.assign(sex=patients.table["sex"] == "male")
            values.loc[patients.table["sex"].isna(), "sex"] = np.nan
            own = values[patients.model.labels_ == cluster["cluster"]]
            for told, given in zip((feature["here"], feature["rest"]), feature["fit"], strict=True):
                if feature["kind"] == "number":
                    assert told == pytest.approx(given * scaler.scale_[i] + scaler.mean_[i], abs=0.3 * scaler.scale_[i])
                else:
                    assert told == pytest.approx(np.clip(given, 0, 1), abs=0.05)
            if feature["kind"] == "number":
                assert feature["here"] == pytest.approx(own[feature["name"]].mean(), rel=1e-3)
            if feature["name"] == "sex = male":
                assert feature["here"] == pytest.approx(own["sex"].mean(), rel=1e-3)
    assert 'id="units"' in report.html
    assert 'class="in-fit"' in report.html
    plain = make_report(patients.model, feature_names=patients.names)
    assert "fit" not in plain.summary["features"]["clusters"][0]["shared"][0]
    assert 'id="units"' not in plain.html


def test_means_of_a_task_are_in_the_units_of_that_task(blob_model):
    asked = []

    def in_units(centers, task=None):
        asked.append(task)
        return centers + {"north": 100, "south": 200, "west": 300, None: 0}[task]

    found = make_report(blob_model, in_units=in_units).summary["features"]["clusters"][0]
    assert set(asked) == {None, "north", "south", "west"}
    for part in found["tasks"]:
        for feature in part["features"]:
            assert feature["here"] == pytest.approx(feature["fit"][0] + 100 * (1 + part["task"]), rel=1e-2)


def test_units_of_another_shape_are_refused(blob_model):
    with pytest.raises(ValueError, match=r"in_units returned an array of shape \(1, 2\)"):
        make_report(blob_model, in_units=lambda centers, task=None: np.zeros((1, 2)))


def test_names_of_clusters_stand_beside_their_numbers(patients):
    report = make_report(patients.model, **patients.arguments, cluster_names={1: "anaemic", "2": " "})
    assert report.summary["names"] == {"1": "anaemic"}
    for name in ("sizes", "separation", "features", "map"):
        assert "anaemic" in section(report.html, name)
    assert "Cluster 1 · anaemic" in section(report.html, "features")
    renamed = Report(report.summary | {"names": {"0": "old <b>men</b>"}}).html
    assert "anaemic" not in renamed
    assert "Cluster 0 · old <b>men</b>" in section(renamed, "features")
    assert "Cluster 0 · old <b>men</b> (" in section(renamed, "map")


@pytest.mark.parametrize("number", [3, -1, "first"])
def test_names_of_clusters_that_are_not_there_are_refused(patients, number):
    with pytest.raises(ValueError, match=rf"cluster_names has a name for {number!r}: .* from 0 to 2"):
        make_report(patients.model, cluster_names={number: "name"})


def test_summaries_of_earlier_versions_have_a_page(blob_model, blob_stability):
    summary = json.loads(json.dumps(make_report(blob_model, stability=blob_stability, selection=SELECTION).summary))
    for name in ("names", "anonymous", "separation", "distributions", "classes", "missing", "meaning"):
        del summary[name]
    del summary["features"]["units"], summary["examples"]["explained"]
    for cluster in summary["features"]["clusters"]:
        for feature in (*cluster["shared"], *(f for part in cluster["tasks"] for f in part["features"])):
            del feature["kind"]
    for row in summary["examples"]["rows"]:
        del row["odd"], row["note"]
    for row in summary["selection"]["table"]:
        del row["silhouette"]
        row |= {"error": 0.01, "seeded": None, "across": None}
    page = Report(summary).html
    assert "4 clusters: there are gaps between them." in section(page, "number")
    assert 'aria-label="Silhouette by number of clusters"' not in page
    assert [attrs["id"] for attrs in Outline(page).all("section")][:4] == ["told", "sizes", "features", "map"]


def test_tasks_are_shown_in_natural_order(patients):
    page = make_report(patients.model, **patients.arguments, classes=patients.classes).html
    for name in ("sizes", "related", "map"):
        told = section(page, name)
        told = told[told.index("Relatedness of the clusters") :] if name == "related" else told
        assert told.index("site 2") < told.index("site 10"), name
    assert patients.model.tasks_.tolist() == ["site 1", "site 10", "site 2"]


def test_many_tasks_are_rows_of_tables(many_tasks):
    page = make_report(many_tasks.model, **many_tasks.arguments).html
    sizes = page[page.index('id="sizes"') : page.index('id="features"')]
    rows = re.findall(r'<th scope="row"><bdi[^>]*>Regional hospital number (\d+) ', sizes)
    assert [int(number) for number in rows[:30]] == list(range(1, 31))
    assert len(page.encode()) < 5_000_000


def test_relations_have_their_word_and_support(patients):
    told = section(make_report(patients.model).html, "sizes")
    support = make_report(patients.model).summary["sizes"]["support"]
    for value in (value for own in support for value in own):
        assert f"shared {value:.2f}" in told


def test_a_number_that_was_given_stands_beside_the_numbers_that_were_compared(patients):
    page = make_report(patients.model, selection=SELECTION).html
    told = section(page, "number")
    assert "This fit has 3 clusters, as it was asked for." in told
    assert "in this fit" in told
    assert 'aria-label="Silhouette by number of clusters"' in page


def test_no_clear_structure_is_the_headline(blob_model):
    found = {"verdict": "no clear structure", "overall": 0.5, "reference": [0.6], "cluster_stability": [0.5] * 4}
    page = make_report(blob_model, stability=found).html
    assert f"<strong>No clear structure</strong>: {MEANINGS['no clear structure']}." in page
    assert "How sure: no clear structure." in section(page, "next")
    clear = make_report(blob_model, stability=found | {"verdict": "clear"}).html
    assert "No clear structure" not in clear


def test_a_page_of_many_clusters_tasks_and_features_stays_small():
    rng = np.random.default_rng(0)
    labels, tasks = rng.integers(60, size=6000), rng.integers(40, size=6000)
    X = rng.normal(size=(6000, 120)) + labels[:, None] % 7
    model = LabelDescription().fit(X, labels, tasks=[f"task number {k} with a long name" for k in tasks])
    report = make_report(model, X=X, feature_names=[f"a rather long name of feature {i}" for i in range(120)])
    assert len(report.html.encode()) < 5_000_000


def test_the_strongest_colour_is_that_of_a_large_effect(blob_model):
    summary = make_report(blob_model).summary

    def strongest(*effects, unit="spread"):
        row = summary["separation"]["features"][0] | {"effect": list(effects)}
        found = Report(summary | {"separation": summary["separation"] | {"features": [row], "unit": unit}}).html
        return re.search(r"higher here \(\+([\d.]+)\)", found).group(1)

    assert strongest(9.0, -1.0, None, 0.0) == "2"
    assert strongest(0.1, -1.2, None, 0.0) == "1.2"
    assert strongest(0.1, -0.2, None, 0.0) == "0.5"
    assert strongest(0.1, -70.0, None, 0.0, unit="fit") == "70"
