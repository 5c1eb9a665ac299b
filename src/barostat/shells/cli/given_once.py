"""A flag that may be given once, because the last of two would silently win."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


class OnceAction(argparse.Action):
    """Stores a text; refuses a second one, and an empty one."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        _option_string: str | None = None,
    ) -> None:
        """Errors: argparse's, for a repeat and for no text."""
        former = getattr(namespace, self.dest, None)
        if former:
            raise argparse.ArgumentError(
                self, f"one change at a time: {former} and {values} were asked for"
            )
        if not str(values).strip():
            raise argparse.ArgumentError(self, "nothing is named")
        setattr(namespace, self.dest, values)
