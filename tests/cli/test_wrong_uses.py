"""Wrong uses of the command line: exit code 2, one sentence that says what to fix, and nothing left behind."""

import json
import os
import resource
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

pytestmark = pytest.mark.slow


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


@pytest.fixture
def refused(run, tmp_path):
    """Assert that a use is refused as it should be, with these words in its one sentence."""

    def check(words, *arguments):
        before = contents(tmp_path)
        code, out, err = run(*arguments)
        assert code == 2, (out, err)
        lines = [line for line in err.splitlines() if line.startswith("mtcluster")]
        assert len(lines) == 1, err
        assert "Traceback" not in err
        assert out == ""
        for word in [words] if isinstance(words, str) else words:
            assert word in lines[0]
        assert contents(tmp_path) == before

    return check


@pytest.fixture
def table(tmp_path, survey):
    """Write the survey, changed."""

    def write(name="survey.csv", change=lambda frame: frame, **options):
        change(survey.drop(columns="class")).to_csv(tmp_path / name, index=False, **options)
        return name

    return write


FIT = ("--task", "country", "--id", "person", "--clusters", 3, "--refits", 0, "--out", "run")


def with_cell(row, column, value):
    def change(frame):
        frame = frame.astype({column: object})
        frame.loc[row, column] = value
        return frame

    return change


