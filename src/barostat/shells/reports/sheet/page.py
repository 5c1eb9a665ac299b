"""The parts of a page in the order a reader needs them: what it is about, the verdict, figures,
charts, tables, lists.

Every part takes text and escapes it, unless its name says that it takes HTML. A page needs nothing
else and may do nothing: its policy allows its own style, by hash, and no script, picture, font,
form or request.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence

from barostat import __version__
from barostat.shells.reports.sheet.line_breaks import kept_whole
from barostat.shells.reports.sheet.safe_text import escape
from barostat.shells.reports.sheet.style import STYLE

_MAY_BREAK = re.compile(r"(?<=[,/])(?=\w)")
"""Where a title that is a path or a workload goes on in the next line."""
_HASH = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"


def page(title: str, body_html: str) -> str:
    """A whole HTML page, well-formed as XML too."""
    head = (
        f'<meta charset="utf-8"/><meta http-equiv="Content-Security-Policy" content="{POLICY}"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/><meta '
        'name="color-scheme" content="light dark"/>'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
    )
    return (
        "<!doctype html>\n<html "
        f'lang="en"><head>{head}</head>\n<body><main>{kept_whole(body_html)}</main></body></html>\n'
    )


def heading(kind: str, title: str, told: str = "") -> str:
    """What the page is, whom it is about, and a line on when or where."""
    soft = f"<p class='soft'>{escape(told)}</p>" if told else ""
    return (
        "<header><p class='kicker'>barostat "
        f"{escape(kind)}</p><h1>{_MAY_BREAK.sub('<wbr/>', escape(title))}</h1>{soft}</header>"
    )


def verdict(severity: str, word: str, headline: str, sentence: str, aside: str = "") -> str:
    """The answer, before anything else. `severity`: none, info, warning or critical; `word`: what
    the badge says.
    """
    beside = f" <span class='soft'>{escape(aside)}</span>" if aside else ""
    below = f"<p>{escape(sentence)}</p>" if sentence else ""
    return (
        f"<div class='verdict {escape(severity)}'><p><span "
        f"class='badge'>{escape(word)}</span><b>{escape(headline)}</b>{beside}</p>"
        f"{below}</div>"
    )


def figures(entries: Sequence[tuple[str, str, str]]) -> str:
    """The numbers that matter as tiles: name, value, and a word beside (or empty)."""
    tiles = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{f'<small>{escape(note)}</small>' if note else ''}</dd></div>"
        for name, value, note in entries
    )
    return f"<dl class='figures'>{tiles}</dl>" if tiles else ""


def facts(entries: Sequence[tuple[str, str]]) -> str:
    """Name and sentence, one under the other."""
    return (
        "<dl "
        f"class='facts'>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(text)}</dd>' for name, text in entries)}</dl>"
    )


def table(
    rows: Sequence[Sequence[str]],
    words: Sequence[int] = (0,),
    chosen: Sequence[int] = (),
    mono: Sequence[int] = (),
) -> str:
    """The first row is the heading. `words`: columns of words, the others are numbers; `chosen`:
    rows to stand out, counted without it.

    Wider than the screen it moves by itself: the page does not.
    """

    def row(cells: Sequence[str], tag: str, kind: str = "") -> str:
        told = "".join(
            f"<{tag}{_kinds(place, words, mono if tag == 'td' else ())}>{escape(cell)}</{tag}>"
            for place, cell in enumerate(cells)
        )
        return f"<tr{kind}>{told}</tr>"

    body = "".join(
        row(cells, "td", " class='chosen'" if place in chosen else "")
        for place, cells in enumerate(rows[1:])
    )
    return f"<div class='scroll'><table>{row(rows[0], 'th')}{body}</table></div>"


def _kinds(place: int, words: Sequence[int], mono: Sequence[int]) -> str:
    kinds = [kind for kind, places in (("words", words), ("mono", mono)) if place in places]
    return f" class='{' '.join(kinds)}'" if kinds else ""


def listing(title: str, items_html: Sequence[str], kind: str = "ul") -> str:
    """A heading and a list; empty where there is nothing to list. The items are HTML already."""
    return (
        f"<div class='list'><h3>{escape(title)}</h3>{items(items_html, kind)}</div>"
        if items_html
        else ""
    )


def beside(left_html: str, right_html: str) -> str:
    """Two columns where there is room, else one below the other."""
    return f"<div class='two'><div>{left_html}</div><div>{right_html}</div></div>"


def items(items_html: Sequence[str], kind: str = "ul") -> str:
    """The bare list. The items are HTML already."""
    return f"<{kind}>{''.join(f'<li>{item}</li>' for item in items_html)}</{kind}>"


def folded(summary: str, body_html: str) -> str:
    """What is shown when it is asked for, and in print."""
    return f"<details><summary>{escape(summary)}</summary>{body_html}</details>"


def footer(told: str = "") -> str:
    """The version that made the page, and where the same is had as data."""
    return (
        "<footer><p>barostat "
        f"{escape(__version__)}{f' · {escape(told)}' if told else ''}</p></footer>"
    )
