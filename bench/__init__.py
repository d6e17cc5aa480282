"""Benchmarks and the models they run; used from a checkout, not installed."""
