"""Benchmarks: data sets × methods × grids × seeds → run rows (a flat table) → tables, figures and pages."""
