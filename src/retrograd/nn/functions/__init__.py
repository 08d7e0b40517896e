"""The functions of `retrograd.nn.functional`, by kind."""
