"""The parts of `library` under PyTorch's private names."""
