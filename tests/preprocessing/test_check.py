"""The check of a table before it is clustered."""

import shlex

import numpy as np
import pytest
from scipy import sparse

from mtcluster.cli.options import _names
from mtcluster.preprocessing import TablePreprocessor, check

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)


def table(n=60, **columns):
    """A table of two measured columns and others."""
    rng = np.random.default_rng(1)
    plain = {"age": rng.normal(40, 9, n).round(), "income": rng.lognormal(8, 1, n)}
    return pd.DataFrame(plain | columns)


def kinds(found):
    return [one.kind for one in found.findings]


def only(found, kind):
    [one] = [one for one in found.findings if one.kind == kind]
    return one


def test_an_ordinary_table_has_no_findings():
    found = check(table(island=["a", "b"] * 30), task="island")
    assert found.findings == []
    assert str(found) == "Nothing to complain about."
    assert found.X.columns.tolist() == ["age", "income"]
    assert found.tasks.tolist() == ["a", "b"] * 30


# Identifiers

IDENTIFIERS = {
    "running": np.arange(60),
    "from 1000": 1000 + np.arange(60),
    "in steps": 0.5 * np.arange(60),
    "shuffled": np.random.default_rng(0).permutation(60),
    "with gaps": np.sort(np.random.default_rng(0).choice(100, 60, replace=False)),
    "patient_id": np.random.default_rng(0).integers(10**7, 10**8, 60),
    "PatientID": np.random.default_rng(0).integers(1, 40, 60),
    "names": [f"p{i}" for i in range(60)],
    "two words": [f"Ann {i}" for i in range(60)],
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_columns_that_number_or_name_the_rows_are_left_out(name):
    found = check(table(**{name: IDENTIFIERS[name]}))
    assert kinds(found) == ["identifier"]
    assert found.left_out == [name]
    assert name not in found.X


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_identifiers_are_kept_if_features_name_them(name):
    frame = table(**{name: IDENTIFIERS[name]})
    change = only(check(frame), "identifier").option
    option, names = shlex.split(change)
    assert option == "--features"
    kept = check(frame, features=_names(names))
    assert kept.left_out == []
    assert set(kept.X.columns) == {"age", "income", name}


MEASURED = {
    "continuous": RNG.normal(size=60),
    "sorted": np.sort(RNG.normal(size=60)),
    "counts": RNG.poisson(3, 60),
    "rounded": RNG.normal(100, 15, 60).round(),
    "fine": RNG.normal(100, 15, 60).round(3),
    "large": RNG.integers(0, 10**6, 60),
    "categories": RNG.choice(["a", "b"], 60),
    "index": RNG.normal(100, 9, 60).round(1),
    "truth": RNG.random(60) > 0.5,
}


@pytest.mark.parametrize("name", MEASURED)
def test_measured_columns_are_no_identifiers(name):
    assert "identifier" not in kinds(check(table(**{name: MEASURED[name]})))


def test_no_measured_column_of_many_is_taken_for_an_identifier():
    rng = np.random.default_rng(3)
    for n in (10, 30, 100, 1000):
        for digits in (0, 1, 2, 3):
            for spread in (1, 30, 1000):
                frame = pd.DataFrame({f"x{j}": rng.normal(0, spread, n).round(digits) for j in range(5)})
                assert "identifier" not in kinds(check(frame)), (n, digits, spread)


def test_numbers_that_run_in_each_task():
    frame = table(visit=np.tile(np.arange(1, 21), 3), site=np.repeat(["a", "b", "c"], 20))
    assert only(check(frame, task="site"), "identifier").columns == ("visit",)
    assert "identifier" not in kinds(check(frame.drop(columns="site")))


def test_a_copied_row_does_not_hide_an_identifier():
    frame = table(case=np.arange(60), name=[f"p{i}" for i in range(60)])
    found = check(pd.concat([frame, frame.iloc[[7]]], ignore_index=True))
    assert found.left_out == ["case", "name"]
    assert only(found, "repeated_rows").found.startswith("1 row repeats")


def test_several_columns_of_ranks_are_kept():
    rng = np.random.default_rng(0)
    found = check(table(wealth=rng.permutation(60) + 1, crime=rng.permutation(60) + 1))
    assert only(found, "ranks").columns == ("wealth", "crime")
    assert found.left_out == []


def test_numbers_among_which_one_is_a_text_stop_the_fit():
    found = check(table(weight=[*map(str, RNG.normal(70, 9, 59).round(3)), "n/k"]))
    assert only(found, "not_numbers").stops
    assert "'n/k' in row 59" in only(found, "not_numbers").found


# Columns that say nothing, or the same


def test_constant_and_empty_columns_are_left_out():
    found = check(table(study="PAL", empty=[None] * 60))
    assert {one.kind for one in found.findings} == {"constant", "empty"}
    assert "study" not in found.X


def test_a_mark_or_nothing_is_two_values_if_missing_is_a_category():
    frame = table(smokes=["yes", None] * 30)
    assert only(check(frame), "constant").columns == ("smokes",)
    assert "constant" not in kinds(check(frame, impute="median"))


def test_a_column_that_only_tells_the_tasks_apart_is_left_out():
    site = np.repeat(["a", "b"], 30)
    frame = table(site=site, code=np.where(site == "a", 7, 9))
    assert only(check(frame, task="site"), "alike").columns == ("code",)
    assert "alike" not in kinds(check(frame.drop(columns="site")))


def test_columns_that_say_the_same_are_left_out():
    frame = table(sex=RNG.choice(["f", "m"], 60))
    frame["years"] = frame["age"]
    frame["cents"] = 100 * frame["income"] + 5
    frame["gender"] = frame["sex"].map({"f": "w", "m": "x"})
    assert check(frame).left_out == ["years", "cents", "gender"]


def test_of_two_columns_that_say_the_same_that_with_more_gaps_is_left_out():
    frame = table()
    frame["years"] = frame["age"].astype(float)
    frame.loc[:3, "age"] = np.nan
    found = check(frame)
    assert found.left_out == ["age"]


# Rows and tasks


def test_names_of_tasks_that_differ_by_case_or_blanks_are_joined():
    names = (["Biscoe"] * 17 + ["biscoe"] * 2 + ["Biscoe "]) * 3
    frame = table(island=names)
    frame.loc[:29, "island"] = (["Dream"] * 9 + [" DREAM"]) * 3
    found = check(frame, task="island")
    assert set(found.tasks) == {"Biscoe", "Dream"}
    assert "'Biscoe'" in only(found, "spelling").done
    apart = check(frame, task="island", keep_spelling=True)
    assert len(set(apart.tasks)) == 5


def test_rows_without_a_task_stop_the_fit_or_are_left_out():
    names = ["a", "b"] * 30
    names[4], names[8] = None, "  "
    found = check(table(site=names), task="site")
    assert only(found, "unnamed").stops
    assert "2 rows without a task (column 'site'), first in row 4." in str(found)
    left = check(table(site=names), task="site", drop_unnamed=True)
    assert left.rows.tolist() == [i for i in range(60) if i not in (4, 8)]
    assert left.stops == []


def test_small_tasks_are_told_and_left_out_when_asked():
    frame = table(site=["a"] * 30 + ["b"] * 27 + ["c"] * 3)
    told = only(check(frame, task="site"), "small")
    assert (told.option, told.stops) == ("--min-rows 5", False)
    assert "'c' (3)" in told.found
    assert len(check(frame, task="site", min_rows=5).X) == 57
    assert only(check(frame, task="site", min_rows=100), "small").stops


def test_a_column_of_names_is_no_column_of_tasks():
    assert only(check(table(who=[f"p{i}" for i in range(60)]), task="who"), "tasks").stops


def test_repeated_ids_are_told():
    found = check(table(who=[f"p{i // 2}" for i in range(60)]), id="who")
    assert "30 ids of several rows" in only(found, "ids").found


def test_repeated_rows_are_told_and_left_out_when_asked():
    frame = table()
    frame = pd.concat([frame, frame.head(5)], ignore_index=True)
    assert "5 rows repeat" in only(check(frame), "repeated_rows").found
    assert len(check(frame, drop_duplicates=True).X) == 60


def test_rows_that_coincide_by_chance_are_not_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["x", "y"], 200), "b": rng.integers(0, 4, 200)})
    assert "repeated_rows" not in kinds(check(frame))


