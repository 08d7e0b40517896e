"""Ops whose results share memory with their input."""
