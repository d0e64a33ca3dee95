"""Names of chunks: those that Dask mistakes are set right, and those of one fit are its own.

A scheduler remembers what could not be read, with everything that was ever computed from it, as long as anybody has
some of that, a fitted model for instance. Under the names of the user the next fit would be told the old error, and the
values of the model would be lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from dask._task_spec import Alias, TaskRef, convert_legacy_graph
from dask.base import clone_key
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer


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


def sound(graph: HighLevelGraph) -> HighLevelGraph:
    """A graph whose aliases know the names that they have in it; the same if all do.

    The partitions of dd.from_delayed(..., verify_meta=False) are aliases that take themselves for what they stand for.
    Where Dask fuses tasks, it goes by what they think, and what needs them finds nothing, or a circle.
    """
    layers = {name: _sound_layer(layer) for name, layer in graph.layers.items()}
    if all(layer is graph.layers[name] for name, layer in layers.items()):
        return graph
    return HighLevelGraph(layers, graph.dependencies)


def _sound_layer(layer: Layer) -> Layer:
    """Layers that are made when they are needed are sound, and left as they are."""
    if not isinstance(layer, MaterializedLayer):
        return layer
    wrong = {key: node for key, node in layer.items() if isinstance(node, Alias) and node.key != key}
    if not wrong:
        return layer
    right = {key: Alias(key, node.target) for key, node in wrong.items()}
    return MaterializedLayer({**layer, **right}, layer.annotations, layer.collection_annotations)
