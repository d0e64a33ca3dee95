"""What a fit leaves open is decided from the data: the metric, where tasks lie, how much they share, the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from numbers import Real

import numpy as np

from .._utils.tasks import positions
from ..core.arrays import Array, host
from ..core.blocks import PerRow
from ..core.centers import Centers
from ..core.couplings import COUPLINGS, Coupling
from ..core.geometry import Geometry, Tied
from ..core.memberships import MEMBERSHIPS, Membership
from ..core.model import Model, total_loss
from ..core.pacing import Stages
from ..core.readout import read_out
from ..core.sharing import Offsets, Share
from ..core.solver import Fit, side_by_side, solve, still_best
from ..core.starts import STARTS, Start, tried
from ..engines import Engine, engine_of
from ..search import Decisions, Search, SearchResult, Voice
from ..search.view import FEW_COLUMNS, directional, task_offsets
from .input import Given, check_start
from .progress import FitProgress, warn_user

METRICS = ("auto", "shared", "euclidean")
LOOKED_AT = 100  # rows of a task that tell whether sparse rows are counts
IMPOSSIBLE = {
    "coupling": "coupling={0.coupling.name!r}: take coupling='reconstruction'",
    "membership": "membership={0.membership.name!r}: take membership='binary'",
    "subspace": "n_components={0.n_components} below n_clusters={1}: take n_components=None",
    "scale": "task_offset='scale': take task_offset='auto', 'none', 'matched' or 'mean'",
    "gaps": "missing values in more than {2} features: take metric='euclidean', or fill them in",
}
Maker = Callable[[np.random.Generator], PerRow]  # draws starting memberships
Named = tuple[str, str]  # what was chosen, and why
Recommends = Search | Start | type[Start]  # whose numbers stand where a parameter is "auto"
Part = Coupling | Membership | type[Geometry]
DEFAULTS = {"coupling": "reconstruction", "membership": "binary", "covariance_type": "tied"}  # work with everything


@dataclass(frozen=True)
class Asked:
    """What a user asked for, in the words of all estimators; those that lack a parameter have it as here."""

    estimator: str  # the name of the class
    n_clusters: int
    coupling: Coupling = COUPLINGS["reconstruction"]
    membership: Membership = MEMBERSHIPS["binary"]
    membership_set: bool = False  # by the user?
    within_weight: float | str | Array = 0.0
    task_offset: str = "none"
    metric: str = "euclidean"
    n_clusters_per_task: Given = None
    n_components: int | None = None
    init: Given = "auto"
    n_init: int | str = "auto"
    weighting: str | None = None  # None: rows count alike
    shares: bool = True  # may tasks share in part?
    covariance: type[Geometry] = Tied  # of the clusters, where a model has a metric
    always_metric: bool = False  # does the model need a metric, whatever there is to cluster?

    @classmethod
    def of(cls, estimator: object, n_clusters: int, **others: object) -> Asked:
        """Read the parameters of an estimator; `others` stand for those of other names or kinds."""
        own = vars(estimator)
        given = {one.name: own[one.name] for one in fields(cls) if one.name in own}
        membership = given.pop("membership", "auto")
        given |= {"coupling": COUPLINGS[given.get("coupling", "reconstruction")], "n_clusters": n_clusters}
        given["shares"] = "within_weight" in own
        given["membership"] = MEMBERSHIPS["binary" if membership == "auto" else membership]
        return cls(**{"estimator": type(estimator).__name__, "membership_set": membership != "auto"} | given | others)

    @property
    def parts(self) -> dict[str, Part]:
        """The exchangeable parts, by the parameters that name them."""
        return {"coupling": self.coupling, "membership": self.membership, "covariance_type": self.covariance}

    @property
    def search(self) -> Search:
        """How the start is searched."""
        return self.init if isinstance(self.init, Search) else Search()

    @property
    def undecided(self) -> bool:
        """Whether it is left open how much tasks share."""
        return isinstance(self.within_weight, str)

    @property
    def searched(self) -> bool:
        """Whether the fit starts from a search."""
        named = self.init if isinstance(self.init, str) else ""
        return isinstance(self.init, Search) or named == "search" or (self.undecided and named == "auto")

    def plain_model(self, n_features: int) -> Model:
        """Return the model before anything is decided."""
        share = self.search.within_weight if isinstance(self.within_weight, str) else self.within_weight
        n_components = self.n_components or min(self.n_clusters, n_features)
        return Model(self.n_clusters, Share.of(share), n_components, self.coupling, self.membership)


@dataclass(frozen=True)
class Plan:
    """A fit of which nothing is left open."""

    model: Model
    decisions: Decisions
    makers: list[tuple[str, Maker]]  # names of the starts, and what draws them
    lead: Recommends  # the kind of start that the fit follows
    support: Array | None  # (m, c) evidence that a task holds a cluster; None: nobody asked


@dataclass(frozen=True)
class Earlier:
    """What an earlier fit has to say: labels of a sample, and of all rows as so many clusters as are fitted."""

    voice: Voice
    start: Callable[[Engine, Model, np.random.Generator], PerRow]


def make_plan(
    asked: Asked, engine: Engine, random_state: np.random.RandomState, earlier: Earlier | None = None
) -> Plan:
    """Settle what is left open, from the data; an earlier fit has a voice."""
    how, model = asked.search, asked.plain_model(engine.n_features)
    metric, reason = metric_of(asked, engine)
    offset, why = _offset_asked(asked, engine)
    per_task = clusters_per_task(asked.n_clusters_per_task, asked.n_clusters, engine.labels)
    if per_task is not None and not asked.searched:
        raise ValueError("n_clusters_per_task needs a search: init='search', or 'auto' with within_weight='auto'.")
    if offset in ("mean", "scale"):
        model = replace(model, offsets=task_offsets(engine, offset))
    elif offset == "matched":
        model = replace(model, offsets=Offsets.none(free=True))
    n_tries, result = _or(asked.n_init, how.n_init) if asked.searched else 1, None
    if asked.undecided or asked.searched:
        voice = None if earlier is None else earlier.voice
        find = partial(
            how.find, engine, model, offset=offset, metric="auto" if reason == "default" else metric, per_task=per_task,
            random_state=random_state, voice=voice,
        )  # fmt: skip
        result = max((find() for _ in range(n_tries)), key=lambda one: one.evidence.gain)
        model = _decided(asked, model, result)
        if metric == "shared" and not model.geometry.estimated:  # what was found there is no ellipse
            metric, reason = "euclidean", "neighbours"
    elif metric == "shared":
        model = how.metric(engine, model, random_state)
    if offset == "auto":
        offset = "matched" if model.offsets.free.any() else "none"
    makers, lead = _starts(asked, engine, model, how, result if asked.searched else None, earlier)
    decisions = Decisions(
        start=" and ".join(dict.fromkeys(name for name, _ in makers)),
        n_starts=n_tries if asked.searched else len(makers),
        coupling=model.coupling.name,
        membership=model.membership.name,
        membership_reason="set" if asked.membership_set else "default",
        within_weight_reason=_reason_of_share(asked, engine, model),
        task_offset=offset,
        task_offset_reason=why,
        metric=metric,
        metric_reason=reason,
        search=None if result is None else result.evidence,
    )
    return Plan(model, decisions, makers, lead, result.support if result is not None and asked.searched else None)


def _or(value: int | str, recommended: int) -> int:
    return recommended if isinstance(value, str) else value


def _decided(asked: Asked, plain: Model, result: SearchResult) -> Model:
    """Return the model with what a search decided."""
    model = result.model
    if not asked.searched:  # clusters of other starts have other numbers
        model = replace(model, holds=plain.holds, log_shares=None)
    if not (asked.undecided and model.coupling.supports.task_shares):
        model = replace(model, sharing=plain.sharing)
    return model


def _reason_of_share(asked: Asked, engine: Engine, model: Model) -> str:
    """Tell where λ1 comes from."""
    if not asked.shares:
        return "none"
    if not asked.undecided:
        return "set"
    if len(engine.labels) == 1:
        return "one task"
    return "evidence" if model.coupling.supports.task_shares else "coupling"


def _offset_asked(asked: Asked, engine: Engine) -> Named:
    """Tell how the location of tasks is treated, and why; "auto": it is left to the evidence."""
    if asked.task_offset != "auto":
        return asked.task_offset, "set"
    if len(engine.labels) == 1:
        return "none", "one task"
    if not asked.undecided:
        return "none", "fixed within_weight"
    if directional(engine.summary):
        return "none", "unit rows"
    able = asked.coupling.supports.offsets and asked.membership.supports.offsets
    return ("auto", "evidence") if able else ("none", "unsupported")


def _starts(
    asked: Asked, engine: Engine, model: Model, how: Search, result: SearchResult | None, earlier: Earlier | None
) -> tuple[list[tuple[str, Maker]], Recommends]:
    """Return names of the starts and what draws them, and the kind of start that the fit follows where left open."""
    if result is not None:
        seen = result.evidence
        how = replace(how, full_weight_share=how.full_weight_share * (1 - seen.n_distant_rows / seen.n_rows))
        return [("search", partial(_given, result.labels))], how
    if not isinstance(asked.init, str):
        return [("given", partial(_given, _given_start(asked, engine, model)))], Start
    kinds = tried(len(engine.labels)) if asked.init == "auto" else [asked.init]
    lead = STARTS[kinds[0]]
    n_init = (model.coupling.n_init or lead.n_init) if isinstance(asked.n_init, str) else asked.n_init
    makers: list[tuple[str, Maker]] = [(kind, partial(STARTS[kind], engine, model)) for kind in kinds * n_init]
    if earlier is not None:
        makers.append(("previous", partial(earlier.start, engine, model)))
    return makers, lead


def _given_start(asked: Asked, engine: Engine, model: Model) -> PerRow:
    """Return the memberships that were passed as `init`."""
    wanted, shape = (sum(engine.sizes), model.n_clusters), getattr(asked.init, "shape", np.shape(asked.init))
    if tuple(shape) != wanted:
        raise ValueError(f"init has shape {tuple(shape)}, but memberships of shape {wanted} are needed.")
    check = partial(check_start, dtype=engine.dtype, labels_only=model.membership.labels_only)
    if not model.membership.diagonal and engine_of(asked.init) is None and bool(np.any(host(asked.init) == 0)):
        warn_user("init holds zeros, which membership='nonnegative' never leaves: add a small number such as 0.2.")
    return engine.split(asked.init, check)


def _given(Ps: PerRow, rng: np.random.Generator) -> PerRow:
    """Make a start that is there already."""
    return Ps


# ------------------------------------------------------------------------------------------------ the metric
def metric_of(asked: Asked, engine: Engine) -> Named:
    """Choose the metric of the fit, and say why it is that one."""
    obstacle = _obstacle(asked, engine)
    if asked.metric == "shared":
        if obstacle:
            why = IMPOSSIBLE[obstacle].format(asked, asked.n_clusters, FEW_COLUMNS)
            if asked.always_metric:
                raise ValueError(
                    f"{asked.estimator} cannot work with {why.partition(':')[0]}: fill them in, or take SPMTC."
                )
            raise ValueError(f"metric='shared' cannot go with {why}.")
        return "shared", "set"
    if asked.metric == "euclidean":
        return "euclidean", "set"
    if obstacle:
        return "euclidean", obstacle
    if directional(engine.summary):
        return "euclidean", "unit rows"
    if not asked.undecided:
        return "euclidean", "fixed within_weight"
    if engine.summary.entries.shape[1] > 1 and _counts(engine):  # entries are counted of sparse rows alone
        return "euclidean", "counts"
    return "shared", "default"


def _counts(engine: Engine) -> bool:
    """Tell whether some rows of each task hold whole numbers alone: clusters of counts are far from elliptical."""
    some = engine.take([np.arange(min(int(n), LOOKED_AT)) for n in engine.summary.counting])
    return all(bool(np.all(block.X.data == np.round(block.X.data))) for block in some)


def _obstacle(asked: Asked, engine: Engine) -> str:
    """Tell what makes a shared metric impossible; nothing: ""."""
    if not asked.coupling.free_origin:
        return "coupling"
    if not asked.membership.diagonal:
        return "membership"
    least = min(asked.n_clusters, engine.n_features)
    if asked.n_components is not None and asked.n_components < least:
        return "subspace"
    if asked.task_offset == "scale":
        return "scale"
    wide = min(engine.n_features, sum(engine.sizes)) > FEW_COLUMNS
    return "gaps" if engine.gaps and wide else ""


def clusters_per_task(value: Given, n_clusters: int, labels: Array) -> Array | None:
    """Read the number of clusters of each task, in the order of `tasks_`, as the user gave it."""
    if value is None:
        return None
    names = labels.tolist()
    if isinstance(value, Mapping):
        missing = [name for name, at in zip(names, positions(names, list(value)), strict=True) if at is None]
        unknown = [name for name, at in zip(value, positions(list(value), names), strict=True) if at is None]
        if missing or unknown:
            lacks = f"lacks task {missing[0]!r}" if missing else f"holds {unknown[0]!r}, which is no task"
            raise ValueError(f"n_clusters_per_task {lacks}: a number for each of {names} is needed.")
        value = [value[name] for name in names]
    try:
        numbers = list(value)
    except TypeError as error:
        raise ValueError(f"n_clusters_per_task={value!r} should be a number for each of the tasks {names}.") from error
    if len(numbers) != len(names):
        raise ValueError(
            f"n_clusters_per_task has {len(numbers)} entries, but there are {len(names)} tasks: one per task, in the "
            f"order {names}, is needed."
        )
    for name, number in zip(names, numbers, strict=True):
        if not isinstance(number, Real) or float(number) not in range(1, n_clusters + 1):
            raise ValueError(
                f"n_clusters_per_task of task {name!r} is {number!r}; a whole number from 1 to n_clusters={n_clusters} "
                "is needed."
            )
    if sum(numbers) < n_clusters:
        raise ValueError(
            f"n_clusters_per_task adds up to {sum(numbers)}, below n_clusters={n_clusters}: some cluster would be in "
            "no task. n_clusters counts the clusters of all tasks together."
        )
    return np.array(numbers, dtype=int)


# ------------------------------------------------------------------------------------------------ what cannot be
def check_sizes(asked: Asked, engine: Engine) -> None:
    """Refuse numbers of clusters and components that the rows and features cannot have."""
    d, l, c, n = engine.n_features, asked.n_components, asked.n_clusters, sum(engine.sizes)
    if n < c:
        raise ValueError(f"n_samples={n} should be >= n_clusters={c}: take fewer clusters.")
    if l is not None and l > d:
        raise ValueError(f"n_components={l} should be at most the number of features of X, {d}.")
    l = d if l is None else l
    room, of = (d, "feature(s)") if asked.within_weight != 0 or l >= d else (l, "component(s)")
    if asked.membership.name == "nonnegative" and room < c:
        warn_user(
            f"membership='nonnegative' with {room} {of} and {c} clusters: with fewer {of} than clusters a row can "
            "be fitted in many ways, and clusters mean little. membership='binary' is right here."
        )


def check_capabilities(asked: Asked, engine: Engine) -> None:
    """Refuse what a part of the model cannot work with, made from what it says it can."""
    check_missing(engine, asked.parts)
    order = min(sum(engine.sizes), engine.n_features)
    for parameter, part in asked.parts.items():
        can, name = part.supports, f"{parameter}={part.name!r}"
        if asked.task_offset not in ("auto", "none") and not can.offsets:
            raise ValueError(f"task_offset={asked.task_offset!r} cannot go with {name}: take task_offset='none'.")
        if not all(getattr(can, need) for need in engine.needs):
            raise ValueError(
                f"{name} works on NumPy arrays in one process only: take {parameter}={DEFAULTS[parameter]!r}, or "
                f"{engine.instead}."
            )
        if can.max_features is not None and engine.n_features > can.max_features:
            raise ValueError(
                f"{name} works on at most {can.max_features} features, and X has {engine.n_features}: take "
                f"{parameter}={DEFAULTS[parameter]!r}, or reduce X before, as PCA does."
            )
        if can.max_order is not None and order > can.max_order:
            raise ValueError(
                f"{name} needs a dense eigenproblem of order min(rows, features) = {order}, and at most "
                f"{can.max_order} is allowed; {parameter}={DEFAULTS[parameter]!r} has no such limit."
            )


def check_missing(engine: Engine, parts: dict[str, Part]) -> None:
    """Refuse missing values that a part of the model cannot work with; rows are read only if there is such a part."""
    for parameter, part in parts.items():
        if not part.supports.missing and engine.gaps:
            raise ValueError(
                f"{parameter}={part.name!r} cannot work with missing values, and X holds {engine.summary.gaps} (NaN): "
                f"take {parameter}={DEFAULTS[parameter]!r}, or fill them in."
            )


# ------------------------------------------------------------------------------------------------ several starts
@dataclass(frozen=True)
class Run:
    """A fit, and what is read off its centres, in the type of the data."""

    fit: Fit
    centers: Centers
    memberships: PerRow
    losses: PerRow
    total: float  # Σ L over all rows, and N log|S| with a metric: what starts are compared by


def best_of(
    rows: Engine, model: Model, pace: Stages, makers: Sequence[Maker], *, random_state: np.random.RandomState,
    progress: FitProgress,
) -> Run:  # fmt: skip
    """The run of lowest Σ L over all rows; seeds are drawn beforehand, so that it does not matter which go together."""
    seeds = random_state.randint(np.iinfo(np.int32).max, size=len(makers))
    best: list[Run] = []
    for group in side_by_side(rows, model, len(makers)):
        starts = [makers[i](np.random.default_rng(seeds[i])) for i in group]
        watches = [progress.start(i) for i in group]
        fits = solve(rows, model, pace, starts, watches)
        for watch in watches:
            watch.end()
        for run in _runs(rows, model, fits):  # keep no more than may still be the best
            best = still_best([*best, run], lambda kept: kept.total)
    return best[0]


def _runs(rows: Engine, model: Model, fits: list[Fit]) -> Iterator[Run]:
    for fit in fits:
        centers = fit.centers.astype(rows.dtype)
        memberships, losses, _ = rows.apply(partial(read_out, model=model, centers=centers), outputs=2)
        volume = float(model.log_volume(centers.take("R", None))[0]) * float(rows.summary.sizes.sum())
        yield Run(fit, centers, memberships, losses, total_loss(rows, losses) + volume)
