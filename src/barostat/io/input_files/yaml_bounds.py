"""How large a YAML text is once it is spelled out, found out before anything is made of it."""

from __future__ import annotations

import yaml

from barostat.core.bounds import YAML_DEPTH, YAML_NODES

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where it is there: ten times as fast."""
_STARTS, _ENDS = (
    (yaml.MappingStartEvent, yaml.SequenceStartEvent),
    (yaml.MappingEndEvent, yaml.SequenceEndEvent),
)


def too_much(text: str, *, spelled_out: bool = True) -> str:
    """Return why the text is not parsed: too many values after alias expansion (billion laughs), or
    too deep; otherwise empty.

    `spelled_out`: count each alias as its expansion; False if aliases stay shared.

    Errors: yaml.YAMLError for invalid YAML.
    """
    total = 0
    sizes: dict[str | None, int] = {}
    open_at: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.AliasEvent):
            total += (
                sizes.get(event.anchor, YAML_NODES.most + 1) if spelled_out else 1
            )  # unknown: within itself
        elif isinstance(event, _STARTS):
            open_at.append((event.anchor, total))
            total += 1
            if len(open_at) > YAML_DEPTH.most:
                return f"nested too deeply (more than {YAML_DEPTH.most} levels)"
        elif isinstance(event, _ENDS):
            anchor, before = open_at.pop()
            if anchor:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            if event.anchor:
                sizes[event.anchor] = 1
        if total > YAML_NODES.most:
            return f"more than {YAML_NODES.most:,} values once its aliases are spelled out"
    return ""