CHANGES = {
    "a missing task": (with_cell(4, "country", None), ["'country'", "row 5"]),
    "a missing id": (with_cell(4, "person", None), ["'person'", "row 5"]),
    "text where numbers belong": (with_cell(7, "income", "n/k"), ["'income'", "'n/k'", "row 8"]),
    "decimal commas": (with_cell(7, "income", "1,5"), ["'income'", "'1,5'", "point"]),
    "infinity": (with_cell(7, "income", float("inf")), ["'income'", "infinity", "row 8"]),
    "too many categories": (lambda f: f.assign(name=[f"n{i // 2}" for i in range(len(f))]), ["'name'", "--text name"]),
    "one row": (lambda f: f.head(1), ["n_samples=1", "n_clusters=3"]),
    "no rows": (lambda f: f.head(0), "no rows"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_table_that_cannot_be_clustered(name, refused, table):
    change, words = CHANGES[name]
    refused(words, "fit", table(change=change), *FIT)


def test_missing_values_with_a_method_that_cannot_take_them(refused, table):
    gaps = table(change=with_cell([3, 5], "age", None))
    words = ["--method kmeans", "2 of the values are missing", "--impute median", "spmtc"]
    refused(words, "fit", gaps, *FIT, "--method", "kmeans")


def test_missing_values_beside_texts(refused, table):
    gaps = table(change=lambda f: with_cell([3, 5], "age", None)(f).assign(said="one word"))
    refused(["sparse", "age (2)", "--impute median"], "fit", gaps, *FIT, "--text", "said")


def test_a_task_without_a_value(refused, table):
    columns = ["age", "income", "trust", "hours", "sex"]
    gone = table(change=lambda f: f.assign(**{c: f[c].where(f["country"] != "de") for c in columns}))
    refused(["'de'", "leave the task out"], "fit", gone, *FIT)


def test_tasks_that_no_column_links(refused, table):
    def apart(f):
        for columns, country in (
            (["age", "income", "sex"], "de"),
            (["trust", "hours"], "fr"),
            (["trust", "hours"], "it"),
        ):
            f[columns] = f[columns].where(f["country"] != country)
        return f

    refused(
        ["No column links 'fr', 'it' to 'de'", "'de' and 'fr' have 0 columns in common"],
        "fit",
        table(change=apart),
        *FIT,
    )


OPTIONS = {
    "a missing file": (["gone.csv"], "gone.csv"),
    "a folder": (["."], "folder"),
    "a kind of file that is not known": (["notes.docx"], [".docx", ".parquet"]),
    "an empty file": (["empty.csv"], "empty"),
    "a file that is no text": (["binary.csv"], "zero bytes"),
    "an encoding that is not UTF-8": (["latin.csv"], "UTF-8"),
    "a damaged Parquet file": (["bad.parquet"], "bad.parquet"),
    "a damaged Excel file": (["bad.xlsx"], "bad.xlsx"),
    "a damaged Feather file": (["bad.feather"], "bad.feather"),
    "a damaged gzip file": (["bad.csv.gz"], "bad.csv.gz"),
    "a damaged task set": (["bad.npz"], "bad.npz"),
    "a damaged AnnData file": (["bad.h5ad"], "bad.h5ad"),
    "a damaged Matrix Market file": (["bad.mtx", "bad.mtx"], "bad.mtx"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_file_that_cannot_be_read(name, refused, tmp_path):
    files, words = OPTIONS[name]
    (tmp_path / "notes.docx").write_text("x")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    (tmp_path / "latin.csv").write_bytes("stadt,a\nKöln,1\nMünchen,2\n".encode("latin-1"))
    for ending in ("parquet", "xlsx", "feather", "csv.gz", "npz", "mtx", "h5ad"):
        (tmp_path / f"bad.{ending}").write_bytes(b"nonsense, nonsense")
    options = () if name.startswith("a damaged") and files[0].endswith(("npz", "mtx")) else ("--task", "stadt")
    refused(words, "fit", *files, *options, "--clusters", 2, "--out", "run")


USES = {
    "a wrong task column": (["--task", "land"], ["'land'", "--task", "country"]),
    "a wrong id column": (["--id", "nobody"], ["'nobody'", "--id"]),
    "a wrong label column": (["--label", "truth"], ["'truth'", "--label"]),
    "a wrong feature": (["--features", "age,weight"], ["'weight'", "--features"]),
    "a wrong text column": (["--text", "story"], ["'story'", "--text"]),
    "the task as a feature": (["--features", "age,country"], "'country'"),
    "no clusters": (["--clusters", "0"], "--clusters"),
    "clusters that are no number": (["--clusters", "some"], ["--clusters", "some", "2-8", "auto"]),
    "clusters with dots": (["--clusters", "2..8"], ["--clusters", "2..8", "2-8"]),
    "a range that falls": (["--clusters", "8-2"], ["--clusters", "8-2", "smaller one first"]),
    "a range without an end": (["--clusters", "2-"], ["--clusters", "'2-'", "2-8"]),
    "a range of one cluster": (["--clusters", "1-1"], ["--clusters", "1-1", "at least 2"]),
    "a range for too few rows": (["--clusters", "2-80"], ["--clusters 2-80", "160 rows", "120", "up to 60"]),
    "a range and clusters per task": (["--clusters", "2-4", "--clusters-per-task", "fr=2"], "--clusters N"),
    "restarts": (["--restarts", "5"], ["--restarts", "--refits"]),
    "restarts without a number": (["--restarts"], ["--restarts", "--refits"]),
    "one refit": (["--refits", "1"], ["--refits", "'1'", "at least 2"]),
    "refits that are no number": (["--refits", "many"], ["--refits", "many"]),
    "more clusters than rows": (["--clusters", "121"], ["n_clusters=121"]),
    "clusters per task that are no numbers": (["--clusters-per-task", "fr:2"], ["fr:2", "TASK=N"]),
    "clusters of unknown tasks": (["--clusters-per-task", "fr=2,xx=3"], ["n_clusters_per_task", "'xx'"]),
    "more clusters in a task than in all": (["--clusters-per-task", "fr=2,de=3,it=9"], ["'it'", "n_clusters=3"]),
    "clusters per task alone": (["--clusters", "auto", "--clusters-per-task", "fr=2,de=2,it=2"], "--clusters N"),
    "a metric that is not known": (["--metric", "cosine"], ["cosine", "euclidean"]),
    "a metric for a method that has none": (["--metric", "shared", "--method", "kmeans"], ["--metric", "kmeans"]),
    "a method that is not known": (["--method", "magic"], ["magic", "spmtc"]),
    "a negative seed": (["--seed", "-1"], "-1"),
    "an option that is not known": (["--colour", "red"], "--colour"),
    "word counts of a table": (["--tfidf"], "--tfidf"),
    "a scheduler that does not answer": (["--scheduler", "tcp://127.0.0.1:9"], ["--scheduler", "127.0.0.1:9"]),
    "a scheduler for a method that cannot": (["--scheduler", "tcp://127.0.0.1:9", "--method", "kmeans"], "kmeans"),
    "texts that are none": (["--text", "person", "--features", "age", "--id", "hours"], "'person'"),
}


@pytest.mark.parametrize("name", USES)
def test_a_wrong_option(name, refused, table):
    options, words = USES[name]
    refused(words, "fit", table(), *FIT, *options)


@pytest.mark.parametrize("asked", ["auto", "2-3"])
def test_a_number_cannot_be_chosen_with_a_task_of_one_row(refused, table, asked):
    name = table(change=with_cell(0, "country", "uk"))
    refused([f"--clusters {asked}", "'uk' has 1"], "fit", name, *FIT, "--clusters", asked)


def test_a_number_cannot_be_chosen_from_three_rows(refused, table):
    name = table(change=lambda f: f.head(3).assign(country="uk"))
    refused(["--clusters auto", "at least 4 rows", "there are 3"], "fit", name, *FIT, "--clusters", "auto")


def test_without_a_task_column_those_are_named_that_may_be_meant(run, table):
    code, _, err = run("fit", table(), "--clusters", 3, "--refits", 0, "--out", "run")
    assert (code, "All rows are one task. Where there are several, name its column with --task (perhaps" in err) == (
        0,
        True,
    )
    assert "'country'" in err


def test_one_matrix_alone_is_one_task(run, files):
    code, out, err = run("fit", "fr.mtx", "--clusters", 3, "--refits", 0, "--out", "run")
    assert (code, "All rows belong to one data set" in out) == (0, True), err
    assert "fr.mtx does not say which task each row belongs to. All rows are one task." in err


def test_no_out(refused, table):
    refused("--out", "fit", table(), "--task", "country")


def test_files_with_other_columns(refused, files, tmp_path):
    (tmp_path / "uk.csv").write_text("height,weight\n1,2\n3,4\n")
    words = ["No column links 'uk' to 'fr'", "'fr' and 'uk' have 0 columns in common", "Rename"]
    refused(words, "fit", "fr.csv", "uk.csv", "--clusters", 2, "--out", "run")


def test_a_file_named_twice(refused, files):
    refused("twice", "fit", "fr.csv", "de.csv", "./fr.csv", "--clusters", 2, "--out", "run")


def test_a_pipe_in_the_place_of_a_file(run, fitted, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code, _, err = run("predict", "run", "survey.csv", "--out", "pipe", "--force", "--quiet")
    assert code == 2
    assert "not a regular file" in err
    assert (tmp_path / "pipe").is_fifo()


def test_files_of_several_kinds(refused, files):
    refused("one kind", "fit", "fr.csv", "de.mtx", "--clusters", 2, "--out", "run")


def test_negative_counts(refused, files):
    refused(["--tfidf", "negative"], "fit", "a.npz", "--tfidf", "--clusters", 2, "--out", "run")


def test_scaling_a_sparse_matrix(refused, files):
    refused("sparse", "fit", "fr.mtx", "de.mtx", "--scale", "standard", "--clusters", 2, "--out", "run")


def test_a_folder_that_holds_a_run(refused, fitted):
    refused("--force", "fit", "survey.csv", *FIT, "--label", "class")


def test_a_folder_that_holds_something_else_is_not_replaced_even_by_force(refused, table, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("ten years of work")
    refused("thesis.tex", "fit", table(), *FIT, "--force")


def test_a_file_where_the_folder_should_be(refused, table, tmp_path):
    (tmp_path / "run").write_text("x")
    refused("file", "fit", table(), *FIT)


def test_a_label_column_of_one_value(refused, table):
    name = table(change=lambda frame: frame.assign(same="x"))
    refused(["same", "one value"], "compare", name, "--task", "country", "--id", "person", "--label", "same",
            "--clusters", 3, "--refits", 0)  # fmt: skip


def test_methods_that_are_not_known(refused, table):
    refused(["magic", "lssmtc"], "compare", table(), "--task", "country", "--methods", "spmtc,magic")


def test_predict_with_a_folder_that_is_not_there(refused, table):
    refused("gone", "predict", "gone", table(), "--out", "new.csv")


def test_predict_with_a_folder_that_is_no_run(refused, table, tmp_path):
    (tmp_path / "other").mkdir()
    refused(["other", "settings.json"], "predict", "other", table(), "--out", "new.csv")


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"PK nonsense", lambda data: b""])
@pytest.mark.parametrize("command", ["predict", "report"])
def test_a_damaged_model(damage, command, refused, fitted):
    model = fitted / "model.skops"
    model.write_bytes(damage(model.read_bytes()))
    refused(
        "model.skops",
        *(["predict", "run", "survey.csv", "--out", "new.csv"] if command == "predict" else ["report", "run"]),
    )


def test_a_model_that_is_a_pickle_is_not_loaded(refused, fitted):
    import pickle

    class Evil:
        def __reduce__(self):
            return os.system, ("touch hacked",)

    (fitted / "model.skops").write_bytes(pickle.dumps(Evil()))
    refused("model.skops", "predict", "run", "survey.csv", "--out", "new.csv")


def test_a_model_that_holds_strange_types_is_not_loaded(refused, fitted):
    import subprocess

    from skops.io import dump

    dump({"model": subprocess.Popen}, fitted / "model.skops")
    refused(["model.skops", "Popen"], "predict", "run", "survey.csv", "--out", "new.csv")


def test_a_model_of_another_version(refused, fitted, edit_settings):
    edit_settings(fitted, lambda settings: settings["versions"].update(mtcluster="99.0.0"))
    refused("99.0.0", "predict", "run", "survey.csv", "--out", "new.csv")


@pytest.mark.parametrize("command", ["predict", "report"])
def test_a_folder_of_version_0_1(command, refused, fitted, edit_settings):
    def change(settings):
        settings.update(format=1)
        settings["versions"].update(mtcluster="0.1.0")

    edit_settings(fitted, change)
    files = ["survey.csv", "--out", "new.csv"] if command == "predict" else []
    refused(["was written by mtcluster 0.1", "fit again with this version"], command, "run", *files)


def test_a_model_whose_roles_of_columns_are_missing(refused, fitted):
    from mtcluster.interop import dump, load

    contents = load(fitted / "model.skops")
    dump(contents | {"roles": {"task": "country"}}, fitted / "model.skops")
    refused(["model.skops", "roles"], "report", "run")


def test_a_model_file_of_another_format(refused, fitted):
    from mtcluster.interop import dump, load

    contents = load(fitted / "model.skops")
    dump(contents | {"format": 1}, fitted / "model.skops")
    refused(["model.skops", "fit again"], "report", "run")


BROKEN = {
    "a preprocessor without its scaler": lambda contents: delattr(contents["preprocessor"], "scaler_"),
    "a parameter of the preprocessor": lambda contents: setattr(contents["preprocessor"], "scale", -1),
    "other columns": lambda contents: contents["columns"].append("age2"),
    "columns that are left out": lambda contents: setattr(contents["preprocessor"], "left_out_", ["x"]),
    "a role": lambda contents: contents["roles"].update(drop=-1),
    "a role of numbers": lambda contents: contents["roles"].update(drop=[1, 2]),
    "an option of the check": lambda contents: contents["checking"].pop("missing"),
    "a part": lambda contents: contents.pop("anonymous"),
    "an array for a number": lambda contents: contents.update(format=np.zeros(0)),
    "a part of the model": lambda contents: setattr(
        contents["model"], "fitted_", replace(contents["model"].fitted_, support=np.zeros(3))
    ),
    "a parameter of the model": lambda contents: delattr(contents["model"], "init"),
}


@pytest.mark.parametrize("part", BROKEN)
@pytest.mark.parametrize("command", ["predict", "adapt", "report"])
def test_models_of_other_parts_are_damaged(refused, fitted, part, command):
    from mtcluster.interop import load
    from mtcluster.interop._persistence import _here, _skops, sealed

    contents = load(fitted / "model.skops")
    BROKEN[part](contents)
    (fitted / "model.skops").write_bytes(sealed(_skops().dumps(_here(contents))))
    files = () if command == "report" else ("survey.csv", "--out", "o")
    refused(["This model file is damaged", "model.skops"], command, "run", *files)


@pytest.mark.parametrize("findings", ["", "[]", "{}", "[" * 100_000])
@pytest.mark.parametrize("command", [("report", "run"), ("rename", "run", "0=large")])
def test_findings_that_cannot_be_read(refused, fitted, findings, command):
    from mtcluster.interop import dump, load

    contents = load(fitted / "model.skops")
    dump(contents | {"findings": findings}, fitted / "model.skops")
    refused(["This model file is damaged", "model.skops", "fit again"], *command)


@pytest.mark.parametrize("link", [None, "symbolic", "hard"])
@pytest.mark.parametrize("command", ["predict", "compare", "fit"])
def test_output_that_would_replace_an_input(refused, fitted, tmp_path, command, link):
    out = tmp_path / "survey.csv"
    if link:
        out = tmp_path / "link.csv"
        out.symlink_to("survey.csv") if link == "symbolic" else out.hardlink_to(tmp_path / "survey.csv")
    before = (tmp_path / "survey.csv").read_bytes()
    first = ("run", "survey.csv") if command == "predict" else ("survey.csv", "--task", "country")
    refused(["--out", out.name, "is read"], command, *first, "--out", out, "--force")
    assert (tmp_path / "survey.csv").read_bytes() == before


@pytest.mark.parametrize("name", ["model.skops", "settings.json", "labels.csv"])
@pytest.mark.parametrize("command", ["predict", "compare", "report"])
def test_output_that_would_damage_a_run(refused, fitted, command, name):
    before = (fitted / name).read_bytes()
    first = {"predict": ("run", "survey.csv"), "report": ("run",), "compare": ("survey.csv", "--task", "country")}
    refused(["--out", name, "of a run"], command, *first[command], "--out", f"run/{name}", "--force")
    assert (fitted / name).read_bytes() == before


def test_a_run_that_would_replace_what_it_reads(refused, fitted):
    refused(["--out run contains run/labels.csv"], "fit", "run/labels.csv", "--task", "task", "--out", "run", "--force")
    assert (fitted / "labels.csv").exists()


def test_a_name_of_a_cluster_that_is_no_text(refused, fitted):
    refused(["a name is", "not text in UTF-8"], "rename", "run", "0=\udcff")


def test_settings_that_were_changed(refused, fitted, edit_settings):
    edit_settings(fitted, lambda settings: settings["options"].update(seed=1))
    refused(["settings.json", "does not match its checksum"], "report", "run")


def test_the_checksum_of_settings_does_not_depend_on_their_layout(run, fitted, edit_settings):
    edit_settings(fitted, lambda settings: settings.update(reversed(list(settings.items()))))
    assert run("report", "run")[0] == 0


def test_a_model_of_another_format(refused, fitted, edit_settings):
    edit_settings(fitted, lambda settings: settings.update(format=7))
    refused("fit again", "report", "run")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", json.dumps({"format": 2, "versions": 3})])
def test_damaged_settings(text, refused, fitted):
    (fitted / "settings.json").write_text(text)
    refused("settings.json", "report", "run")


def test_a_run_without_its_model(refused, fitted):
    (fitted / "model.skops").unlink()
    refused("model.skops", "report", "run")


def test_predict_with_other_columns(refused, fitted, tmp_path):
    (tmp_path / "new.csv").write_text("height,country\n1,fr\n")
    refused(["new.csv has none of the columns", "'income'"], "predict", "run", "new.csv", "--out", "labels.csv")
    refused(["new.csv has none of the columns", "'income'"], "adapt", "run", "new.csv", "--out", "wider")


def test_predict_with_other_features_of_a_matrix(refused, files, run, tmp_path):
    assert run("fit", "a.npz", "--clusters", 3, "--refits", 0, "--out", "run", "--quiet")[0] == 0
    np.savez(tmp_path / "new.npz", task1_X=np.ones((5, 3)))
    refused(["new.npz", "3 features, and 4 are needed"], "predict", "run", "new.npz", "--out", "labels.csv")


def test_predict_with_a_matrix_after_a_fit_on_a_table(refused, fitted, files):
    refused("a.npz", "predict", "run", "a.npz", "--out", "labels.csv")


def test_a_column_of_texts_that_names_the_rows(refused, table):
    refused(["'person'", "--id"], "fit", table(), *FIT, "--text", "person")


def test_predict_with_text_where_numbers_belong(refused, fitted, survey, tmp_path):
    survey.assign(age="old").to_csv(tmp_path / "new.csv", index=False)
    refused(["'age'", "'old'"], "predict", "run", "new.csv", "--out", "labels.csv")


def test_predict_into_a_folder_that_is_not_there(refused, fitted):
    refused("does not exist", "predict", "run", "survey.csv", "--out", "gone/labels.csv")


def test_predict_over_a_file_that_is_there(refused, fitted, tmp_path):
    (tmp_path / "labels.csv").write_text("precious")
    refused(["labels.csv", "--force"], "predict", "run", "survey.csv", "--out", "labels.csv")


def limited(arguments, folder, **options):
    return subprocess.run(
        [sys.executable, "-m", "mtcluster", *map(str, arguments)], cwd=folder, capture_output=True, text=True, **options
    )


@pytest.mark.parametrize("limit", [2_000, 30_000])
def test_a_full_disk_leaves_nothing(limit, table, tmp_path):
    table()
    before = contents(tmp_path)
    done = limited(
        ["fit", "survey.csv", *FIT, "--quiet"],
        tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2
    assert "the disk is full" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert contents(tmp_path) == before


@pytest.fixture
def nobody(tmp_path):
    """Be somebody without rights."""
    if not hasattr(os, "seteuid") or os.geteuid() != 0:
        pytest.skip("only root can become somebody without rights")
    import pandas  # noqa: F401

    import mtcluster.cli  # noqa: F401

    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_no_permission_to_write(refused, table, nobody):
    os.seteuid(0)
    table()
    os.seteuid(65534)
    refused(["run", "Permission denied"], "fit", "survey.csv", *FIT)


def test_no_permission_to_read(run, table, nobody, tmp_path):
    os.seteuid(0)
    table()
    (tmp_path / "survey.csv").chmod(0o600)
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    os.seteuid(65534)
    code, _, err = run("fit", "survey.csv", *FIT[:-1], "open/run", "--quiet")
    assert code == 2
    assert err.splitlines() == ["mtcluster fit: survey.csv: Permission denied; nothing was written."]
    assert not any((tmp_path / "open").iterdir())
