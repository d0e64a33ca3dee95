"""Models that go away and come back, and frames that go in and come out."""

import copy
import datetime
import io
import json
import os
import pickle
import zipfile

import joblib
import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mtcluster import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask, Pooled, Schedule
from mtcluster.datasets import make_multitask_blobs
from mtcluster.estimators.harmony import Harmonized
from mtcluster.inspection import LabelDescription
from mtcluster.interop._persistence import SEAL
from mtcluster.preprocessing import TablePreprocessor
from mtcluster.search import Search

pytestmark = pytest.mark.slow

MODELS = {
    "SPMTC": SPMTC(4, random_state=0),
    "number chosen": SPMTC((3, 5), random_state=0),
    "plain SPMTC": SPMTC(4, within_weight=0.4, task_offset="scale", random_state=np.random.RandomState(0)),
    "LSSMTC": LSSMTC(4, random_state=0),
    "search": LSSMTC(4, init=Search(), random_state=0),
    "mixtures": LSSMTC(4, within_weight=0.5, membership="nonnegative", random_state=0),
    "ASI": ASI(4, random_state=0),
    "PerTask": PerTask(KMeans(4, random_state=0)),
    "Pooled": Pooled(KMeans(4, random_state=0)),
    "centred": Pooled(KMeans(4, random_state=0), center=True),
}


KINDS = ("tied", "full", "diag", "spherical")


def by_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def by_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


def by_copy(model, folder):
    return copy.deepcopy(model)


def by_skops(model, folder):
    persistence = pytest.importorskip("mtcluster.interop")
    pytest.importorskip("skops")
    persistence.dump(model, folder / "model.skops")
    return persistence.load(folder / "model.skops")


@pytest.fixture
def files():
    pytest.importorskip("skops")
    from mtcluster.interop import _persistence as persistence

    return persistence


@pytest.mark.parametrize("way", [by_pickle, by_joblib, by_copy, by_skops])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(blobs, tmp_path, name, way):
    X, _, tasks = blobs
    X = np.abs(X) if name == "mixtures" else X
    model = clone(MODELS[name]).fit(X, tasks=tasks)
    again = way(model, tmp_path)
    assert type(again) is type(model)
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.predict(X, tasks=tasks), model.predict(X, tasks=tasks))
    if hasattr(model, "score_samples"):
        np.testing.assert_array_equal(again.score_samples(X, tasks=tasks), model.score_samples(X, tasks=tasks))
        np.testing.assert_array_equal(again.predict_proba(X, tasks=tasks), model.predict_proba(X, tasks=tasks))
        np.testing.assert_array_equal(again.transform(X), model.transform(X))


@pytest.mark.parametrize("way", [by_pickle, by_joblib, by_copy, by_skops])
def test_what_was_decided_comes_back_too(blobs, tmp_path, way):
    X, _, tasks = blobs
    model = SPMTC((3, 5), random_state=0).fit(X, tasks=tasks)
    assert str(way(model, tmp_path).explain()) == str(model.explain()) != ""


@pytest.mark.parametrize("way", [by_pickle, by_joblib, by_copy, by_skops])
def test_how_the_number_was_chosen_comes_back_too(blobs, tmp_path, way):
    X, _, tasks = blobs
    model = SPMTC((2, 5), random_state=0).fit(X, tasks=tasks)
    again = way(model, tmp_path)
    assert (again.n_clusters, again.n_clusters_) == ((2, 5), model.n_clusters_)
    assert str(again.selection_) == str(model.selection_)
    assert again.selection_.named == model.selection_.named
    assert again.selection_.tree == model.selection_.tree
    assert again.selection_.tree.rows() == model.selection_.tree.rows()


def seeds_of(model):
    return [name for name in model.get_params() if name.endswith("random_state")]


@pytest.mark.parametrize("name", MODELS)
def test_a_clone_knows_the_parameters_and_nothing_else(blobs, name):
    X, _, tasks = blobs
    model = clone(MODELS[name])
    fresh = clone(model.fit(np.abs(X), tasks=tasks))
    shown = [str(one.set_params(**{seed: 0}).get_params()) for one in (fresh, model) for seed in seeds_of(one)]
    assert shown[0] == shown[1]
    with pytest.raises(NotFittedError):
        fresh.predict(X)


