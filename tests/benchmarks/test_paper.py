"""The protocol, the runs and the numbers that come of them."""

from itertools import product

import numpy as np
import pytest
from benchmarks.evaluation import data, paper, runner
from benchmarks.evaluation.paper import METHODS
from benchmarks.evaluation.store import RUN, RunFile, Spec, table
from numpy.testing import assert_allclose

EVERYTHING = {"sets": paper.SETS, "methods": METHODS, "features": ("raw", "tfidf"), "runs": 20}


def small_specs(**changes):
    options = {
        "sets": ("RECvsTALK", "WebKB"),
        "methods": METHODS,
        "features": ("raw", "tfidf"),
        "runs": 1,
        "quick": True,
    }
    return paper.specs(**{**options, **changes})


def test_the_grid_is_the_papers_and_equal_models_are_computed_once():
    specs = paper.specs(**EVERYTHING)
    assert len(specs) == len(set(specs))
    grid = {
        (s.data_set, s.within_weight, s.n_components)
        for s in specs
        if s.study == "main" and s.protocol == "paper" and s.method == "LSSMTC" and s.features == "raw"
    }
    assert grid == {
        *product(paper.SETS[:5], paper.WITHIN, [2]),
        *product(["WebKB"], paper.WITHIN, [2, 4]),
    }
    assert paper.WITHIN[0] == 0.05
    assert paper.WITHIN[-1] == 0.95
    assert len(paper.WITHIN) == 19


def test_every_method_has_20_runs_on_every_set_under_both_protocols_and_views():
    specs = [s for s in paper.specs(**EVERYTHING) if s.study == "main"]
    for method, data_set, protocol, features in product(METHODS, paper.SETS, ("paper", "honest"), ("raw", "tfidf")):
        runs = {
            s.run
            for s in specs
            if (s.method, s.data_set, s.protocol, s.features) == (method, data_set, protocol, features)
        }
        assert runs == set(range(20))


def test_the_honest_protocol_has_no_grid():
    honest = [s for s in paper.specs(**EVERYTHING) if s.protocol == "honest"]
    assert {(s.within_weight, s.n_components) for s in honest} == {(-1.0, -1)}


