"""Numbers that a page tells twice are the same: pages of ten kinds of fits, read as a reader does."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask
from mtcluster.inspection import LabelDescription, make_report
from mtcluster.model_selection import select_n_clusters, stability
from mtcluster.preprocessing import TablePreprocessor

pandas = pytest.importorskip("pandas")
COLUMNS = ["length_mm", "weight_kg", "fare"]


def rows_of(n_tasks=3, seed=0, missing=0.0, offset=0.0, texts=True):
    """A table with three groups of rows, its tasks and the groups; a category tells them apart, too."""
    rng = np.random.default_rng(seed)
    y, tasks = np.tile([0, 1, 2], 30 * n_tasks), np.repeat(np.arange(n_tasks), 90)
    X = np.array([[30.0, 5, 1], [50, 9, 1], [70, 5, 9]])[y] + rng.normal(size=(len(y), 3)) * [3, 0.5, 0.6]
    table = pandas.DataFrame(X + offset * tasks[:, None] * [10, 1, 1], columns=COLUMNS)
    if texts:
        table["kind"] = np.where(rng.random(len(y)) < np.array([0.9, 0.5, 0.1])[y], "north", "south")
    if missing:
        table = table.mask(rng.random(table.shape) < missing)
    return table, np.array(["anna", "berta", "carla", "dora"])[tasks], y


def fit_of(kind):
    """The arguments of a report of some kind of fit."""
    table, tasks, y = rows_of(
        1 if kind == "one task" else 3, missing=0.1 * (kind == "gaps"), offset=float(kind == "apart"),
        texts=kind not in ("asi", "labels"),
    )  # fmt: skip
    if kind == "private":
        kept = (tasks != "anna") | (y != 2)
        table, tasks, y = table[kept].reset_index(drop=True), tasks[kept], y[kept]
    preprocessor = TablePreprocessor()
    X = preprocessor.fit_transform(table)
    makers = {
        "lssmtc": LSSMTC, "asi": ASI, "mixture": MultiTaskGaussianMixture,
    }  # fmt: skip
    model = makers.get(kind, SPMTC)(n_clusters=6 if kind == "too many" else 3, random_state=0)
    if kind == "labels":
        model = LabelDescription("given").fit(X, y, tasks=tasks)
    elif kind == "per task":
        labels = PerTask(SPMTC(3, random_state=0)).fit(X, tasks=tasks).labels_
        model = LabelDescription("per task").fit(X, labels, tasks=tasks)
    elif kind == "previous":
        model.fit(X, tasks=tasks, previous=SPMTC(3, random_state=1).fit(X, tasks=tasks))
    else:
        model.fit(X, tasks=tasks)
    measured = kind in ("plain", "selection")
    return model, {
        "X": table, "feature_names": [str(name) for name in preprocessor.get_feature_names_out()],
        "in_units": preprocessor.inverse_transform_centers, "group": "island", "classes": y.tolist(),
        "stability": stability(model, X, tasks=tasks, n_refits=2, random_state=0) if measured else None,
        "selection": select_n_clusters(X, tasks=tasks, n_clusters=range(2, 5)) if kind == "selection" else None,
    }  # fmt: skip


KINDS = ["plain", "selection", "lssmtc", "asi", "mixture", "labels", "per task", "one task", "gaps", "apart", "private",
         "previous", "too many"]  # fmt: skip


class Text(HTMLParser):
    """The text of a page, with cells and paragraphs on lines of their own."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.parts, self.hidden = [], 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style", "pre")
        self.parts.append(
            "\n" if tag in ("p", "li", "tr", "h2", "h3", "caption", "figcaption", "article", "text", "th") else " "
        )

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "pre")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(" ".join(data.split()))

    @property
    def lines(self):
        return [" ".join(line.split()) for line in "".join(self.parts).replace("\u00a0", " ").split("\n")]


@pytest.fixture(scope="module", params=KINDS)
def told(request):
    model, arguments = fit_of(request.param)
    report = make_report(model, **arguments)
    return request.param, model, arguments, report, Text(report.html).lines