# Files


def every_type(X, tasks):
    """Things that together consist of every type that is trusted."""
    days = [datetime.date(2020, 1, 1 + int(k)) for k in tasks]
    zone = datetime.timezone(datetime.timedelta(hours=1))
    times = [datetime.datetime(2020, 1, 1 + int(k), tzinfo=zone) for k in tasks]
    models = [
        *(clone(model).fit(np.abs(X), tasks=tasks) for model in MODELS.values()),
        LSSMTC(4, within_weight=0.5, random_state=0).fit(X, tasks=days),
        LSSMTC(4, within_weight=0.5, random_state=0).fit(X, tasks=times),
        LabelDescription().fit(X, np.arange(len(X)) % 4, tasks=tasks),
        Harmonized(KMeans(4)),
        *(MultiTaskGaussianMixture(4, covariance_type=kind, random_state=0).fit(X, tasks=tasks) for kind in KINDS),
        LSSMTC(4, within_weight=0.5, coupling="projection", random_state=0).fit(X, tasks=tasks),
        SPMTC(4, pace=Schedule(initial_fraction=0.7), random_state=0).fit(X, tasks=tasks).adapt({"new": X}),
        SPMTC(4, random_state=0).fit(X, tasks=tasks).partial_fit(X, tasks=tasks),
    ]
    models.append(SPMTC(4, random_state=0).fit(X, tasks=tasks, previous=models[-1]))
    return {
        "models": models,
        "preparation": TablePreprocessor(),
        "columns": make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), [0, 1])).fit(X),
        "matched": SPMTC(4, match="geometry", random_state=0).fit({"a": X[:, :3], "b": X[:, 3:]}),
    }


def test_the_list_of_trusted_types_is_neither_short_nor_long(blobs, files):
    import skops.io

    X, _, tasks = blobs
    data = skops.io.dumps(every_type(X, tasks))
    assert sorted(skops.io.get_untrusted_types(data=data)) == sorted(files.TRUSTED)


def test_labels_of_tasks_come_back_as_they_were(blobs, files, tmp_path):
    X, _, tasks = blobs
    for names in (
        ["a", 1, (2, "x")],
        [datetime.date(2020, 1, k) for k in (1, 2, 3)],
        [1.5, 2.5, 3.5],
        [b"a", b"b", b"c"],
    ):
        labels = [names[k] for k in tasks]
        model = LSSMTC(4, within_weight=0.5, random_state=0).fit(X, tasks=labels)
        again = by_skops(model, tmp_path)
        assert again.tasks_.tolist() == model.tasks_.tolist()
        np.testing.assert_array_equal(again.predict(X, tasks=labels), model.labels_)


def test_a_run_with_its_preparation_comes_back(blobs, files, tmp_path):
    X, _, tasks = blobs
    words = [f"word{i % 7} other{i % 5}" for i in range(len(X))]
    steps = {
        "scaler": StandardScaler().fit(X),
        "encoder": OneHotEncoder(handle_unknown="ignore").fit(np.array([["a"], ["b"]], dtype=object)),
        "vectorizer": TfidfVectorizer(stop_words="english").fit(words),
        "weighting": TfidfTransformer().fit(sparse.csr_matrix(np.abs(X))),
        "imputer": SimpleImputer(strategy="median").fit(X),
    }
    run = {"format": 1, "version": "0.1.0", "model": SPMTC(4, random_state=0).fit(X, tasks=tasks), "steps": steps}
    files.dump(run, tmp_path / "run.skops")
    again = files.load(tmp_path / "run.skops")
    assert again.keys() == run.keys()
    assert again["format"] == 1
    np.testing.assert_array_equal(again["model"].predict(X, tasks=tasks), run["model"].labels_)
    found = again["steps"]["vectorizer"].transform(words) - steps["vectorizer"].transform(words)
    assert abs(found).max() == 0
    np.testing.assert_array_equal(again["steps"]["scaler"].transform(X), steps["scaler"].transform(X))


