"""Configuration of Sphinx: `python -m sphinx -W --keep-going -b html docs build/docs`.

Nothing is downloaded during the build. Examples that read task sets are built only if the folder named by the
environment variable `MTCLUSTER_DATA` contains them.
"""

import importlib.util
import os
import re
import warnings
from pathlib import Path

import mtcluster

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
DATA = os.environ.get("MTCLUSTER_DATA")

project = "mtcluster"
author = "The mtcluster developers"
copyright = author
version = release = mtcluster.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_generated/backreferences", "gallery/**/*.ipynb", "gallery/**/*.py", "**/*.tex"]
default_role = "py:obj"
language = "en"
smartquotes = False  # options are written with two hyphens
highlight_language = "python"

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

autosummary_generate = True
autodoc_typehints = "none"  # types are described in the docstrings
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_class_members_toctree = False


def missing_data(example: Path) -> list[str]:
    """Names of the task sets that an example reads and that are not in the data folder."""
    names = re.findall(r'load_task_set\("(\w+)"\)', example.read_text(encoding="utf-8"))
    return [name for name in names if not (DATA and Path(DATA, f"{name}.npz").is_file())]


def missing_extras(example: Path) -> list[str]:
    """Modules that an example imports and that are not installed."""
    roots = re.findall(r"^(?:import|from) (\w+)", example.read_text(encoding="utf-8"), re.MULTILINE)
    return [root for root in roots if importlib.util.find_spec(root) is None]


left_out = [path.name for path in sorted(EXAMPLES.glob("plot_*.py")) if missing_data(path) or missing_extras(path)]
exclude_patterns += [f"gallery/{Path(name).stem}.rst" for name in left_out]  # of an earlier build

sphinx_gallery_conf = {
    "examples_dirs": [str(EXAMPLES)],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_\w+\.py",
    "ignore_pattern": "|".join(["__init__", *map(re.escape, left_out)]),
    "doc_module": ("mtcluster",),
    "backreferences_dir": "_generated/backreferences",
    "reference_url": {"mtcluster": None},
    "within_subsection_order": "ExampleTitleSortKey",
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "mtcluster"
html_static_path = ["_static"]
html_css_files = ["mtcluster.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "mtcluster"},
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"start": [], "changelog": [], "contributing": [], "index": []}
