"""Checkpointing of activations in sharded models."""
