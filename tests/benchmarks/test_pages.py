"""The stored pages are those of the stored rows, and pages are well formed in each form."""

import shutil
import xml.dom.minidom
from pathlib import Path

import pandas as pd
import pytest
from benchmarks.evaluation.command import BENCHMARKS, main
from benchmarks.evaluation.pages import convert, marked, named, table
from benchmarks.evaluation.store import COLUMNS, RunFile

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_stored_rows_give_the_stored_pages(name, tmp_path):
    stored = RESULTS / name
    shutil.copy(stored / "runs.parquet", tmp_path)
    assert main([name, "--out", str(tmp_path), "--pages"]) == 0
    for page in ("tables.md", "tables.tex", "tables.html", "findings.md"):
        expected = (stored / page).read_text(encoding="utf-8").replace(f"docs/results/{name}", str(tmp_path))
        if page.endswith("tex"):
            expected = expected.replace(str(tmp_path), str(tmp_path).replace("_", r"\_"))
        assert (tmp_path / page).read_text(encoding="utf-8") == expected
    old, new = ({path.name for path in (folder / "figures").glob("*")} for folder in (stored, tmp_path))
    assert old == new
    rows = RunFile(stored).read()
    assert list(rows) == COLUMNS
    assert rows.equals(pd.read_parquet(tmp_path / "runs.parquet"))


PAGE = """# A <b> & 5 %

λ1 ≥ 2_x

| m | x |  |
| --- | --- | --- |
| a<b | 1 |  |
| c | **2** | 3 |

![a & b](f/p_.png)
"""


def test_pages_are_escaped_and_well_formed():
    html = convert(PAGE, "html")
    assert "<h1>A &lt;b&gt; &amp; 5 %</h1>" in html
    assert "<td><b>2</b></td>" in html
    body = html[html.index("<body>") : html.index("</html>")]
    xml.dom.minidom.parseString(body.replace('alt="a &amp; b">', 'alt="a &amp; b"/>'))
    tex = convert(PAGE, "tex")
    assert r"\section*{A <b> \& 5 \%}" in tex
    assert r"$\lambda$1 $\ge$ 2\_x" in tex
    assert r"\begin{tabular}{lrr}\hline" in tex
    assert r"c & \textbf{2} & 3 \\" in tex
    assert r"{f/p_}\\a \& b\end{center}" in tex


def test_the_largest_numbers_of_a_table_are_in_bold_face():
    texts = pd.DataFrame({"x": ["1.0", "2.0"], "y": ["+3", ""], "z": ["", ""]}, index=["a<b", "c"])
    assert table(named(marked(texts), "m")).splitlines() == [
        "| m | x | y | z |",
        "| --- | --- | --- | --- |",
        "| a<b | 1.0 | **+3** |  |",
        "| c | **2.0** |  |  |",
    ]
