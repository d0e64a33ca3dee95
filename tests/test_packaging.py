"""What is shipped, what it asks for, and the files that package it and run its checks elsewhere."""

import importlib.util
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import mtcluster

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
SOURCE = ROOT / "src" / "mtcluster"
YAML = [".github/workflows/ci.yml", ".gitlab-ci.yml", ".readthedocs.yaml", "packaging/conda/meta.yaml", "CITATION.cff"]
CONDA_NAMES = {"matplotlib": "matplotlib-base", "dask": "dask-core"}
COMMUNITY = ["CODE_OF_CONDUCT.md", "SECURITY.md", "SUPPORT.md", "CONTRIBUTING.md", "docs/checklists.md"]
ABSOLUTE = re.compile(rb"(?<![\w.:/<])/(?:home|root|Users|work|tmp)/\w")


def requirements(lines):
    """Requirements by name; those of our own extras are followed."""
    found = {}
    for line in lines:
        requirement = Requirement(line)
        if requirement.name == "mtcluster":
            for extra in requirement.extras:
                found |= requirements(EXTRAS[extra])
        else:
            found[canonicalize_name(requirement.name)] = requirement
    return found


def lower_bound(requirement):
    (bound,) = requirement.specifier
    assert bound.operator == ">=", f"{requirement} should have one lower bound and no other"
    return Version(bound.version)


def bounds(lines):
    return {name: lower_bound(requirement) for name, requirement in requirements(lines).items()}


CORE = bounds(PROJECT["dependencies"])
EVERYTHING = requirements([*PROJECT["dependencies"], *(line for lines in EXTRAS.values() for line in lines)])


def read_yaml(name):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel and the source distribution of this checkout."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the packages, is not installed")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def wheel(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        yield archive


@pytest.fixture
def sdist(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        yield archive


@pytest.fixture
def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_string(wheel.read(name).decode("utf-8"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    files = {path.relative_to(SOURCE.parent).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    shipped = {name for name in wheel.namelist() if not name.split("/")[0].endswith(".dist-info")}
    assert shipped == {name for name in files if "__pycache__" not in name}


def test_the_wheel_holds_types_templates_and_the_licence(wheel):
    names = wheel.namelist()
    assert "mtcluster/py.typed" in names
    assert "mtcluster/inspection/_report/templates/page.html" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_packages_name_no_folder_of_a_machine(wheel, sdist):
    """Tests may name folders, as those that must not appear."""
    texts = {name: wheel.read(name) for name in wheel.namelist()}
    for member in sdist.getmembers():
        if member.isfile() and "/tests/" not in member.name and not member.name.endswith((".parquet", ".png")):
            texts[member.name] = sdist.extractfile(member).read()
    assert {name: found[0] for name, text in texts.items() if (found := ABSOLUTE.findall(text))} == {}


def test_the_source_distribution_holds_what_a_packager_needs_and_no_data(sdist):
    names = {name.split("/", 1)[1] for name in sdist.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "src/mtcluster/py.typed", "tests/conftest.py"} <= names
    suffixes = {Path(name).suffix for name in names}
    assert suffixes.isdisjoint({".npz", ".h5ad", ".skops", ".pyc", ".whl"})
    assert not [name for name in names if name.startswith((".venv", "build/", "dist/", ".git/", "shared/"))]


def test_the_metadata_say_what_pyproject_says(metadata):
    assert metadata["Name"] == "mtcluster"
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Requires-Python"] == ">=3.11"
    plain = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert bounds(plain) == CORE


def versions_run():
    """The versions of Python on which the files of the hosts run the checks, or build the site."""
    text = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in YAML[:3])
    return set(re.findall(r"python:\s*\"?(3\.\d+)", text))


def test_classifiers_list_versions_that_are_run_and_types():
    listed = {one.rsplit(" ", 1)[1] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)}
    assert listed
    assert listed <= versions_run()
    assert "Typing :: Typed" in PROJECT["classifiers"]


@pytest.mark.parametrize("name", YAML)
def test_yaml_files_can_be_read(name):
    assert isinstance(read_yaml(name), dict)


def test_hosts_run_the_same_checks():
    github = read_yaml(".github/workflows/ci.yml")["jobs"]
    assert [step["run"] for job in github.values() for step in job["steps"] if "run" in step] == [".ci/run"]
    assert read_yaml(".gitlab-ci.yml")["check"]["script"] == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111, ".ci/run should be executable"
    assert "make docs" in read_yaml(".readthedocs.yaml")["build"]["commands"]


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md")), ids=lambda path: path.stem)
def test_issue_templates_have_a_name_and_say_what_they_are_for(path):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    assert {"name", "about", "labels"} <= set(yaml.safe_load(head))
    assert body.strip()


def conda_bounds(lines):
    return {name: Version(bound.removeprefix(">=")) for name, bound in (line.split(" ") for line in lines)}


def test_the_conda_recipe_asks_for_what_pyproject_does():
    recipe = read_yaml("packaging/conda/meta.yaml")
    run = conda_bounds(recipe["requirements"]["run"])
    assert run.pop("python") == Version(PROJECT["requires-python"].removeprefix(">="))
    assert run == CORE
    extras = {CONDA_NAMES.get(name, name): bound for name, bound in bounds(["mtcluster[all]"]).items()}
    assert conda_bounds(recipe["requirements"]["run_constrained"]) == extras
    assert recipe["package"] == {"name": "mtcluster", "version": PROJECT["version"]}
    assert recipe["build"]["entry_points"] == [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert set(recipe["source"]) == {"path"}


def test_the_citation_has_the_version():
    assert str(read_yaml("CITATION.cff")["version"]) == PROJECT["version"]


def minimum():
    lines = (ROOT / "packaging" / "minimum.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def test_the_lowest_versions_are_the_lower_bounds():
    """`make versions` writes the file again."""
    lowest = minimum()
    declared = CORE | bounds(EXTRAS["test"])
    assert {name: lowest.get(name) for name in declared} == declared


def test_bounds_of_the_build_and_of_its_test_are_the_same():
    system = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert bounds(system["requires"])["hatchling"] == bounds(EXTRAS["test"])["hatchling"]


def test_the_audit_lists_every_dependency():
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## Dependencies\n")[1].split("\n## ")[0]
    listed = re.findall(r"^\| ([\w-]+) \|", section, re.MULTILINE)[1:]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(EVERYTHING)


@pytest.mark.parametrize("name", COMMUNITY)
def test_files_of_the_project_name_no_address(name):
    """Contacts and hosts are for the owner of the repository to add."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert not re.search(r"https?://|\w@\w", text)


@pytest.mark.slow
def test_a_program_of_a_user_passes_strict_type_checks(tmp_path):
    """In an environment in which mtcluster is installed, and without the settings of this repository."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    builder = venv.EnvBuilder()
    builder.create(tmp_path / "env")
    python = builder.ensure_directories(tmp_path / "env").env_exe
    site = next((tmp_path / "env").rglob("site-packages"))
    folders = [Path(mtcluster.__file__).parents[1], sysconfig.get_path("purelib")]
    (site / "installed.pth").write_text("".join(f"{folder}\n" for folder in folders), encoding="utf-8")
    program = tmp_path / "usage.py"
    program.write_bytes((ROOT / "tests" / "typing" / "usage.py").read_bytes())
    options = ["--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", f"--python-executable={python}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, program.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
