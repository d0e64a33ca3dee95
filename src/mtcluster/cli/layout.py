"""The files of a results folder."""

LABELS, CENTERS, MODEL, SETTINGS, REPORT = "labels.csv", "centers.csv", "model.skops", "settings.json", "report.html"
FILES = (LABELS, CENTERS, MODEL, SETTINGS, REPORT)