# Values


@pytest.mark.parametrize("marker", ["-", "?", "n.a.", ".", "NA "])
def test_texts_that_stand_for_missing_values(marker):
    values = RNG.normal(70, 9, 60).round(1).astype(object)
    values[[3, 5]] = marker
    found = check(table(weight=values.astype(str)))
    assert found.X["weight"].dtype.kind == "f"
    assert found.X["weight"].isna().sum() == 2
    assert "2 times" in only(found, "markers").found


def test_markers_of_the_user_also_numbers():
    frame = table(weight=[*([999] * 4), *RNG.integers(50, 90, 56)], sex=["f", "m", "k.A."] * 20)
    assert only(check(frame), "codes").option == "--missing 999"
    found = check(frame, missing=["999", "k.A."])
    assert found.X["weight"].isna().sum() == 4
    assert found.X["sex"].isna().sum() == 20
    assert "codes" not in kinds(found)


def test_no_text_stands_for_missing_if_so_wished():
    found = check(table(sex=["f", "m", "?"] * 20), missing=None)
    assert "markers" not in kinds(found)
    assert set(found.X["sex"]) == {"f", "m", "?"}


def test_missing_values_are_counted_by_column_and_task():
    frame = table(site=["a", "b"] * 30)
    frame.loc[[0, 2, 4, 5], "age"] = np.nan
    told = only(check(frame, task="site"), "missing")
    assert told.found == "4 missing values in 1 column: age (4): a 3, b 1."
    assert (told.option, told.stops) == ("--impute median", False)


