"""The phase diagram: joint accuracy of each method by the share of absent clusters and the offset of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .figures import make_axes
from .generated import ABSENT, OFFSETS, PHASE, cell
from .integration_methods import METHODS
from .results import mean, select
from .runs import Row


def draw(rows: Sequence[Row], folder: Path) -> None:
    """Write the figure, as PNG and SVG, if the rows hold the phase diagram."""
    import matplotlib

    folder.mkdir(exist_ok=True)
    figure = _phase([row for row in rows if row.data_set in PHASE])
    if figure is not None:
        figure.savefig(folder / "phase.png", dpi=150, bbox_inches="tight")
        with matplotlib.rc_context({"svg.hashsalt": "phase"}):  # the same rows, the same file
            figure.savefig(folder / "phase.svg", bbox_inches="tight", metadata={"Date": None})


def _phase(rows: Sequence[Row]) -> Any:
    methods = [method for method in METHODS if select(rows, method=method)]
    if not methods:
        return None
    figure, axes = make_axes(len(methods), width=3.4, height=2.6, columns=3)
    for ax, method in zip(axes, methods, strict=True):
        _panel(ax, method, select(rows, method=method))
    figure.suptitle("Joint accuracy, %. Hatched: tasks are not linked by two common clusters; not judged.")
    return figure


def _panel(ax: Any, method: str, rows: Sequence[Row]) -> None:
    from matplotlib.patches import Rectangle

    for i, absent in enumerate(ABSENT):
        for j, offset in enumerate(OFFSETS):
            own = select(rows, data_set=cell(absent, offset))
            if not own:
                continue
            value, judged = mean(own, "joint_rows"), min(row.linked for row in own) == 1
            corner, shade = (j - 0.5, i - 0.5), _color(value)
            ax.add_patch(Rectangle(corner, 1, 1, facecolor=shade, edgecolor="#fff"))
            if not judged:
                ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="#8888", hatch="////", linewidth=0))
            ink, around = ("#fff" if value < 60 else "#000"), {"facecolor": shade, "edgecolor": "none", "pad": 1}
            ax.text(j, i, f"{value:.0f}", ha="center", va="center", color=ink, fontsize=9, bbox=around)
    ax.set_xticks(range(len(OFFSETS)), [f"{offset:g}" for offset in OFFSETS])
    ax.set_yticks(range(len(ABSENT)), [f"{absent:g}" for absent in ABSENT])
    ax.set(
        title=method, xlabel="offset", ylabel="absent", xlim=(-0.5, len(OFFSETS) - 0.5), ylim=(-0.5, len(ABSENT) - 0.5)
    )


def _color(value: float) -> Any:
    """From dark (20 %) to light (100 %), ordered also without colour vision."""
    from matplotlib import colormaps

    return colormaps["cividis"](min(max((value - 20) / 80, 0), 1))
