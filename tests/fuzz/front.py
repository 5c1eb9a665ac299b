"""A front: one place where bytes of a stranger come in, with what it may answer to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from barostat.core.errors import InputError

Shape = Literal["bytes", "lines", "json", "yaml", "tar", "http", "shell"]
Feed = Callable[[bytes, Path], object]


class Wrong(AssertionError):
    """The front answered, and the answer breaks a law: a bug as much as a traceback is."""


@dataclass(frozen=True, slots=True)
class Front:
    """`seeds`: inputs as they really come, made when they are asked for. `feed`: takes one input
    and a folder of its own that it may fill.

    `refusals`: what it may raise; whatever else comes out is a bug. `shape`: how inputs are changed
    (`mutate.py`). `words`: what its grammar knows, put in now and then.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    feed: Feed
    shape: Shape
    refusals: tuple[type[BaseException], ...] = (InputError,)
    words: tuple[str, ...] = ()


def text_of(data: bytes) -> str:
    """The input as the text that a file or an answer with it is read as."""
    return data.decode("utf-8", "replace")