def test_a_pipeline_keeps_what_it_asks_for(blobs, files, tmp_path):
    X, _, tasks = blobs
    with sklearn.config_context(enable_metadata_routing=True):
        model = LSSMTC(4, random_state=0).set_fit_request(tasks=True, sample_weight=False)
        pipeline = make_pipeline(StandardScaler(), model.set_predict_request(tasks="origin")).fit(X, tasks=tasks)
        again = by_skops(pipeline, tmp_path)
        np.testing.assert_array_equal(again.predict(X, origin=tasks), pipeline.predict(X, origin=tasks))
        assert repr(again[-1].get_metadata_routing()) == repr(pipeline[-1].get_metadata_routing())
        assert vars(again[-1]).keys() == vars(pipeline[-1]).keys()


def test_a_file_is_compressed_and_leaves_the_model_alone(blobs, files, tmp_path):
    X, _, tasks = blobs
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    before = pickle.dumps(model)
    files.dump(model, tmp_path / "model.skops")
    assert pickle.dumps(model) == before
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        assert {item.compress_type for item in archive.infolist()} == {zipfile.ZIP_DEFLATED}
    assert os.listdir(tmp_path) == ["model.skops"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(blobs, files, tmp_path, monkeypatch):
    X, _, tasks = blobs
    path = tmp_path / "model.skops"
    model = LSSMTC(4, random_state=0).fit(X, tasks=tasks)
    files.dump(model, path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        files.dump(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.skops"]
    with pytest.raises(FileNotFoundError):
        files.dump(model, tmp_path / "nowhere" / "model.skops")
    with pytest.raises(FileNotFoundError):
        files.load(tmp_path / "nowhere.skops")


class Stranger(KMeans):
    """A type that nobody trusts."""


def test_what_could_not_be_loaded_is_not_written(blobs, files, tmp_path):
    X, _, tasks = blobs
    model = PerTask(Stranger(4, random_state=0)).fit(X, tasks=tasks)
    with pytest.raises(ValueError, match=r"PerTask contains types that are not trusted .*: .*Stranger"):
        files.dump(model, tmp_path / "model.skops")
    with pytest.raises(ValueError, match="dict cannot be written by skops"):
        files.dump({"generator": (i for i in range(3))}, tmp_path / "model.skops")
    assert os.listdir(tmp_path) == []


def test_strange_types_are_refused_by_name(blobs, files, tmp_path):
    import skops.io

    path = tmp_path / "strange.skops"
    skops.io.dump({"model": Stranger(4), "call": os.path.join}, path)
    with pytest.raises(
        ValueError, match=r"strange.skops contains types that are not trusted.*posixpath.join.*Stranger"
    ):
        files.load(path)
    skops.io.dump(LogisticRegression(), path)  # skops trusts scikit-learn's estimators
    assert isinstance(files.load(path), LogisticRegression)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The bytes of a small model's file."""
    pytest.importorskip("skops")
    from mtcluster.interop import dump

    X, _, tasks = make_multitask_blobs(20, 3, n_tasks=2, n_clusters=2, random_state=0)
    path = tmp_path_factory.mktemp("files") / "model.skops"
    dump(LSSMTC(2, within_weight=0.5, random_state=0).fit(X, tasks=tasks), path)
    return path.read_bytes()


def refused(data, folder):
    """The message with which a file of these bytes is refused, or None."""
    from mtcluster.interop import load

    path = folder / "damaged.skops"
    path.write_bytes(data)
    try:
        load(path)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip file", b"\0" * 1000])
def test_other_files_are_refused(files, tmp_path, data):
    assert "damaged.skops is damaged, or was not written by" in refused(data, tmp_path)


def test_a_zip_file_of_something_else_is_refused(files, tmp_path):
    for name, text in [("readme.txt", "hello"), ("schema.json", "{"), ("schema.json", "{}"), ("schema.json", "[1]")]:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(name, text)
        assert "damaged.skops is damaged, or was not written by" in refused(buffer.getvalue(), tmp_path)


def test_a_schema_that_lacks_a_part_is_refused(files, tmp_path, written):
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        schema = json.loads(archive.read("schema.json"))
    schema["content"]["content"]["fitted_"]["content"]["content"]["sizes"]["file"] = "nowhere.npy"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    assert "damaged" in refused(buffer.getvalue(), tmp_path)


def renamed(data, names):
    """The bytes of a file in which types have other names, without a checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            if name == SEAL:
                continue
            content = old.read(name)
            if name == "schema.json":
                schema = json.loads(content, object_hook=lambda part: part | names.get(part.get("__class__"), {}))
                content = json.dumps(schema).encode()
            new.writestr(name, content)
    return buffer.getvalue()


OLD = {
    "LSSMTC": {"__module__": "mtcluster.estimators"},
    "Decisions": {"__module__": "mtcluster.decisions", "__class__": "Evidence"},
}


def test_a_model_of_version_0_1_is_refused_with_what_to_do(files, tmp_path, written):
    message = refused(renamed(written, OLD), tmp_path)
    assert (
        "damaged.skops was written by mtcluster 0.1, whose models this version cannot read: fit the model again with "
        "this version" in message
    )
    assert "mtcluster.decisions.Evidence" in message
    assert "mtcluster.estimators.LSSMTC" in message
    assert refused(renamed(written, {}), tmp_path) is None


def test_an_old_model_with_a_strange_type_is_not_called_old(files, tmp_path, written):
    strange = OLD | {"Decisions": {"__module__": "elsewhere", "__class__": "Anything"}}
    message = refused(renamed(written, strange), tmp_path)
    assert "contains types that are not trusted, so it was not loaded: elsewhere.Anything" in message


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_cut_file_is_refused_in_one_sentence(tmp_path_factory, written, data):
    cut = data.draw(st.integers(0, len(written) - 1))
    message = refused(written[:cut], tmp_path_factory.mktemp("cut"))
    assert message is not None
    assert "\n" not in message


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_changed_byte_is_refused_or_harmless(tmp_path_factory, written, data):
    where, what = data.draw(st.integers(0, len(written) - 1)), data.draw(st.integers(1, 255))
    changed = bytearray(written)
    changed[where] ^= what
    message = refused(bytes(changed), tmp_path_factory.mktemp("changed"))  # nothing but a ValueError comes out
    assert message is None or "\n" not in message


@pytest.mark.dask
def test_a_model_of_dask_arrays_comes_back_in_memory(blobs, files, tmp_path):
    da = pytest.importorskip("dask.array")
    X, _, tasks = blobs
    model = LSSMTC(4, within_weight=0.5, random_state=0).fit(da.from_array(X, chunks=(50, -1)), tasks=tasks)
    again = by_skops(model, tmp_path)
    assert isinstance(again.labels_, np.ndarray)
    assert not isinstance(model.labels_, np.ndarray)
    np.testing.assert_array_equal(again.labels_, np.asarray(model.labels_))
    np.testing.assert_array_equal(again.predict(X, tasks=tasks), again.labels_)


@pytest.mark.gpu
def test_a_model_of_another_array_library_comes_back_for_numpy(blobs, files, tmp_path):
    torch = pytest.importorskip("torch")
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        pytest.skip("SCIPY_ARRAY_API=1 is not set, which scikit-learn's array API dispatch needs")
    X, _, tasks = blobs
    with sklearn.config_context(array_api_dispatch=True):
        model = LSSMTC(4, within_weight=0.5, random_state=0).fit(torch.asarray(X), tasks=tasks)
        again = by_skops(model, tmp_path)
    assert isinstance(again.labels_, np.ndarray)
    np.testing.assert_array_equal(again.predict(X, tasks=tasks), np.asarray(model.labels_))


# Frames


@pytest.fixture(params=["pandas", "polars"])
def frames(request):
    return request.param, pytest.importorskip(request.param)


def test_frames_go_in_as_arrays_do(blobs, frames):
    X, _, tasks = blobs
    frame = frames[1].DataFrame({f"f{i}": X[:, i] for i in range(6)})
    model = LSSMTC(4, random_state=0).fit(frame, tasks=frames[1].Series([f"t{k}" for k in tasks]))
    assert model.feature_names_in_.tolist() == [f"f{i}" for i in range(6)]
    np.testing.assert_array_equal(model.predict(frame, tasks=[f"t{k}" for k in tasks]), model.labels_)
    np.testing.assert_array_equal(LSSMTC(4, random_state=0).fit(X, tasks=tasks).labels_, model.labels_)


def test_frames_come_out(blobs, frames):
    name, library = frames
    X, _, tasks = blobs
    frame = library.DataFrame({f"f{i}": X[:, i] for i in range(6)})
    model = LSSMTC(4, random_state=0).set_output(transform=name).fit(frame, tasks=tasks)
    found = model.transform(frame)
    assert isinstance(found, library.DataFrame)
    assert list(found.columns) == model.get_feature_names_out().tolist() == [f"lssmtc{i}" for i in range(4)]
    axes = np.linalg.solve(model.fitted_.centers.geometry.K, model.fitted_.centers.W)
    np.testing.assert_allclose(found.to_numpy(), X @ axes, rtol=1e-6, atol=1e-9)


def test_the_index_of_a_frame_comes_out(blobs):
    pd = pytest.importorskip("pandas")
    X, _, tasks = blobs
    frame = pd.DataFrame(X, index=[f"row{i}" for i in range(len(X))]).rename(columns=str)
    model = LSSMTC(4, random_state=0).set_output(transform="pandas").fit(frame, tasks=tasks)
    assert model.transform(frame).index.tolist() == frame.index.tolist()
    assert model.fit_transform(frame, tasks=tasks).index.tolist() == frame.index.tolist()


def test_a_dict_of_frames_is_tasks(blobs, frames):
    X, _, tasks = blobs
    order = np.argsort(tasks, kind="stable")
    parts = {
        f"t{k}": frames[1].DataFrame({f"f{i}": column for i, column in enumerate(X[tasks == k].T)}) for k in range(3)
    }
    model = LSSMTC(4, random_state=0).fit(parts)
    assert model.tasks_.tolist() == ["t0", "t1", "t2"]
    np.testing.assert_array_equal(model.labels_, LSSMTC(4, random_state=0).fit(X[order], tasks=tasks[order]).labels_)
    np.testing.assert_array_equal(model.predict(parts), model.labels_)


def test_the_task_may_be_a_column_that_is_taken_out(blobs):
    pd = pytest.importorskip("pandas")
    X, _, tasks = blobs
    frame = pd.DataFrame(X).rename(columns=str).assign(site=pd.Categorical([f"t{k}" for k in tasks]))
    sites = frame.pop("site")
    model = LSSMTC(4, random_state=0).fit(frame, tasks=sites)
    assert model.tasks_.tolist() == ["t0", "t1", "t2"]
    np.testing.assert_array_equal(model.predict(frame, tasks=sites), model.labels_)


# Checksums and limits


def changed(data, change):
    """The bytes of a file with other contents and the checksum that it had."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == "schema.json" else old.read(name))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "change",
    [
        lambda schema: schema.replace(b'"n_clusters"', b'"n_klusters"'),
        lambda schema: schema + b" ",
        lambda schema: schema.replace(b"7", b"8", 1),
    ],
)
def test_contents_that_do_not_match_the_checksum_are_refused(written, tmp_path, change):
    message = refused(changed(written, change), tmp_path)
    assert "is damaged: its contents do not match its checksum" in message


def test_a_file_that_unpacks_to_too_much_is_refused_before_it_is(written, files, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(written)
    with pytest.raises(ValueError, match="unpacks to more than 1000 bytes"):
        files.load(path, max_bytes=1000)
    path.write_bytes(changed(written, lambda schema: schema + b" " * (2**28 + 1)))
    with pytest.raises(ValueError, match="is damaged"):
        files.load(path)
