"""The files of a results folder."""

LABELS, CENTERS, RELATIONS = "labels.csv", "centers.csv", "relations.csv"
MODEL, SETTINGS, REPORT = "model.skops", "settings.json", "report.html"
FILES = (LABELS, CENTERS, RELATIONS, MODEL, SETTINGS, REPORT)
