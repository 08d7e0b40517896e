"""Copies, conversions, and changes of a tensor's memory."""
