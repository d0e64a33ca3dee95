"""Pictures: what is drawn is what the model says."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from mtcluster import LSSMTC, SPMTC, Pooled, Schedule
from mtcluster._utils.tables import Table
from mtcluster.datasets import make_multitask_blobs
from mtcluster.inspection import LabelDescription, easiness
from mtcluster.model_selection import Selection, stability
from mtcluster.plotting import (
    plot_cluster_sizes,
    plot_dendrogram,
    plot_embedding,
    plot_features,
    plot_flow,
    plot_objective,
    plot_pace,
    plot_relatedness,
    plot_selection,
    plot_silhouette,
    plot_stability,
    plot_tasks,
)
from mtcluster.plotting._style import colors

matplotlib = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")
OF_A_MODEL = [
    plot_tasks, plot_objective, plot_pace, plot_cluster_sizes, plot_relatedness, plot_silhouette, plot_dendrogram,
    plot_features,
]  # fmt: skip


@pytest.fixture(scope="module")
def model():
    X, _, tasks = make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=4, random_state=0)
    names = np.array(["Berlin", "Paris", "Rome"])[tasks]
    return SPMTC(4, within_weight=0.5, random_state=0).fit(X, tasks=names)


@pytest.fixture(scope="module")
def flat():
    """A model whose map has one direction."""
    X, _, tasks = make_multitask_blobs(30, 4, n_tasks=2, n_clusters=2, random_state=0)
    return LSSMTC(2, within_weight=0.5, n_components=1, random_state=0).fit(X, tasks=tasks)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def in_legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def saved(ax, folder):
    ax.figure.savefig(folder / "picture.png")
    return (folder / "picture.png").stat().st_size


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("plot", OF_A_MODEL)
def test_every_picture_can_be_saved_and_has_labels(model, tmp_path, plot):
    ax = plot(model)
    assert saved(ax, tmp_path) > 1000
    assert ax.get_xlabel()
    assert ax.get_ylabel()


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("plot", OF_A_MODEL)
def test_the_axes_given_are_used_and_returned(model, tmp_path, plot):
    figure, (left, right) = plt.subplots(1, 2)
    assert plot(model, left) is left
    assert plot(model, ax=right) is right
    assert left.figure is figure
    assert saved(left, tmp_path) > 1000
    assert plt.get_fignums() == [figure.number]


@pytest.mark.slow
@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("plot", OF_A_MODEL)
def test_one_task_alone_and_many_clusters_are_drawn(tmp_path, plot):
    alone = LSSMTC(3, random_state=0).fit(make_multitask_blobs(40, n_tasks=1, n_clusters=3, random_state=0).X)
    assert saved(plot(alone), tmp_path) > 1000
    X, _, tasks = make_multitask_blobs(60, 5, n_tasks=6, n_clusters=25, random_state=0)
    many = SPMTC(25, within_weight=0.5, n_init=1, max_iter=2, pace=Schedule(fraction_step=0.01), random_state=0).fit(
        X, tasks=tasks
    )
    assert saved(plot(many), tmp_path) > 1000
    assert saved(plot_pace(many, by_task=True), tmp_path) > 1000


@pytest.mark.parametrize("plot", OF_A_MODEL)
def test_without_axes_the_figure_is_a_new_one_of_pyplot(model, tmp_path, plot):
    other = plt.figure()
    ax = plot(model)
    assert plt.gcf() is ax.figure is not other
    assert plt.gca() in ax.figure.axes
    plt.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("plot", [*OF_A_MODEL, lambda model: plot_tasks(model, color="easiness")])
@pytest.mark.parametrize("by_user", [lambda figure: figure.tight_layout(), lambda figure: plt.tight_layout()])
def test_tight_layout_of_the_user_changes_next_to_nothing(model, plot, by_user):
    ax = plot(model)
    ax.figure.canvas.draw()
    before = ax.get_position().width
    by_user(ax.figure)
    ax.figure.canvas.draw()
    after = ax.get_position().width
    assert after == pytest.approx(before, rel=0.1)
    assert after > 0.5


@pytest.mark.filterwarnings("error")
def test_a_legend_with_long_names_leaves_the_axes_their_width():
    X, _, tasks = make_multitask_blobs(60, 6, n_tasks=6, n_clusters=3, random_state=0)
    names = np.array([f"the hospital number {k} of the town" for k in range(6)])[tasks]
    model = SPMTC(3, random_state=0).fit(X, tasks=names)
    for plot in (plot_tasks, plot_cluster_sizes):
        ax = plot(model)
        ax.figure.tight_layout()
        assert ax.get_position().width > 0.55
        legend = ax.get_legend().get_window_extent()
        assert legend.x1 <= ax.figure.bbox.x1 + 1


@pytest.mark.slow
def test_with_axes_pyplot_is_not_touched():
    code = (
        "import sys; from matplotlib.figure import Figure; from mtcluster import LSSMTC, plotting\n"
        "from mtcluster.datasets import make_multitask_blobs\n"
        "X, y, tasks = make_multitask_blobs(20, 4, random_state=0)\n"
        "plotting.plot_tasks(LSSMTC(4, random_state=0).fit(X, tasks=tasks), Figure().subplots())\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_map_shows_every_row_of_it_once(model):
    ax = plot_tasks(model)
    drawn = np.concatenate([np.asarray(points.get_offsets()) for points in ax.collections])
    wanted = model.fitted_.rows.map[:, :2]
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], wanted[np.lexsort(wanted.T)])
    assert texts(ax) == ["0", "1", "2", "3"]
    assert in_legend(ax) == [*(f"cluster {j}" for j in range(4)), "Berlin", "Paris", "Rome"]


def test_cluster_numbers_stand_in_the_middle_of_their_rows(model):
    for j, text in enumerate(plot_tasks(model).texts):
        rows = model.fitted_.rows.map[model.labels_[model.fitted_.rows.map_rows] == j, :2]
        np.testing.assert_allclose(text.xy, np.median(rows, axis=0))


def test_other_axes_of_the_map(model):
    ax = plot_tasks(model, axes=(2, 1))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("shared direction 3", "shared direction 2")
    drawn = np.concatenate([np.asarray(points.get_offsets()) for points in ax.collections])
    np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(model.fitted_.rows.map[:, 2]))


def test_colors_say_what_was_asked_for(model):
    by_cluster, by_task, by_easiness = (
        plot_tasks(model, color=color).collections[1:4] for color in ("cluster", "task", "easiness")
    )
    codes = model.fitted_.rows.tasks[model.fitted_.rows.map_rows]
    for k in range(3):
        labels = model.labels_[model.fitted_.rows.map_rows][codes == k]
        np.testing.assert_allclose(by_cluster[k].get_facecolor()[:, :3], colors(labels))
        np.testing.assert_allclose(by_task[k].get_facecolor()[:, :3], colors([k] * len(labels)))
        easy = easiness(model.losses_, model.fitted_.rows.tasks)[model.fitted_.rows.map_rows][codes == k]
        np.testing.assert_allclose(by_easiness[k].get_array(), easy)


def test_some_tasks_stand_out(model):
    ax = plot_tasks(model, tasks=["Paris"])
    hidden, shown = (len(points.get_offsets()) for points in ax.collections)
    assert (hidden, shown) == (90, 30)
    assert in_legend(ax)[-2:] == ["Paris", "other tasks"]
    assert len(plot_tasks(model, tasks="Paris").collections) == 2


def test_a_map_of_one_direction_shows_the_distance(flat):
    ax = plot_tasks(flat)
    drawn = np.concatenate([np.asarray(points.get_offsets()) for points in ax.collections])
    np.testing.assert_allclose(np.sort(drawn[:, 1]), np.sort(np.sqrt(flat.losses_)))
    assert "distance" in ax.get_ylabel()
    assert in_legend(ax)[-2:] == ["task 0", "task 1"]


def test_the_objective_is_drawn_stage_by_stage(model):
    ax = plot_objective(model)
    for line, trace in zip(ax.lines, model.objective_trace_, strict=True):
        np.testing.assert_allclose(line.get_ydata(), trace)
    np.testing.assert_array_equal(np.concatenate([line.get_xdata() for line in ax.lines]), 1 + np.arange(model.n_iter_))
    assert texts(ax) == ["warm-up", "50 %", "60 %", "70 %", "80 %", "90 %", "100 %"]


@pytest.mark.parametrize("by_task", [False, True])
def test_the_pace_adds_up(model, by_task):
    ax = plot_pace(model, by_task=by_task)
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(3, len(model.fitted_.rows.fractions), -1)
    np.testing.assert_allclose(heights.sum(axis=0), 100)
    for k in range(heights.shape[2]):
        own = model.fitted_.rows.weights[:, model.fitted_.rows.tasks == k] if by_task else model.fitted_.rows.weights
        np.testing.assert_allclose(heights[0, :, k], 100 * (own == 1).mean(axis=1))
        np.testing.assert_allclose(heights[2, :, k], 100 * (own == 0).mean(axis=1), atol=1e-12)
    assert in_legend(ax) == ["full weight", "partial", "none"]


def test_cluster_sizes_are_shares_of_tasks(model):
    ax = plot_cluster_sizes(model)
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(3, 4)
    np.testing.assert_allclose(heights, 100 * model.cluster_sizes_ / model.cluster_sizes_.sum(axis=1, keepdims=True))


def test_a_cluster_that_a_task_lacks_is_marked():
    X, y, tasks = make_multitask_blobs(60, 6, n_tasks=3, n_clusters=3, separation=12, random_state=0)
    kept = ~((tasks == 1) & (y == 2))
    model = LabelDescription().fit(X[kept], y[kept], tasks=tasks[kept])
    assert model.fitted_.support[1, 2] < 0.5
    ax = plot_cluster_sizes(model)
    assert [line.get_xdata().tolist() for line in ax.lines] == [pytest.approx([2])]
    assert in_legend(ax) == ["task 0", "task 1", "task 2", "absent"]


def test_relatedness_has_numbers_and_names(model):
    ax = plot_relatedness(model)
    np.testing.assert_allclose(ax.images[0].get_array(), model.task_relatedness_)
    assert texts(ax) == [f"{value:.2f}" for value in model.task_relatedness_.ravel()]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["Berlin", "Paris", "Rome"]


def test_tasks_that_cannot_be_compared_have_no_number():
    X, y, tasks = make_multitask_blobs(60, 6, n_tasks=3, n_clusters=3, separation=12, random_state=0)
    kept = (tasks != 1) | (y == 0)
    model = LabelDescription().fit(X[kept], y[kept], tasks=tasks[kept])
    found = texts(plot_relatedness(model))
    assert [i for i, told in enumerate(found) if told == "–"] == [1, 3, 5, 7]


def test_private_clusters_have_a_star():
    X, y, tasks = make_multitask_blobs(60, 6, n_tasks=2, n_clusters=3, separation=12, random_state=0)
    kept = (tasks == 0) | (y != 1)
    ax = plot_cluster_sizes(SPMTC(3, random_state=0).fit(X[kept], tasks=tasks[kept]))
    assert in_legend(ax) == ["task 0", "task 1", "absent", "private"]
    assert [line.get_marker() for line in ax.lines] == ["*", "x"]


TABLE = Table(
    n_clusters=[1, 2, 3, 4],
    stability=[1.0, 0.7, 1.0, 0.8],
    weakest=[1.0, 0.6, 1.0, 0.5],
    between=[np.nan, 0.9, 0.1, 1.0],
    silhouette=[np.nan, 0.4, 0.9, 0.6],
    reference=[np.nan, 0.5, 0.3, 0.4],
    supported=[False, False, True, False],
)


def selected(n_clusters):
    return Selection(n_clusters, [3], "a reason", TABLE, Table(coarse=[], fine=[], parent=[], child=[], share=[]))


def test_a_selection_is_drawn_from_itself_or_its_table():
    found = selected(3)
    for ax in (found.plot(), plot_selection(found)):
        assert "suggested: 3" in texts(ax)
        dashed, sharp, *_ = ax.lines
        np.testing.assert_allclose(sharp.get_ydata(), [0.4, 0.9, 0.6])
        assert dashed.get_linestyle() == "--"
        np.testing.assert_allclose(dashed.get_ydata(), [0.5, 0.3, 0.4])
        filled = next(line for line in ax.lines if line.get_label() == "supported")
        assert list(filled.get_xdata()) == [3]
        assert in_legend(ax) == ["data without clusters", "supported", "not supported"]
    pd = pytest.importorskip("pandas")
    for alone in (TABLE, pd.DataFrame(TABLE)):
        assert texts(plot_selection(alone)) == []
    assert "suggested" not in " ".join(texts(selected(None).plot()))
    for wrong in (3, {"stability": [1]}, None):
        with pytest.raises(TypeError, match="a result of select_n_clusters"):
            plot_selection(wrong)


def test_one_group_is_marked_where_it_is_suggested():
    ax = selected(1).plot()  # no silhouette, so no point
    assert ax.get_title() == "suggested: 1"
    assert texts(ax) == []


@pytest.fixture(scope="module")
def sure(model):
    X, _, tasks = make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=4, random_state=0)
    return stability(model, X, tasks=np.array(["Berlin", "Paris", "Rome"])[tasks], n_refits=4, random_state=0)


@pytest.mark.filterwarnings("error::UserWarning")
def test_stability_is_drawn_with_its_verdict_and_that_of_data_without_clusters(sure, tmp_path):
    for ax in (sure.plot(), plot_stability(sure)):
        assert ax.get_title() == f"how sure: {sure.verdict}"
        heights = [bar.get_height() for bar in ax.containers[0]]
        np.testing.assert_allclose(heights, sure.cluster_stability)
        [line] = ax.lines
        assert set(line.get_ydata()) == {sure.overall}
        band = next(patch for patch in ax.patches if patch.get_label().startswith("all rows, data"))
        ends = band.get_y(), band.get_y() + band.get_height()
        np.testing.assert_allclose(ends, [sure.reference.min(), sure.reference.max()])
        assert saved(ax, tmp_path) > 1000
    with pytest.raises(TypeError, match=r"a result of mtcluster\.model_selection\.stability; got float"):
        plot_stability(0.9)


def test_a_cluster_without_rows_has_no_bar(sure):
    values = np.r_[sure.cluster_stability[:3], np.nan]
    heights = [bar.get_height() for bar in plot_stability(replace(sure, cluster_stability=values)).containers[0]]
    assert heights[3] == 0


def test_colors_differ_and_begin_with_those_for_the_color_blind():
    found = colors(range(21))
    assert len(np.unique(np.round(found, 3), axis=0)) == 21
    assert matplotlib.colors.to_hex(found[0]).upper() == "#0072B2"
    np.testing.assert_allclose(colors([22]), found[[1]])


def test_labels_of_another_clusterer_are_drawn(blobs):
    X, _, tasks = blobs
    labels = Pooled(KMeans(4, random_state=0)).fit(X, tasks=tasks).labels_
    described = LabelDescription("k-means").fit(X, labels, tasks=tasks)
    assert len(plot_tasks(described, color="easiness").collections) > 0
    assert plot_relatedness(described).images
    for plot in (plot_objective, plot_pace):
        with pytest.raises(ValueError, match=r"stages of a fit, and LabelDescription has none"):
            plot(described)


@pytest.mark.dask
def test_dask_arrays_are_drawn(blobs):
    da = pytest.importorskip("dask.array")
    X, _, tasks = blobs
    model = LSSMTC(4, within_weight=0.5, random_state=0).fit(da.from_array(X, chunks=(50, -1)), tasks=tasks)
    assert len(plot_tasks(model).texts) == 4
    assert len(plot_pace(model, by_task=True).patches) == 9


@pytest.mark.parametrize("plot", OF_A_MODEL)
def test_models_that_cannot_be_drawn_are_refused(blobs, plot):
    with pytest.raises(NotFittedError):
        plot(SPMTC(4))
    with pytest.raises(TypeError, match=r"plot_\w+ needs a fitted .*; got Pooled.*inspection\.LabelDescription"):
        plot(Pooled(KMeans(4, random_state=0)).fit(blobs.X, tasks=blobs.tasks))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"color": "labels"}, "color='labels' should be 'cluster', 'task' or 'easiness'"),
        ({"axes": (0, 0)}, "two different columns of the map, from 0 to 3"),
        ({"axes": (0, 4)}, "two different columns of the map, from 0 to 3"),
        ({"axes": (0, -1)}, "two different columns"),
        ({"axes": (0, 1.5)}, "two different columns"),
        ({"axes": 1}, "two different columns"),
        ({"axes": (0, 1, 2)}, "two different columns"),
        ({"axes": "xy"}, "two different columns"),
        ({"tasks": ["Oslo", "Rome"]}, r"tasks=\['Oslo'\] should be tasks of the fit: choose from \['Berlin'"),
        ({"tasks": []}, r"tasks=\[\] should be tasks of the fit"),
    ],
)
def test_wrong_arguments_are_named(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_tasks(model, **arguments)


def test_a_map_of_one_direction_has_no_other_axes(flat):
    with pytest.raises(ValueError, match="the map has one direction"):
        plot_tasks(flat, axes=(1, 0))


def test_without_matplotlib_it_is_said_how_to_get_it(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for plot in OF_A_MODEL:
        with pytest.raises(ImportError, match=r"pip install 'mtcluster\[plot\]'"):
            plot(model)


def test_a_picture_leaves_the_model_alone(model):
    before = pickle.dumps(model)
    for plot in OF_A_MODEL:
        plot(model)
    assert pickle.dumps(model) == before


@pytest.fixture(scope="module")
def with_gaps():
    """Models whose labels hold -1: of rows without any value, flagged by adapt, and of another clusterer."""
    X, y, tasks = make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=4, separation=9, random_state=0)
    noise = LabelDescription("DBSCAN").fit(X, np.where(np.arange(len(X)) % 9 == 0, -1, y), tasks=tasks)
    far = X[tasks == 2] + 60 * (np.arange(50) < 3)[:, None]
    flagged = SPMTC(4, random_state=0).fit(X[tasks < 2], tasks=tasks[tasks < 2]).adapt(far, tasks=[2] * 50)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[[7, 50]] = np.nan
    with pytest.warns(UserWarning, match="no value at all"):
        empty = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    return {"empty": empty, "flagged": flagged, "noise": noise}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draw", OF_A_MODEL)
@pytest.mark.parametrize("kind", ["empty", "flagged", "noise"])
def test_rows_without_a_cluster_can_be_drawn(draw, kind, with_gaps, tmp_path):
    shown = with_gaps[kind]
    assert (shown.labels_ < 0).any()
    if kind == "noise" and draw in (plot_objective, plot_pace):
        with pytest.raises(ValueError, match="stages"):
            draw(shown)
        return
    assert saved(draw(shown), tmp_path) > 5000


@pytest.mark.parametrize("kind", ["empty", "flagged", "noise"])
def test_rows_without_a_cluster_are_grey_and_have_no_number(kind, with_gaps):
    shown = with_gaps[kind]
    ax = plot_tasks(shown)
    assert texts(ax) == [str(j) for j in np.unique(shown.labels_) if j >= 0]
    on_map = bool(np.any(shown.labels_[shown.fitted_.rows.map_rows] < 0))
    assert ("no cluster (-1)" in in_legend(ax)) == on_map == (kind == "flagged")
    assert np.ptp(colors([-1])[0]) < 0.1
    assert colors([-1]).tolist() != colors([20]).tolist()


def test_silhouettes_are_those_of_the_map(model):
    from sklearn.metrics import silhouette_samples

    ax = plot_silhouette(model)
    values = silhouette_samples(model.fitted_.rows.map, model.labels_)
    widths = np.array([bar.get_width() for bar in ax.patches])
    np.testing.assert_allclose(np.sort(widths), np.sort(values))
    assert texts(ax) == ["0", "1", "2", "3"]
    with pytest.raises(ValueError, match="two clusters with rows"):
        plot_silhouette(LabelDescription().fit(np.arange(6.0)[:, None], np.zeros(6, dtype=int)))
    with pytest.raises(ValueError, match="two clusters with rows"):
        plot_dendrogram(LabelDescription().fit(np.arange(6.0)[:, None], np.zeros(6, dtype=int)))


def test_near_clusters_merge_first():
    X = np.array([0.0, 0.1, 10.0, 10.1, 11.0, 11.1])[:, None]
    ax = plot_dendrogram(LabelDescription().fit(X, np.repeat([0, 1, 2], 2)))
    assert {tick.get_text() for tick in ax.get_xticklabels()[1:]} == {"1", "2"}


def test_the_heat_map_has_the_effect_sizes_of_the_rows():
    X = np.array([[0.0, 0], [1, 1], [10, 0], [11, 1]])
    ax = plot_features(LabelDescription().fit(X, [0, 0, 1, 1]), X=X, feature_names=["apart", "same"])
    drawn = ax.images[0].get_array()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["apart", "same"]
    assert drawn[0, 1] == -drawn[0, 0] > 5
    np.testing.assert_allclose(drawn[1], 0, atol=1e-12)


def test_bands_tell_where_rows_went():
    ax = plot_flow(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    assert len(ax.collections) == 3
    assert texts(ax) == ["0", "1", "0", "1"]
    with pytest.raises(ValueError, match="two labels for each row"):
        plot_flow([0, 1], [0])
    with pytest.raises(TypeError, match="changes_"):
        plot_flow(LabelDescription().fit(np.arange(6.0)[:, None], np.zeros(6, dtype=int)))


def test_rows_are_embedded_without_their_clusters(model, tmp_path):
    X = make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=4, random_state=0).X
    ax = plot_embedding(model, X, method="tsne")
    assert len(ax.collections[0].get_offsets()) == 120
    assert in_legend(ax) == [f"cluster {j}" for j in range(4)]
    assert saved(ax, tmp_path) > 1000
    with pytest.raises(ValueError, match="should be 'auto', 'umap' or 'tsne'"):
        plot_embedding(model, X, method="pca")
    with pytest.raises(ValueError, match="X has 2 rows"):
        plot_embedding(model, X[:2])
