"""Run rows survive whatever happens to the program."""

from dataclasses import replace

import pytest

from mtcluster.benchmark.runs import BenchmarkError, Row, RunFile, Spec, complete, locked


def rows_of(run, n_tasks=2):
    spec = Spec("main", "paper", "raw", "A", "KM", within_weight=0.1, run=run)
    return [
        Row(**vars(spec), task=t, n_tasks=n_tasks, acc=100 / 3 + t, versions="x=1 y=2") for t in range(1, n_tasks + 1)
    ]


@pytest.fixture
def file(tmp_path):
    file = RunFile(tmp_path)
    file.rewrite([])
    return file


def test_what_is_appended_is_read_again_to_the_last_digit(file):
    with file.appending() as append:
        append(rows_of(0))
        append(rows_of(1))
    assert file.read() == rows_of(0) + rows_of(1)


def test_a_row_that_was_cut_off_is_passed_over_with_its_run(file):
    with file.appending() as append:
        append(rows_of(0))
        append(rows_of(1))
    whole = file.path.read_text()
    for cut in range(1, 200):
        file.path.write_text(whole[:-cut])
        assert file.read() == rows_of(0)


def test_a_run_of_which_a_task_is_missing_is_not_done():
    assert list(complete(rows_of(0) + rows_of(1)[:1])) == rows_of(0)


def test_a_run_that_is_there_twice_counts_once():
    assert list(complete(rows_of(0) + rows_of(0))) == rows_of(0)


def test_rewriting_sorts_and_leaves_nothing_beside(file):
    file.rewrite(rows_of(2) + rows_of(0))
    assert file.read() == rows_of(0) + rows_of(2)
    assert [path.name for path in file.path.parent.iterdir()] == ["runs.csv"]


def test_a_row_knows_its_run():
    [row, other] = rows_of(3)
    assert row.spec() == other.spec()
    assert row.spec() != replace(row.spec(), run=4)


def test_another_file_is_refused(file):
    file.path.write_text("a,b\n1,2\n")
    with pytest.raises(BenchmarkError, match="is not a file of runs"):
        file.read()


def test_a_damaged_file_is_refused_by_line(file):
    file.rewrite(rows_of(0))
    file.path.write_text(file.path.read_text().replace("34.3", "many"))
    with pytest.raises(BenchmarkError, match=r"is damaged near line 2"):
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
