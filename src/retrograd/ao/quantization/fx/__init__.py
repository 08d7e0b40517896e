"""Quantization of traced programs: the ops that stand for rounding in their graphs."""
