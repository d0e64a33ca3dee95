"""Fitted models with other values than they were fitted with."""

from copy import copy
from dataclasses import replace

from mtcluster.core.fitted import Fitted
from mtcluster.core.sharing import Share
from mtcluster.estimators.publish import public


def altered(record, **changes):
    """A record with other values; two underscores lead into records in it: `rows__labels`.

    `within` (m,) and `holds` (m, c) are those of its model, which may share by shares alone.
    """
    for name, value in changes.items():
        if isinstance(record, Fitted) and name in ("within", "holds"):
            own = {"sharing": Share.of(value)} if name == "within" else {"holds": value[None]}
            record = replace(record, model=replace(record.model, **own))
            continue
        first, _, rest = name.partition("__")
        record = replace(record, **{first: altered(getattr(record, first), **{rest: value}) if rest else value})
    return record


def changed(model, **changes):
    """A model with other values in what was fitted, and with other attributes, whose names end with "_"."""
    other = copy(model)
    inside = {name: value for name, value in changes.items() if not name.endswith("_")}
    vars(other).update(public(other, altered(model.fitted_, **inside)))
    vars(other).update({name: value for name, value in changes.items() if name.endswith("_")})
    return other
