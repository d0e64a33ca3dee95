"""The files of a results folder."""

LABELS, CENTERS, RELATIONS, CHANGES = "labels.csv", "centers.csv", "relations.csv", "changes.csv"
MODEL, SETTINGS, REPORT = "model.skops", "settings.json", "report.html"
PARTS = "labels"  # folder with the labels of files larger than memory, part by part
TABLES = "tables"  # folder with the tables that came in and the columns of the result
FILES = (LABELS, CENTERS, RELATIONS, MODEL, SETTINGS, REPORT)
# PARTS in place of LABELS; TABLES for tables; CHANGES if the fit continues a previous one
KNOWN = (LABELS, PARTS, TABLES, *FILES[1:], CHANGES)
