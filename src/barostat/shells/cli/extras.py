"""The verbs that need more than the base install, and the sentence where that is missing."""

from __future__ import annotations

from barostat.core.extras import how_to_install

EXTRAS = {
    "gateway": "gateway",
    "load": "load",
    "validate": "load",
    "twin": "twin",
    "mcp": "mcp",
}
"""Each such verb and its extra in pyproject.toml."""


def missing_extra(verb: str | None, module: str | None) -> str:
    """How to install the module that the verb could not import, as a sentence; empty if the module
    is our own, or the verb needs no extra.
    """
    extra = EXTRAS.get(verb or "")
    if extra is None or not module or module.partition(".")[0] == "barostat":
        return ""
    return f"barostat {verb} needs {module}: {how_to_install(extra)}"