def test_missing_values_beside_texts_stop_the_fit():
    frame = table(said=[f"some words about {i % 7}" for i in range(60)])
    frame.loc[3, "age"] = np.nan
    assert only(check(frame, text=["said"]), "missing").stops
    assert not check(frame, text=["said"], impute="median").stops


def test_truth_values_are_told():
    assert only(check(table(smokes=RNG.random(60) > 0.5)), "truth").columns == ("smokes",)


def test_infinity_and_commas_stop_the_fit():
    frame = table(weight=["1,5", *map(str, RNG.normal(3, 1, 59).round(2))])
    frame.loc[7, "age"] = np.inf
    assert {one.kind for one in check(frame).stops} == {"commas", "infinite"}


def test_too_many_categories_stop_the_fit_and_all_ways_out_are_told():
    told = only(check(table(n=120, word=[f"w{i // 2}" for i in range(120)])), "many_categories")
    assert told.stops
    assert "--text word" in told.done
    assert "--id word" in told.done
    assert told.option == "--drop word"


def test_everything_is_told_at_once():
    names = [None, *["a", "A"] * 29, "a"]
    frame = table(site=names, no=np.arange(60), same=1, bad=["x", *map(str, range(59))])
    found = check(frame, task="site")
    assert {"unnamed", "spelling", "identifier", "constant", "not_numbers"} <= set(kinds(found))
    assert [one.stops for one in found.findings] == sorted((one.stops for one in found.findings), reverse=True)
    assert found.table["kind"] == kinds(found)


# Dates

