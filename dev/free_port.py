"""A port for a server of ours, which starts a little later: below those that the kernel gives to
outgoing connections, and never twice.
"""

from __future__ import annotations

import random
import socket

_FIRST, _LAST = 20_000, 32_000
"""Linux gives outgoing connections 32768 and up (net.ipv4.ip_local_port_range): one of them could
take it before the start.
"""
_GIVEN: set[int] = set()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses now, and that was not given before. Errors: RuntimeError
    where none is found.
    """
    for port in random.SystemRandom().sample(range(_FIRST, _LAST), 200):
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _GIVEN:
            _GIVEN.add(port)
            return port
    raise RuntimeError(f"no port between {_FIRST} and {_LAST} is free on 127.0.0.1")
