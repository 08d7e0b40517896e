"""Helpers around the library: PyTorch's `torch.utils`."""
