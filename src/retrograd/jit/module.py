"""ScriptModule: a module that is compiled in PyTorch, and runs here as the Python that it is."""
from __future__ import annotations

from retrograd.nn import Module


class ScriptModule(Module):
    """A module that is compiled; it runs as the Python that it is."""
