"""Reductions, scans, sorting, selection and statistics."""
