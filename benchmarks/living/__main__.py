"""A model that lives: `python -m benchmarks.living --out docs/results/living`.

Data sets that join, refits and streams, other columns, missing values; with the sets of the data folder that
`MTCLUSTER_DATA` names, if there is one. `--only missing` (adapt, refits, features, geometry) makes one part.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import adapt, features, geometry, missing, refits

PARTS = {"adapt": adapt, "refits": refits, "features": features, "geometry": geometry, "missing": missing}
HEAD = (
    "# A model that lives\n\nMade by `python -m benchmarks.living --out docs/results/living`, with the sets of the "
    "data folder if there is one. What the numbers say is in the [interpretation](interpretation.md).\n\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder that gets index.md and parts.json")
    parser.add_argument("--only", action="append", choices=tuple(PARTS))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    kept = arguments.out / "parts.json"  # parts may be made one at a time
    texts = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name in arguments.only or PARTS:
        texts[name] = PARTS[name].section(PARTS[name].measured())
        kept.write_text(json.dumps(texts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = HEAD + "\n".join(texts[name] for name in PARTS if name in texts)
    (arguments.out / "index.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
