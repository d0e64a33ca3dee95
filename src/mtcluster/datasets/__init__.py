"""Task sets: generated, embedded in scikit-learn, or read from a data folder."""

from ._blobs import make_multitask_blobs
from ._digits import load_digits_tasks
from ._files import load_task_set
from ._task_set import TaskSet

__all__ = ["TaskSet", "load_digits_tasks", "load_task_set", "make_multitask_blobs"]
