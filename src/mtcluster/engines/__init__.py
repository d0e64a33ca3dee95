"""Where the rows of a fit live, and who works on them: threads of this process, or a Dask cluster."""

from .base import ENGINES, DaskClusterError, Engine, bring_here, engine_of
from .local import LocalData, LocalEngine

__all__ = ["ENGINES", "DaskClusterError", "Engine", "LocalData", "LocalEngine", "bring_here", "engine_of"]
