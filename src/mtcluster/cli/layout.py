"""The files of a results folder."""

ROWS_TABLE, CENTERS, RELATIONS, CHANGES = "labels.csv", "centers.csv", "relations.csv", "changes.csv"
MODEL, SETTINGS, REPORT = "model.skops", "settings.json", "report.html"
PARTS = "labels"  # folder with the labels of files larger than memory, part by part
TABLES = "tables"  # folder with the tables that came in and the columns of the result
FILES = (ROWS_TABLE, CENTERS, RELATIONS, MODEL, SETTINGS, REPORT)
# PARTS in place of ROWS_TABLE; TABLES for tables; CHANGES if the fit continues a previous one
KNOWN = (ROWS_TABLE, PARTS, TABLES, *FILES[1:], CHANGES)
