"""Text from outside (logs, names, evidence) as Markdown that shows it and never obeys it. HTML is
escaped by its templates.
"""

from __future__ import annotations

import re

from barostat.core.visible import one_line

_TICKS = re.compile("`+")
_ADDRESS = re.compile(
    r"(?:\b[A-Za-z][\w+.-]*://|\bwww\.|\bmailto:|(?<![\w.+-])@(?=\w))[^\s|`()\[\]{}<>\"']*"
)
_MARKS = re.compile(r"[\\`*\[\]|]|~(?=~)|(?<![A-Za-z0-9_])_+(?=\w)|(?<=\w)_+(?![A-Za-z0-9_])")
_LEAD = re.compile(r"^(?:[-+](?=\s|$)|[-=]+(?=\s*$)|#+(?=\s|$)|>|(\d+)(?=[.)](?:\s|$)))")


def in_markdown(text: str) -> str:
    """The text as Markdown on one line: no markup, HTML, picture, table cell or heading of its own;
    an address is shown, not linked.
    """
    line = one_line(text).strip()
    found, at = [], 0
    for address in _ADDRESS.finditer(line):
        found += [_plain(line[at : address.start()], first=at == 0), code(address[0])]
        at = address.end()
    return "".join([*found, _plain(line[at:], first=at == 0)])


def _plain(text: str, *, first: bool) -> str:
    told = _MARKS.sub(
        lambda mark: "".join(f"\\{char}" for char in mark[0]),
        text.replace("&", "&amp;").replace("<", "&lt;"),
    )
    return (
        _LEAD.sub(lambda lead: f"{lead[1]}\\" if lead[1] else f"\\{lead[0]}", told)
        if first
        else told
    )


def code(text: str) -> str:
    """The text as code within a line of Markdown, also within a table."""
    line = _TICKS.sub("'", one_line(text)).replace("|", "\u00a6")
    return f"`{line}`" if line.strip() else ""
