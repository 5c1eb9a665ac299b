"""One of each kind of block, with a hostile text in each place that takes one."""

from __future__ import annotations

from barostat.shells.reports.sheet.blocks import (
    Badge,
    Beside,
    Block,
    Candidates,
    Charts,
    Drawn,
    Facts,
    Folded,
    Footer,
    Heading,
    Item,
    Items,
    Listing,
    Only,
    Paragraph,
    Section,
    Table,
    Tiles,
    Verdict,
    bold,
    code,
    soft,
    tag,
)
from barostat.shells.reports.sheet.charts import Band, Chart, Line, Span
from barostat.shells.reports.sheet.drawing import Box, Drawing, Entry, Figure
from barostat.shells.reports.sheet.ranges import Candidate, Ranges
from barostat.shells.reports.sheet.scale import plain

BAD = "<script>x</script>\"'&|[a](b)\x1b\nnext line"
_STYLED = (bold(BAD), code(BAD), soft(BAD), tag(BAD), Badge(BAD, "info"), Entry(BAD, BAD), BAD)
_LINES = (Line([(0.0, 1.0), (1.0, 2.0)], BAD, BAD, BAD), Line([(0.0, 1.0)], BAD))
EACH: tuple[Block, ...] = (
    Heading(BAD, BAD, BAD),
    Verdict("none", BAD, BAD, BAD, BAD),
    Tiles([(BAD, BAD, BAD)]),
    Facts([(BAD, BAD)]),
    Table([(BAD, "n"), (BAD, BAD), (_STYLED, "")], mono=(0,)),
    Paragraph(_STYLED, "lead"),
    Items([BAD, Item(BAD, [Paragraph(BAD)])]),
    Listing(BAD, [BAD], numbered=True),
    Section(BAD, [Paragraph(BAD)], apart=True),
    Beside([Paragraph(BAD)], [Paragraph(BAD)]),
    Folded(BAD, [Paragraph(BAD)]),
    Charts(
        [Chart(BAD, _LINES, lambda _: BAD, limits=((1.0, BAD),), note=BAD)],
        Span(0.0, 1.0, ((0.5, BAD),), bands=(Band(0.0, 1.0, BAD, BAD),)),
    ),
    Candidates([Ranges(BAD, [Candidate(BAD, 1.0, 0.0, 2.0, True)], plain, (1.0, BAD), BAD)]),
    Drawn(
        [Figure(Drawing(BAD, 1, 1, [Box(0, 0, 1, 1, BAD, BAD)]), BAD, BAD, (), (Entry(BAD, BAD),))]
    ),
    Only(("html", "markdown", "terminal"), [Paragraph(BAD)]),
    Footer(BAD),
)
