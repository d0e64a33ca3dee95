"""Figures of the paper's benchmark, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .methods import SHARED
from .paper import COMPONENTS
from .results import group, mean, select
from .runs import Row
from .views import OUTLIERS

COLORS = dict(zip(SHARED, ("#0072B2", "#E69F00", "#009E73"), strict=True))  # distinguishable with colour blindness
MARKERS = dict(zip(SHARED, "os^", strict=True))


def draw(rows: Sequence[Row], folder: Path) -> None:
    """Write every figure that the rows allow."""
    import matplotlib

    folder.mkdir(exist_ok=True)
    for name, figure in (("subspace", _subspace(rows)), ("within_weight", _within(rows)), ("noise", _noise(rows))):
        if figure is not None:
            figure.savefig(folder / f"{name}.png", dpi=150, bbox_inches="tight")
            with matplotlib.rc_context({"svg.hashsalt": name}):  # the same rows, the same file
                figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})


def make_axes(n: int, width: float = 3.4, height: float = 3.0, columns: int = 3) -> tuple[Any, list[Any]]:
    """A figure with n axes."""
    from matplotlib.figure import Figure

    columns = min(n, columns)
    lines = -(-n // columns)
    figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
    return figure, [figure.add_subplot(lines, columns, i + 1) for i in range(n)]


def _legend(figure: Any, ax: Any) -> Any:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _line(ax: Any, rows: Sequence[Row], x: str, metric: str, upto: Sequence[float] = ()) -> None:
    """Means over runs and tasks by the values of a field, one line per method; the last value extends over `upto`."""
    for method in SHARED:
        points = {
            float(str(value)): mean(part, metric) for (value,), part in group(select(rows, method=method), x).items()
        }
        if not points:
            continue
        points |= dict.fromkeys((value for value in upto if value > max(points)), points[max(points)])
        xs = sorted(points)
        style = {"color": COLORS[method], "marker": MARKERS[method], "markersize": 4, "label": method}
        ax.plot(xs, [points[value] for value in xs], **style)


def _subspace(rows: Sequence[Row]) -> Any:
    own = select(rows, study="subspace")
    if not own:
        return None
    sets = sorted({row.data_set for row in own})
    figure, axes = make_axes(2 * len(sets), columns=2, width=4.2)
    for i, data_set in enumerate(sets):
        here = select(own, data_set=data_set)
        c = max(row.n_components for row in here)
        for j, metric in enumerate(("acc", "nmi")):
            ax = axes[2 * i + j]
            _line(ax, here, "n_components", metric, upto=COMPONENTS)
            ax.axvspan(c, max(COMPONENTS), color="#8882", lw=0)
            ax.set_xscale("log", base=2)
            ticks = sorted({*(row.n_components for row in here), *COMPONENTS})
            ax.set_xticks(ticks, [str(tick) for tick in ticks])
            ax.set(
                title=f"{data_set} (grey: one model)",
                xlabel="dimension l of the subspace",
                ylabel=f"{metric.upper()}, %",
            )
    return _legend(figure, axes[0])


def _within(rows: Sequence[Row]) -> Any:
    own = [row for row in select(rows, study="main", protocol="paper", features="raw") if row.within_weight >= 0]
    if not own:
        return None
    sets = list(dict.fromkeys(row.data_set for row in own))
    figure, axes = make_axes(len(sets))
    for ax, data_set in zip(axes, sets, strict=True):
        here = select(own, data_set=data_set)
        _line(ax, select(here, n_components=max(row.n_components for row in here)), "within_weight", "acc")
        ax.set(title=data_set, xlabel="λ1", ylabel="ACC, %")
    return _legend(figure, axes[0])


def _noise(rows: Sequence[Row]) -> Any:
    own = select(rows, study="noise")
    if not own:
        return None
    figure, axes = make_axes(2 * len(OUTLIERS), columns=2, width=4.2)
    for i, kind in enumerate(OUTLIERS):
        here = select(own, outliers=kind)
        _line(axes[2 * i], here, "noise", "acc")
        _line(axes[2 * i + 1], [row for row in here if row.noise > 0], "noise", "auc")
        axes[2 * i].set(title=kind, xlabel="share of outliers", ylabel="ACC of clean rows, %")
        axes[2 * i + 1].set(title=kind, xlabel="share of outliers", ylabel="AUC of score_samples")
        for ax in axes[2 * i : 2 * i + 2]:
            ax.xaxis.set_major_formatter("{x:.0%}")
    return _legend(figure, axes[0])
