"""How to install an extra of pyproject.toml, in the sentences that ask for one."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """Return the command for a clone, and for a wheel."""
    return f"pip install '.[{extra}]' in a clone, or pip install './WHEEL.whl[{extra}]'"
