"""Elementwise ops: arithmetic, mathematical functions, comparisons, Python's operators."""
