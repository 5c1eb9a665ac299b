"""A body costs about its own size, however many pieces it came in."""

from __future__ import annotations

import tracemalloc

import pytest

from barostat.gateway.messages.body_buffer import BodyBuffer


@pytest.mark.parametrize("piece", [1, 2, 100, 65_536])
def test_the_memory_of_a_body_is_what_the_buffer_says_that_it_is(piece: int) -> None:
    whole = bytes(range(256)) * 1000
    buffer = BodyBuffer()
    tracemalloc.start()
    for at in range(0, len(whole), piece):
        buffer.add(whole[at : at + piece])
    measured = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert buffer.size == len(whole)
    assert measured <= buffer.held_bytes + 4096
    assert buffer.held_bytes <= 1.2 * len(whole)
    assert buffer.take() == whole
    assert (buffer.size, buffer.held_bytes, buffer.take()) == (0, 0, b"")


def test_one_piece_is_not_copied() -> None:
    whole = b"x" * 1000
    buffer = BodyBuffer()
    buffer.add(whole)
    assert buffer.take() is whole
