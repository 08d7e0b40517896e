"""Sharded tensors, the predecessors of distributed tensors."""
