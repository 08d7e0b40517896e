"""Ops over lists of tensors."""
