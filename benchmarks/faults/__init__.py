"""Faults on purpose: campaigns that must find nothing. `make faults`, or `python -m benchmarks.faults`."""
