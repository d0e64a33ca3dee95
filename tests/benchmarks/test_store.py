"""Rows of runs survive whatever happens to the program."""

import pytest
from benchmarks.evaluation.store import LATER, BenchmarkError, RunFile, Spec, complete, grid, locked, of_specs, table
from pandas import concat
from pandas.testing import assert_frame_equal


def spec_of(run):
    return Spec("main", "paper", "raw", "A", "KM", within_weight=0.1, run=run)


def rows_of(*runs, tasks=(1, 2)):
    found = {"n_tasks": 2, "versions": "x=1 y=2"}
    return table([spec_of(run)._asdict() | found | {"task": t, "acc": 100 / 3 + t} for run in runs for t in tasks])


def assert_same(found, expected):
    assert_frame_equal(found.reset_index(drop=True), expected.reset_index(drop=True), check_exact=True)


@pytest.fixture
def file(tmp_path):
    file = RunFile(tmp_path)
    file.rewrite(table([]))
    return file


def test_what_is_appended_is_read_again_to_the_last_digit(file):
    assert len(file.read()) == 0
    file.append(rows_of(0))
    file.append(rows_of(1))
    assert_same(file.read(), rows_of(0, 1))


def test_parquet_is_read_as_text_is_also_without_the_later_scores(tmp_path):
    file, rows = RunFile(tmp_path), rows_of(0, 1)
    file.write_parquet(rows)
    assert_same(file.read(), rows)
    rows.drop(columns=list(LATER)).to_parquet(file.parquet)
    assert_same(file.read(), rows)
    rows.drop(columns=list(LATER)).to_csv(file.path, index=False)
    assert_same(file.read(), rows)


def test_a_row_that_was_cut_off_is_passed_over_with_its_run(file):
    file.append(rows_of(0))
    file.append(rows_of(1))
    whole = file.path.read_text()
    for cut in range(1, 200):
        file.path.write_text(whole[:-cut])
        assert_same(file.read(), rows_of(0))


def test_a_run_of_which_a_task_is_missing_is_not_done():
    assert_same(complete(concat([rows_of(0), rows_of(1, tasks=[1])])), rows_of(0))


def test_a_run_that_is_there_twice_counts_once():
    assert_same(complete(rows_of(0, 0)), rows_of(0))


def test_numbers_that_are_not_known_stay_so(file):
    rows = rows_of(0).assign(auc=float("nan"))
    file.append(rows)
    assert_same(file.read(), rows)


def test_rewriting_sorts_and_leaves_nothing_beside(file):
    file.rewrite(rows_of(2, 0))
    assert_same(file.read(), rows_of(0, 2))
    assert [path.name for path in file.path.parent.iterdir()] == ["runs.csv"]


def test_rows_are_found_by_their_runs():
    assert_same(of_specs(rows_of(0, 3, 4), [spec_of(3), spec_of(7)]), rows_of(3))
    assert len(of_specs(rows_of(0), [spec_of(0)._replace(tol=0.0)])) == 0


def test_a_grid_combines_values_and_keeps_texts_whole():
    found = grid(study="main", protocol="paper", features=("raw", "tfidf"), data_set="A", method=["KM"], run=range(2))
    assert len(found) == 4
    assert found[3] == Spec("main", "paper", "tfidf", "A", "KM", run=1)


def test_another_file_is_refused(file):
    file.path.write_text("a,b\n1,2\n")
    with pytest.raises(BenchmarkError, match="is not a file of runs"):
        file.read()


@pytest.mark.parametrize(("old", "new"), [("34.3", "many"), (",0.1,", ","), (",2,", ",2.5,")])
def test_a_damaged_file_is_refused_by_line(file, old, new):
    file.rewrite(rows_of(0))
    file.path.write_text(file.path.read_text().replace(old, new, 1))
    with pytest.raises(BenchmarkError, match=r"is damaged near line 2" if new != ",2.5," else "damaged"):
        file.read()


def test_a_folder_is_for_one_benchmark_at_a_time(tmp_path):
    with locked(tmp_path), pytest.raises(BenchmarkError, match="another benchmark is writing into"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchmarkError, match="cannot be written"), locked(tmp_path / "file" / "out"):
        pass
