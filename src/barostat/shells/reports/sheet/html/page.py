"""A document as one page that needs nothing else, well-formed as XML too.

Every text is escaped by the templates, and a control or direction character is written out as
`\\x1b`. A page may do nothing: its policy allows its own style, by hash, and no script, picture,
font, form or request.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from barostat.core.release import __version__
from barostat.core.visible import visible
from barostat.shells.reports.sheet import blocks, charts, drawing, ranges
from barostat.shells.reports.sheet.html.line_breaks import kept_whole
from barostat.shells.reports.sheet.html.style import STYLE

_MAY_BREAK = re.compile(r"(?<=[,/])(?=\w)")
"""Where a title that is a path or a workload goes on in the next line."""
_HASH = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"


def page(document: blocks.Document) -> str:
    """Return the whole page."""
    body = Markup(kept_whole(_blocks(document.blocks)))
    return str(
        _environment()
        .get_template("page.html")
        .render(title=document.title, body=body, policy=Markup(POLICY), style=Markup(STYLE))
    )


@cache
def _environment() -> Environment:
    """The templates with what they call; a name that none of them knows is an error."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.globals["version"] = __version__
    found.filters.update(
        blocks=_blocks,
        breakable=_breakable,
        figures=_figures,
        place=_place,
        shapes=_shapes,
        text=_text,
    )
    found.tests["item"] = lambda value: isinstance(value, blocks.Item)
    return found


def _shown(value: Any) -> Any:
    """Text from outside drives nothing; it is escaped after this."""
    return visible(value.replace("\r", " ")) if type(value) is str else value


@cache
def _macros(template: str) -> Any:
    return _environment().get_template(template).module


def _made(template: str, thing: object) -> Markup:
    """Return the thing as the macro of its kind shows it."""
    markup: Markup = getattr(_macros(template), type(thing).__name__.lower())(thing)
    return markup


def _blocks(shown: Sequence[blocks.Block]) -> Markup:
    return Markup("").join(_block(block) for block in shown)


def _block(block: blocks.Block) -> Markup:
    match block:
        case blocks.Charts():
            figures = charts.figures(block.charts, block.span)
            return _made("blocks.html", blocks.Drawn(figures, "charts"))
        case blocks.Candidates():
            return _made("blocks.html", blocks.Drawn(ranges.figures(block.ranges), "charts"))
        case _:
            return _made("blocks.html", block)


def _text(text: blocks.Text) -> Markup:
    parts = (text,) if isinstance(text, str) else text
    return Markup("").join(_inline(part) for part in parts)


def _inline(part: blocks.Inline) -> Markup:
    match part:
        case blocks.BREAK:
            markup: Markup = _macros("text.html").line_break()
            return markup
        case str():
            return escape(_shown(part))
        case blocks.Part():
            looks: Markup = getattr(_macros("text.html"), part.look)(part)
            return looks
        case _:
            return _made("text.html", part)


def _breakable(title: str) -> Markup:
    return Markup(_MAY_BREAK.sub(str(_macros("text.html").may_break()), escape(_shown(title))))


def _figures(shown: Sequence[drawing.Figure]) -> Markup:
    return Markup("").join(_made("drawing.html", one) for one in shown)


def _shapes(shapes: Sequence[drawing.Shape]) -> Markup:
    return Markup("").join(_made("drawing.html", shape) for shape in shapes)


def _place(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.1f}"
