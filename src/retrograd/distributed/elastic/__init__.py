"""Launching processes that may fail: names that programs import."""
