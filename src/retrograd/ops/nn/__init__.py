"""The ops under neural-network layers."""
