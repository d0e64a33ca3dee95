"""The files of a results folder."""

LABELS, CENTERS, RELATIONS, CHANGES = "labels.csv", "centers.csv", "relations.csv", "changes.csv"
MODEL, SETTINGS, REPORT = "model.skops", "settings.json", "report.html"
FILES = (LABELS, CENTERS, RELATIONS, MODEL, SETTINGS, REPORT)
KNOWN = (*FILES, CHANGES)  # CHANGES is there if the fit continues a previous one