def test_a_wider_subspace_than_clusters_is_the_same_model(tiny_data):
    spec = Spec("main", "paper", "raw", "RECvsTALK", "LSSMTC", within_weight=0.5, n_components=2)
    narrow, wide = (runner.execute(spec._replace(n_components=l), str(tiny_data)) for l in (2, 8))
    assert [row["acc"] for row in narrow] == [row["acc"] for row in wide]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_same_seeds_give_the_same_rows_for_any_number_of_jobs(tiny_data, tmp_path):
    specs = [s for s in small_specs() if s.study != "time"]
    found = {}
    for jobs in (1, 2):
        file = RunFile(tmp_path)
        file.rewrite(table([]))
        runner.run_all(specs, tiny_data, file, jobs=jobs, progress=lambda n: None)
        file.rewrite(file.read())
        found[jobs] = file.read().drop(columns="seconds")
    assert len(found[1])
    assert found[1].equals(found[2])
    assert set(found[1][RUN].itertuples(index=False, name=None)) == set(specs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("protocol", ["paper", "honest"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_scores_every_task(tiny_data, method, protocol):
    rows = table(runner.execute(Spec("main", protocol, "tfidf", "WebKB", method), str(tiny_data)))
    assert rows["task"].tolist() == [1, 2, 3, 4]
    for row in rows.itertuples():
        assert 25 <= row.acc <= 100
        assert 0 <= row.nmi <= row.nmi_geometric + 1e-9
        assert row.joint <= 100
        assert row.seconds > 0


@pytest.mark.parametrize("kind", data.OUTLIERS)
def test_outliers_replace_their_share_of_each_task_and_are_marked(tiny_data, kind):
    noisy = data.with_outliers(str(tiny_data), "RECvsTALK", kind, 0.25, seed=3)
    plain = data.counts(str(tiny_data), "RECvsTALK")
    for task in (1, 2):
        assert noisy.strange[noisy.tasks == task].sum() == 6
    clean = ~noisy.strange
    assert (noisy.X[clean] != plain.X[clean]).nnz == 0
    assert noisy.X.shape == plain.X.shape
    again = data.with_outliers(str(tiny_data), "RECvsTALK", kind, 0.25, seed=3)
    assert (again.X != noisy.X).nnz == 0
    if kind == "shuffled":
        assert_allclose(noisy.X.sum(axis=1), plain.X.sum(axis=1))


@pytest.mark.slow
def test_outliers_are_scored_by_how_well_they_are_found(tiny_data):
    clean = Spec("noise", "honest", "tfidf", "RECvsTALK", "SPMTC-s", outliers="shuffled")
    noisy = clean._replace(noise=0.25)
    assert table(runner.execute(noisy, str(tiny_data)))["auc"].between(0, 1).all()
    assert (table(runner.execute(clean, str(tiny_data)))["auc"] == -1).all()


def test_tfidf_rows_are_of_unit_length(tiny_data):
    X = data.view(str(tiny_data), "WebKB", "tfidf").X
    assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1)


def row(method, acc, weight=-1.0, run=0, task=1):
    spec = Spec("main", "paper", "raw", "COMPvsSCI", method, within_weight=weight, run=run)
    return spec._asdict() | {"task": task, "n_tasks": 2, "acc": acc, "nmi": acc / 2, "joint": acc}


def test_the_grid_point_is_that_of_the_best_mean_over_tasks():
    rows = [
        row("LSSMTC", acc, weight, task=t)
        for weight, accs in {0.1: (90, 50), 0.2: (75, 75)}.items()
        for t, acc in enumerate(accs, 1)
    ]
    found = paper.chosen(table(rows), "paper", "raw")
    assert found["within_weight"].tolist() == [0.2, 0.2]
    assert found["acc"].tolist() == [75, 75]
    assert found["nmi"].tolist() == [37.5, 37.5]


def test_the_best_and_what_a_t_test_does_not_tell_from_it_are_marked():
    rng = np.random.default_rng(0)
    runs = {"KM": 80 + rng.normal(size=20), "SC": 80.2 + rng.normal(size=20), "ASI": 70 + rng.normal(size=20)}
    rows = table([row(m, a, run=i) for m, accs in runs.items() for i, a in enumerate(accs)])
    marks = paper.comparable(rows.groupby("method")["acc"].apply(np.array))
    assert set(marks[marks].index) == {"KM", "SC"}
    (shown,) = paper.summary(rows).values()
    assert shown.set_index("method")["task 1"].str.startswith("**").to_dict() == {"KM": True, "SC": True, "ASI": False}


def test_runs_that_never_differ_are_alike_only_if_they_are_equal():
    assert paper.p_value([80.0] * 5, [80.0] * 5) == 1
    assert paper.p_value([80.0] * 5, [81.0] * 5) == 0


def test_all_results_of_the_papers_tables_are_there():
    assert len(paper.PUBLISHED) == 9 * 14
    assert set(paper.PUBLISHED.index.unique("method")) == set(METHODS)
    assert paper.PUBLISHED.loc["SPMTC-s", "WebKB", 4].to_dict() == {"acc": 69.51, "nmi": 39.64}


def test_agreement_counts_columns():
    own = paper.chosen(table([row("KM", 68.0), row("KM", 40.0, task=2)]), "paper", "raw")
    one = paper.agreement(own).loc["KM"]
    assert (one["n"], one["within_4"], one["reached"], one["above_all"]) == (2, 1, 1, 0)
    assert paper.gaps(own)["KM", "COMPvsSCI", 1] == pytest.approx(-1.5)
