"""Small tables, printed and in notebooks."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from mtcluster import SPMTC
from mtcluster._utils.tables import ENDS, Table, sentences_and_table
from mtcluster.datasets import make_multitask_blobs
from mtcluster.model_selection import select_n_clusters, stability

SCRIPT = "<script>alert('a')</script>"


class Reader(HTMLParser):
    """The tags of a page in their order, and the texts of its cells and paragraphs."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def fitted():
    """Rows of tasks, of which one has a name that looks like a script, and a model of them."""
    X, _, tasks = make_multitask_blobs(60, 4, n_tasks=2, n_clusters=3, separation=9, random_state=0)
    names = np.array(["a", SCRIPT])[tasks]
    return SPMTC(3, random_state=0).fit(X, tasks=names), X, names


def test_a_table_is_shown_with_its_names_and_values():
    found = Reader(Table(task=["a", "b"], accuracy=[0.5, 1.0], rows=[3, 4])._repr_html_())
    assert found.texts == ["task", "accuracy", "rows", "a", "0.500", "3", "b", "1.000", "4"]
    assert found.tags.count("tr") == 3


def test_numbers_stand_on_the_right_and_texts_on_the_left():
    page = Table(task=["a"], rows=[3])._repr_html_()
    assert '<td style="text-align:left">a</td>' in page
    assert '<td style="text-align:right">3</td>' in page


def test_names_and_values_are_escaped():
    page = Table({SCRIPT: [SCRIPT]})._repr_html_() + sentences_and_table([SCRIPT], Table(a=[1]))
    assert "script" not in Reader(page).tags
    assert Reader(page).texts[:2] == [SCRIPT, SCRIPT]


def test_of_a_long_table_both_ends_are_shown_and_the_rows_counted():
    page = Table(row=[f"r{i}" for i in range(100)])._repr_html_()
    cells = [text for text in Reader(page).texts if re.fullmatch(r"r\d+|…", text)]
    assert cells == [*(f"r{i}" for i in range(ENDS)), "…", *(f"r{i}" for i in range(100 - ENDS, 100))]
    assert "100 rows, of which the first and last 15 are shown." in page
    assert "…" not in Table(row=list(range(2 * ENDS)))._repr_html_()


def test_a_table_without_rows_says_so():
    for empty in (Table(), Table(a=[], b=[])):
        assert empty._repr_html_() == "<p>The table has no rows.</p>"


def test_no_color_is_fixed():
    page = sentences_and_table(["A sentence."], Table(a=["b"] * 50))
    assert not re.search(r"color|background|#[0-9a-f]{3}", page)


def test_results_begin_with_their_sentences_and_escape_the_names_of_tasks(fitted):
    model, X, names = fitted
    sure = stability(model, X, tasks=names, n_refits=3, random_state=0)
    again = SPMTC(3, random_state=0).fit(X, tasks=names, previous=model)
    streamed = SPMTC(3, random_state=0).partial_fit(X, tasks=names).partial_fit(X + 9, tasks=names)
    found = select_n_clusters(X, tasks=names, n_clusters=[2, 3], random_state=0)
    expected = [
        (sure, f"How sure: {sure.verdict}."),
        (found, found.reason),
        (model.relations(), model.relations().sentences[0]),
        (again.changes_, again.changes_.sentences[0]),
        (streamed.drift_, streamed.drift_.sentences[0]),
    ]
    for result, sentence in expected:
        page = Reader(result._repr_html_())
        assert page.tags[0] == "p"
        assert page.texts[0].startswith(sentence)
        assert "table" in page.tags
        assert "script" not in page.tags
    assert SCRIPT in " ".join(Reader(sure._repr_html_()).texts)
    assert SCRIPT in " ".join(Reader(streamed.drift_._repr_html_()).texts)
