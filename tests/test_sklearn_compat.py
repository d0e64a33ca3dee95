"""What scikit-learn keeps private, as the library uses it."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from mtcluster import _sklearn_compat
from mtcluster._sklearn_compat import Registered, StrOptions


def test_a_registered_constraint_reads_the_registry_when_it_is_asked():
    registry = {"a": 1}
    constraint = Registered(registry, "auto")
    assert isinstance(constraint, StrOptions)
    assert constraint.is_satisfied_by("a")
    assert constraint.is_satisfied_by("auto")
    assert not constraint.is_satisfied_by("b")
    registry["b"] = 2
    assert constraint.is_satisfied_by("b")
    assert "'b'" in str(constraint)
    del registry["a"], registry["b"]
    assert constraint.options == {"auto"}


@pytest.mark.parametrize("value", [None, 1, np.ones(2), ["a"], b"a"])
def test_only_strings_are_names(value):
    assert not Registered({"a": 1}).is_satisfied_by(value)


def test_the_names_are_those_of_the_registry_whatever_one_sets():
    constraint = Registered({"a": 1})
    constraint.options = {"z"}
    assert constraint.options == {"a"}
    assert pickle.loads(pickle.dumps(constraint)).options == {"a"}


def test_every_name_of_the_door_is_there():
    for name in _sklearn_compat.__all__:
        assert getattr(_sklearn_compat, name) is not None


def test_estimators_are_found_without_other_array_libraries():
    code = (
        "import sys; from mtcluster._sklearn_compat import quick_discovery\n"
        "from sklearn.utils import all_estimators\n"
        "with quick_discovery(): quick = all_estimators()\n"
        "print([name for name in ('torch', 'dask') if name in sys.modules], quick == all_estimators())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"
