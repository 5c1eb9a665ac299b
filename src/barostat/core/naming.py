"""How a name of ours is spelled in a JSON or YAML document."""

from __future__ import annotations


def camel(name: str) -> str:
    """`max_num_seqs`, and `max-num-seqs` as a flag has it -> `maxNumSeqs`."""
    first, *rest = name.replace("-", "_").split("_")
    return first + "".join(part.capitalize() for part in rest)