DAYS = pd.date_range("2020-01-30", periods=60, freq="9D")


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S"])
def test_dates_are_recognised_and_turned_into_numbers(written):
    frame = table(born=DAYS.strftime(written))
    assert check(frame).left_out == ["born"]
    kept = check(frame, dates=["year", "month", "days"])
    assert kept.left_out == []
    preprocessor = TablePreprocessor(dates=["year", "month", "days"], scale="none")
    X = preprocessor.fit_transform(kept.X)
    names = preprocessor.get_feature_names_out().tolist()
    assert names == ["age", "income", "born (year)", "born (month)", "born (days since 2020-01-30)"]
    np.testing.assert_array_equal(X[:, 2], DAYS.year)
    np.testing.assert_array_equal(X[:, 3], DAYS.month)
    np.testing.assert_array_equal(X[:, 4], 9 * np.arange(60))
    np.testing.assert_array_equal(preprocessor.transform(frame.tail(3))[:, 4], [513, 522, 531])


def test_a_type_of_dates_and_missing_dates():
    frame = table(born=DAYS.where(np.arange(60) != 4))
    preprocessor = TablePreprocessor(dates=["year"], scale="none")
    X = preprocessor.fit_transform(frame)
    assert np.isnan(X[4, 2])
    assert np.isnan(X).sum() == 1
    assert "dates, as year" in " ".join(preprocessor.describe())


def test_dates_whose_day_and_month_cannot_be_told_apart_are_left_out():
    frame = table(born=[f"{1 + i % 12:02d}/{1 + i % 11:02d}/2020" for i in range(60)])
    found = check(frame, dates=["year"])
    assert found.left_out == ["born"]
    assert "day or the month first" in only(found, "dates").found


def test_unknown_parts_of_dates_are_refused():
    with pytest.raises(ValueError, match=r"dates=\['week'\]"):
        TablePreprocessor(dates=["week"]).fit(table(born=DAYS))


# Matrices


def test_features_of_very_different_scales():
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 1, 300, 1]
    told = only(check(X), "scales")
    assert "'feature 2'" in told.found
    assert told.option == "--scale standard"
    assert "scales" not in kinds(check(X, scale="standard"))
    assert only(check(sparse.csr_matrix(np.abs(X))), "scales").option == "--tfidf"


def test_gaps_of_a_matrix():
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[3, 1] = np.nan
    assert not only(check(X), "missing").stops
    assert only(check(sparse.csr_matrix(X)), "missing").stops


# What comes back


def test_options_can_be_pasted_whatever_the_names():
    frame = table(**{"a, b": np.arange(60), "it's": 1})
    for one in check(frame).findings:
        words = shlex.split(one.option)
        assert words[0] == "--features"
        assert set(one.columns) <= set(_names(words[1]))


def test_the_result_as_html_is_escaped():
    frame = table(**{"<script>": np.arange(60)})
    shown = check(frame)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_a_column_that_is_not_there():
    with pytest.raises(ValueError, match="X has no column 'island'"):
        check(table(), task="island")


def test_labels_of_another_length():
    with pytest.raises(ValueError, match="59 values came for 60 rows"):
        check(table(), task=["a"] * 59)


def test_the_table_is_not_changed():
    frame = table(island=["A", "a"] * 30, weight=["-", "1"] * 30)
    before = frame.copy()
    check(frame, task="island")
    pd.testing.assert_frame_equal(frame, before)


