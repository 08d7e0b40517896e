"""Ops on elements: arithmetic, functions of mathematics, comparisons, Python's operators."""
