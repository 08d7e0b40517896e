"""Scopes around kernels that are written in Python, under PyTorch's names."""