WRITTEN = {
    "decimal commas": (["39,1", "40", "-3,25"], [39.1, 40.0, -3.25]),
    "thousands and decimals": (["3.750,5", "1.200", "7"], [3750.5, 1200.0, 7.0]),
    "groups of three": (["1,234,567", "3,750", "12"], [1234567.0, 3750.0, 12.0]),
    "whole numbers below a thousand": (["3,750", "950", "1,200"], [3750.0, 950.0, 1200.0]),
    "a zero before the comma": (["0,750", "3,750", "1,200"], [0.75, 3.75, 1.2]),
    "per cent": (["39.1%", "40 %", "-3.25%"], [39.1, 40.0, -3.25]),
    "currencies": (["$1,234.50", "-$3.10", "$7"], [1234.5, -3.1, 7.0]),
    "blanks": (["1 234,5", "2\u202f000", "12"], [1234.5, 2000.0, 12.0]),
    "apostrophes": (["1'234.5", "2’000", "12"], [1234.5, 2000.0, 12.0]),
    "missing values": (["3,5", "-", "unknown", None, "4"], [3.5, np.nan, np.nan, np.nan, 4.0]),
    "numbers beside texts": ([1.5, "2,5", 3], [1.5, 2.5, 3.0]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_numbers_as_people_write_them(name):
    texts, numbers = WRITTEN[name]
    found = check(pd.DataFrame({"a": texts, "b": np.arange(len(texts)) % 2}), features=["a", "b"])
    assert [one.kind for one in found.findings if one.kind == "written"] == ["written"]
    np.testing.assert_array_equal(found.X["a"].to_numpy(dtype=float), numbers)


TEXTS = {
    "words": ["a", "b", "c"],
    "two currencies": ["5 EUR", "7 USD", "5 EUR"],
    "answers": ["1,2,3", "1", "2"],
    "dates": ["01.02.2024", "02.02.2024", "03.02.2024"],
    "per cent or not": ["50%", "0.5", "20%"],
    "wrong groups": ["1,23,456", "1,234", "5"],
    "codes": ["007", "008", "x1"],
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_are_no_numbers_stay_texts(name):
    found = check(pd.DataFrame({"a": TEXTS[name], "b": [1.5, 2.5, 3.5]}), features=["a", "b"])
    assert not [one for one in found.findings if one.kind in ("written", "two_readings")]
    assert "a" in found.left_out or found.X["a"].dtype == object


def test_other_columns_tell_how_a_column_is_read():
    two = ["3,750", "4,100", "2,900"]
    for texts in (two, ["3.750", "4.100", "2.900"], ["3.750 €", "4.100 €"]):
        assert [one.kind for one in check(pd.DataFrame({"a": texts})).stops] == ["two_readings"]
    for others, read in (
        ({"b": ["1,5", "2", "3"]}, 3.75),
        ({"b": [1.5, 2.5, 3.0]}, 3750.0),
        ({"b": ["$1.5", "$2", "$3"]}, 3750.0),
    ):
        found = check(pd.DataFrame({"a": two, **others}), features=["a", "b"])
        assert found.X["a"].iloc[0] == read
    for asked, read in (
        ({"decimal": ","}, 3.75),
        ({"thousands": ","}, 3750.0),
        ({"decimal": "."}, 3750.0),
        ({"thousands": ""}, 3.75),
    ):
        assert check(pd.DataFrame({"a": two}), features=["a"], **asked).X["a"].iloc[0] == read


def test_what_is_asked_for_leaves_clear_columns_as_they_are():
    frame = pd.DataFrame({"a": ["3,750", "4,100"], "b": ["39,1", "40"], "c": ["1.5%", "2%"]})
    found = check(frame, features=["a", "b", "c"], decimal=".").X
    assert found.iloc[0].tolist() == [3750.0, 39.1, 1.5]


def test_rows_of_totals_are_offered_and_left_out():
    frame = pd.DataFrame({"island": ["a", "b"] * 10 + ["TOTAL:"], "x": np.arange(21.0) % 7, "z": np.arange(21) % 5})
    [one] = [one for one in check(frame).findings if one.kind == "totals"]
    assert (one.option, one.stops) == ("--drop-rows TOTAL:", False)
    found = check(frame, task="island", drop_rows=["Total"])
    assert found.rows.tolist() == list(range(20))
    assert "dropped_rows" in found.table["kind"]
    assert not [one for one in check(frame.assign(island="total")).findings if one.kind == "totals"]