def test_shares_of_clusters_are_the_same_in_sentences_cards_and_tables(told):
    _, model, _, _, lines = told
    labels = model.labels_[model.labels_ >= 0]
    for j in np.unique(labels):
        share = f"{100 * np.mean(labels == j):.0f} %"
        sentence = next(line for line in lines if line.startswith(f"Cluster {j}, "))
        assert sentence.split(", ")[1].split(":")[0] == share
        assert any(line == f"{np.sum(labels == j)} rows, {share}" for line in lines)


def test_a_mean_is_told_with_one_value_and_it_is_that_of_the_rows(told):
    _, model, arguments, report, _ = told
    table = arguments["X"]
    for cluster, sentence in zip(report.summary["features"]["clusters"], report.summary["sentences"], strict=True):
        own = table[model.labels_ == cluster["cluster"]]
        means = {f["name"]: f["here"] for f in cluster["shared"]}
        for name in set(COLUMNS) & set(means):
            assert means[name] == pytest.approx(own[name].mean(), rel=1e-3)
        for level in ("north", "south"):
            if f"kind = {level}" in means:
                kinds = own["kind"].dropna()
                assert means[f"kind = {level}"] == pytest.approx(np.mean(kinds == level), abs=1e-3)
        assert " = " not in sentence
        for told_value, words in re.findall(r"\(([\d.,]+) (?:mm|kg); others [^)]*\)|(weight|length)", sentence):
            assert told_value == "" or any(f"{value:.3g}" == told_value for value in means.values()), words


def test_there_is_one_stability(told):
    kind, _, arguments, report, lines = told
    if arguments["stability"] is None:
        assert not any("keep their cluster in refits" in line for line in lines)
        return
    share = arguments["stability"].overall
    said = [line for line in lines if "keep their cluster" in line and "each cluster" not in line]
    shown = {found for line in said for found in re.findall(r"(\d+) % of (?:the|\d+) rows keep their cluster", line)}
    assert shown == {f"{100 * share:.0f}"}
    if kind == "selection":
        row = next(row for row in report.summary["selection"]["table"] if row["n_clusters"] == 3)
        assert row["stability"] == pytest.approx(share, abs=1e-6)


def test_there_is_one_relatedness(told):
    _, model, _, report, _ = told
    matrix = np.array(report.summary["relatedness"]["matrix"], dtype=float)
    np.testing.assert_allclose(matrix[np.isfinite(matrix)], model.fitted_.relatedness[np.isfinite(matrix)], atol=1e-5)
    told_values = re.findall(r"relatedness (\d\.\d+)", " ".join(report.summary["decisions"]))
    known = {f"{value:.2f}" for value in matrix[np.isfinite(matrix)]} | {"0.50"}
    assert {f"{float(value):.2f}" for value in told_values} <= known


def test_numbers_of_clusters_are_those_of_the_fit_alone(told):
    *_, report, lines = told
    numbers = {int(found) for line in lines for found in re.findall(r"\b[Cc]lusters? (\d+)\b(?!\.\d)", line)}
    assert numbers <= set(range(report.summary["n_numbers"]))


def test_classes_are_compared_by_matching_and_by_purity(told):
    _, model, arguments, report, _ = told
    found, labels, classes = report.summary["classes"], model.labels_, np.array(arguments["classes"])
    pure = sum(np.bincount(classes[labels == j]).max() for j in np.unique(labels[labels >= 0])) / np.sum(labels >= 0)
    rows = np.array(found["rows"])
    assert found["purity"] == pytest.approx(pure, abs=1e-6)
    assert rows.max(axis=0).sum() / rows.sum() == pytest.approx(pure)
    assert ("purity" in found["sentences"][0]) == (report.summary["n_clusters"] > len(np.unique(classes)))


def test_the_page_says_island_for_task_and_row_for_example(told):
    *_, lines = told
    for line in lines:
        assert not re.search(r"\b(task|tasks|example|examples)\b", line, re.IGNORECASE), line


def test_a_bar_points_to_where_the_mean_lies(told):
    *_, report, _ = told
    for cluster in report.summary["features"]["clusters"]:
        for f in [*cluster["shared"], *(f for part in cluster["tasks"] for f in part["features"])]:
            if None not in (f["here"], f["rest"]) and f["here"] != f["rest"]:
                assert (f["difference"] > 0) == (f["here"] > f["rest"]), f
