"""Index expressions, gather and scatter, masks."""
