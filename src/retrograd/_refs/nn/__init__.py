"""Reference implementations of `nn.functional`."""
