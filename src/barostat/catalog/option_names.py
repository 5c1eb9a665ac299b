"""Arguments of vLLM by the ways in which people spell them."""

from __future__ import annotations

from barostat.catalog.settings.other_arguments import LISTS, SWITCHES
from barostat.catalog.settings.table import ALIASES, SETTINGS, is_switch


def known_argument(spelled: str) -> str:
    """Return vLLM's own name with underscores for `--max-num-seqs`, `max_num_seqs`, `-tp` or
    `no-enable-prefix-caching`; "" for an argument of no version.
    """
    if spelled.startswith("-") and not spelled.startswith("--"):
        return ALIASES.get(spelled, "")
    name = spelled.removeprefix("--").replace("-", "_").lower()
    positive = name.removeprefix("no_")
    for found in (name, positive if is_switch(positive) else ""):
        if found in SETTINGS or found in SWITCHES or found in LISTS:
            return found
    return ALIASES.get(name, "")
