"""Text from outside (logs, names, evidence) in a form that shows it and never obeys it: HTML,
Markdown, Mermaid.
"""

from __future__ import annotations

import html
import re

from barostat.core.visible import one_line, visible

_TICKS = re.compile("`+")
_ADDRESS = re.compile(
    r"(?:\b[A-Za-z][\w+.-]*://|\bwww\.|\bmailto:|(?<![\w.+-])@(?=\w))[^\s|`()\[\]{}<>\"']*"
)
_MARKS = re.compile(r"[\\`*\[\]|]|~(?=~)|(?<![A-Za-z0-9_])_+(?=\w)|(?<=\w)_+(?![A-Za-z0-9_])")
_LEAD = re.compile(r"^(?:[-+](?=\s|$)|[-=]+(?=\s*$)|#+(?=\s|$)|>|(\d+)(?=[.)](?:\s|$)))")


def escape(text: str) -> str:
    """The text as HTML, well-formed as XML too: markup is shown, and a control or direction
    character is written out as `\\x1b`.
    """
    return html.escape(visible(text.replace("\r", " ")))


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


def in_mermaid(text: str) -> str:
    """The text as a quoted label of a Mermaid diagram, in its own entities; ends, quotes, markup
    and clicks in it are only shown.
    """
    return '"' + re.sub(r"[^\w .,/-]", lambda char: f"#{ord(char[0])};", one_line(text)) + '"'
