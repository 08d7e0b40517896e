"""Shared parts of the op tables: families of rules, geometry, dtype checks, and helpers of derivative rules."""
