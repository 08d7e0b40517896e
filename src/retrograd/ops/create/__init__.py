"""New tensors: from sizes, data and random streams."""
