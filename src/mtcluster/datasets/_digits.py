"""scikit-learn's digits as tasks."""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from sklearn.datasets import load_digits

from ._task_set import TaskSet


def load_digits_tasks(slant: float = 0.15) -> TaskSet:
    """scikit-learn's handwritten digits as three related tasks, each with its own rows.

    The images are distributed over three "scanners": one leaves them as they are, one blurs and one slants them. The
    digits are the same, the pixels differ.

    Parameters
    ----------
    slant : float, default=0.15
        Columns by which the third scanner moves a line of pixels for each line from the centre. The larger, the less
        the tasks have in common.

    Returns
    -------
    task_set : TaskSet
        1797 rows, 64 pixels between 0 and 1, 10 classes, tasks "plain", "blurred" and "slanted".

    Examples
    --------
    >>> X, y, tasks = load_digits_tasks()
    >>> X.shape, sorted(set(tasks.tolist()))
    ((1797, 64), ['blurred', 'plain', 'slanted'])
    """
    digits = load_digits()
    images = digits.images / 16
    scanner = np.arange(len(images)) % 3
    names = np.array(["plain", "blurred", "slanted"])
    shear = np.array([[1.0, 0.0], [slant, 1.0]])  # columns move with the row, about the centre of the image
    offset = np.array([3.5, 3.5]) - shear @ np.array([3.5, 3.5])
    changes = {
        1: lambda image: ndimage.gaussian_filter(image, 0.8),
        2: lambda image: ndimage.affine_transform(image, shear, offset=offset, order=1),
    }
    X = np.stack(
        [changes[s](image) if s in changes else image for s, image in zip(scanner.tolist(), images, strict=True)]
    )
    return TaskSet(
        X.reshape(len(X), -1), digits.target, names[scanner], "digits",
        [str(name) for name in digits.target_names], [str(name) for name in digits.feature_names],
    )  # fmt: skip
