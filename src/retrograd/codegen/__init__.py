"""From the op table to machine code."""
