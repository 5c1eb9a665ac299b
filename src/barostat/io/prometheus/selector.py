"""What a person writes to choose series (`namespace="x"`, `app=vllm`, deploy/NAME), as the matchers
of PromQL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from barostat.core.errors import InputError
from barostat.judge.history.pages import pairs
from barostat.platform.workloads import kind_typed, words_to_type

_MATCHER = re.compile(
    r"""\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|==|=)\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,"'{}~=!][^\s,"'{}]*)\s*(?:,|$)"""
)
_ESCAPED = re.compile(r"""\\([\\"'])""")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def matchers(selector: str, namespace: str = "", targets: Sequence[str] = ()) -> str:
    """Return the matchers without braces; empty for everything.

    `selector` may be in braces; values may be unquoted. `targets`: KIND/NAME, converted to patterns
    of pod names.

    Errors: InputError for an invalid matcher, and for an unsupported kind.
    """
    text = selector.strip()
    text = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    found: list[str] = []
    place = 0
    while place < len(text.rstrip()):
        one = _MATCHER.match(text, place)
        if one is None:
            raise InputError(
                f'{text[place:].strip()!r} is no matcher; write it as namespace="x",pod=~"vllm-.*"',
                "--selector",
            )
        name, sign, value = one.groups()
        value = _ESCAPED.sub(r"\1", value[1:-1]) if value[:1] in "\"'" else value
        found.append(pairs({name: value}).replace("=", "=" if sign == "==" else sign, 1))
        place = one.end()
    if namespace:
        found.append(pairs({"namespace": namespace}))
    if targets:
        found.append(pairs({"pod": "|".join(map(_pods_of, targets))}).replace("=", "=~", 1))
    return ",".join(found)


def _pods_of(target: str) -> str:
    word, slash, name = target.partition("/")
    kind = kind_typed(word)
    if not slash or kind is None or not _NAME.fullmatch(name):
        raise InputError(
            f"is no workload; write {words_to_type()}, or choose series with --selector", target
        )
    return re.escape(name).replace(r"\-", "-") + kind.pod_suffix
