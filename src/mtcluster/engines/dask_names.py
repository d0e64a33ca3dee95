"""Names of chunks that are those of one fit alone.

A scheduler remembers what could not be read, with everything that was ever computed from it, as long as anybody has
some of that, a fitted model for instance. Under the names of the user the next fit would be told the old error, and the
values of the model would be lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from dask._task_spec import TaskRef, convert_legacy_graph
from dask.base import clone_key
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph


def renamed(chunks: Sequence[Any], seed: str) -> list[Any]:
    """The same chunks, with new names for all that they are computed from, unless it is on the cluster.

    Parameters
    ----------
    chunks : sequence of Delayed
        Each may have the graph of all.
    seed : str
        The same source has the same name with the same seed, so that it is read once in a call.
    """
    graphs = {id(graph): graph for graph in (chunk.__dask_graph__() for chunk in chunks)}
    graph = HighLevelGraph.merge(*graphs.values()).to_dict()
    there = {key: value for key, value in graph.items() if isinstance(value, TaskRef)}  # futures
    names = {key: clone_key(key, seed) for key in graph if key not in there}
    nodes = convert_legacy_graph({key: graph[key] for key in names}, set(graph))
    tasks = {names[key]: node.substitute(names, key=names[key]) for key, node in nodes.items()}
    layer = f"chunks-{uuid4().hex}"
    whole = HighLevelGraph.from_collections(layer, tasks | there)
    return [Delayed(names.get(chunk.key, chunk.key), whole, layer=layer) for chunk in chunks]
