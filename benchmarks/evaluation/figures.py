"""Figures of the paper's evaluation, and the phase diagram, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .data import ABSENT, OFFSETS, OUTLIERS, PHASE, cell
from .integration import METHODS
from .methods import SHARED
from .paper import COMPONENTS

COLORS = dict(zip(SHARED, ("#0072B2", "#E69F00", "#009E73"), strict=True))  # distinguishable with colour blindness
MARKERS = dict(zip(SHARED, "os^", strict=True))


def draw_paper(rows: pd.DataFrame, folder: Path) -> None:
    """Draw every figure of the paper's evaluation that the rows allow."""
    main = rows[(rows["study"] == "main") & (rows["protocol"] == "paper") & (rows["features"] == "raw")]
    _save(folder, "subspace", _subspace, rows[rows["study"] == "subspace"])
    _save(folder, "within_weight", _within, main[main["within_weight"] >= 0])
    _save(folder, "noise", _noise, rows[rows["study"] == "noise"])


def draw_integration(rows: pd.DataFrame, folder: Path) -> None:
    """Draw the phase diagram, if the rows hold it."""
    _save(folder, "phase", _phase, rows[rows["data_set"].isin(PHASE)])


def _save(folder: Path, name: str, draw: Any, own: pd.DataFrame) -> None:
    import matplotlib

    folder.mkdir(exist_ok=True)
    if len(own):
        figure = draw(own)
        figure.savefig(folder / f"{name}.png", dpi=150, bbox_inches="tight")
        with matplotlib.rc_context({"svg.hashsalt": name}):  # the same rows, the same file
            figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})


def _axes(n: int, width: float = 3.4, height: float = 3.0, columns: int = 3) -> tuple[Any, list[Any]]:
    """A figure with n axes."""
    from matplotlib.figure import Figure

    columns = min(n, columns)
    lines = -(-n // columns)
    figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
    return figure, [figure.add_subplot(lines, columns, i + 1) for i in range(n)]


def _with_legend(figure: Any, ax: Any) -> Any:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _lines(ax: Any, own: pd.DataFrame, x: str, metric: str, upto: Sequence[float] = ()) -> None:
    """Means over runs and tasks by the values of a field, one line per method; the last value extends over `upto`."""
    found = own.groupby(["method", x])[metric].mean()
    for method in [one for one in SHARED if one in found.index]:
        points = found[method]
        more = [value for value in upto if value > points.index[-1]]
        style = {"color": COLORS[method], "marker": MARKERS[method], "markersize": 4, "label": method}
        ax.plot([*points.index, *more], [*points, *[points.iloc[-1]] * len(more)], **style)


def _subspace(own: pd.DataFrame) -> Any:
    sets = own.groupby("data_set")
    figure, axes = _axes(2 * len(sets), columns=2, width=4.2)
    for i, (data_set, here) in enumerate(sets):
        found = here["n_components"]
        ticks = sorted({*found, *COMPONENTS})
        for ax, metric in zip(axes[2 * i :], ("acc", "nmi"), strict=False):
            _lines(ax, here, "n_components", metric, upto=COMPONENTS)
            ax.axvspan(found.max(), max(COMPONENTS), color="#8882", lw=0)
            ax.set_xscale("log", base=2)
            ax.set_xticks(ticks, [str(tick) for tick in ticks])
            ax.set(xlabel="dimension l of the subspace", ylabel=f"{metric.upper()}, %")
            ax.set_title(f"{data_set} (grey: one model)")
    return _with_legend(figure, axes[0])


def _within(own: pd.DataFrame) -> Any:
    sets = own.groupby("data_set", sort=False)
    figure, axes = _axes(len(sets))
    for ax, (data_set, here) in zip(axes, sets, strict=True):
        _lines(ax, here[here["n_components"] == here["n_components"].max()], "within_weight", "acc")
        ax.set(title=data_set, xlabel="λ1", ylabel="ACC, %")
    return _with_legend(figure, axes[0])


def _noise(own: pd.DataFrame) -> Any:
    figure, axes = _axes(2 * len(OUTLIERS), columns=2, width=4.2)
    for kind, left, right in zip(OUTLIERS, axes[::2], axes[1::2], strict=True):
        here = own[own["outliers"] == kind]
        _lines(left, here, "noise", "acc")
        _lines(right, here[here["noise"] > 0], "noise", "auc")
        left.set(title=kind, xlabel="share of outliers", ylabel="ACC of clean rows, %")
        right.set(title=kind, xlabel="share of outliers", ylabel="AUC of score_samples")
        for ax in (left, right):
            ax.xaxis.set_major_formatter("{x:.0%}")
    return _with_legend(figure, axes[0])


def _phase(own: pd.DataFrame) -> Any:
    """Joint accuracy of each method by the share of absent clusters and the offset of tasks."""
    found = own.groupby(["method", "data_set"]).agg({"joint_rows": "mean", "linked": "min"})
    methods = [method for method in METHODS if method in found.index]
    figure, axes = _axes(len(methods), height=2.6)
    for ax, method in zip(axes, methods, strict=True):
        _panel(ax, method, found.loc[method])
    figure.suptitle("Joint accuracy, %. Hatched: tasks are not linked by two common clusters; not judged.")
    return figure


def _panel(ax: Any, method: str, found: pd.DataFrame) -> None:
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    cells = [(i, j, cell(absent, offset)) for i, absent in enumerate(ABSENT) for j, offset in enumerate(OFFSETS)]
    for i, j, value, linked in [(i, j, *found.loc[name]) for i, j, name in cells if name in found.index]:
        # From dark (20 %) to light (100 %), ordered also without colour vision.
        shade = colormaps["cividis"](min(max((value - 20) / 80, 0), 1))
        corner = (j - 0.5, i - 0.5)
        ax.add_patch(Rectangle(corner, 1, 1, facecolor=shade, edgecolor="#fff"))
        if linked != 1:
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="#8888", hatch="////", linewidth=0))
        ink, around = ("#fff" if value < 60 else "#000"), {"facecolor": shade, "edgecolor": "none", "pad": 1}
        ax.text(j, i, f"{value:.0f}", ha="center", va="center", color=ink, fontsize=9, bbox=around)
    ax.set_xticks(range(len(OFFSETS)), [f"{offset:g}" for offset in OFFSETS])
    ax.set_yticks(range(len(ABSENT)), [f"{absent:g}" for absent in ABSENT])
    ax.set(xlim=(-0.5, len(OFFSETS) - 0.5), ylim=(-0.5, len(ABSENT) - 0.5))
    ax.set(title=method, xlabel="offset", ylabel="absent")
