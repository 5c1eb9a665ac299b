"""Arguments of vLLM by the ways in which people spell them."""

from __future__ import annotations

from barostat.catalog.vllm_flags import ALIASES, FLAGS, OTHER_LISTS, OTHER_SWITCHES, is_switch


def known_argument(spelled: str) -> str:
    """vLLM's own name with underscores for `--max-num-seqs`, `max_num_seqs`, `-tp` or
    `no-enable-prefix-caching`; empty for what is no argument of any version.
    """
    if spelled.startswith("-") and not spelled.startswith("--"):
        return ALIASES.get(spelled, "")
    name = spelled.removeprefix("--").replace("-", "_").lower()
    positive = name.removeprefix("no_")
    for found in (name, positive if is_switch(positive) else ""):
        if found in FLAGS or found in OTHER_SWITCHES or found in OTHER_LISTS:
            return found
    return ALIASES.get(name, "")
