"""Ports of this machine."""
from __future__ import annotations

import socket

__all__ = ["get_free_port", "get_socket_with_port"]


def get_socket_with_port(host: str | None = None) -> socket.socket:
    """A socket bound to a free port."""
    for family, kind, protocol, _, _ in socket.getaddrinfo("localhost", None, socket.AF_UNSPEC, socket.SOCK_STREAM):
        try:
            made = socket.socket(family, kind, protocol)
            made.bind(("localhost", 0))
            made.listen(0)
            return made
        except OSError:
            continue
    raise RuntimeError("Failed to create a socket")


def get_free_port() -> int:
    """The number of a free port.

    >>> get_free_port() > 0
    True
    """
    with get_socket_with_port() as made:
        return int(made.getsockname()[1])
