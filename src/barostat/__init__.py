"""Barostat keeps vLLM out of KV-cache collapse.

    from barostat import diagnose, plan, simulate, Limits, read_limits

Nothing is loaded before it is asked for: the command line answers `--help` at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barostat.core.release import __version__

if TYPE_CHECKING:
    from barostat.shells.api import Limits, diagnose, plan, read_limits, simulate

__all__ = ["Limits", "__version__", "diagnose", "plan", "read_limits", "simulate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from barostat.shells import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names for tab completion, loaded or not."""
    return __all__
