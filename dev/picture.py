"""The picture in the README: what `barostat diagnose` prints for a recording of the real vLLM in
thrash.

python dev/picture.py        writes docs/images/diagnose.svg
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from barostat.io.bundles import bundle
from barostat.judge.advice.tried_steps import advised
from barostat.shells.reports.diagnosis.document import report_document
from barostat.shells.reports.sheet.forms import print_document

ROOT = Path(__file__).resolve().parents[1]
RECORDING = ROOT / "tests" / "data" / "bundles" / "kv-preemption-thrash"
PICTURE = ROOT / "docs" / "images" / "diagnose.svg"
WIDTH = 118
TARGET = "http://localhost:8000"

THEME = TerminalTheme(
    (24, 26, 31),
    (222, 222, 222),
    [
        (24, 26, 31),
        (224, 86, 86),
        (126, 190, 118),
        (222, 184, 98),
        (98, 160, 222),
        (190, 130, 200),
        (96, 190, 190),
        (222, 222, 222),
    ],
    [
        (110, 116, 128),
        (240, 100, 100),
        (150, 210, 140),
        (240, 200, 110),
        (120, 180, 240),
        (210, 150, 220),
        (120, 210, 210),
        (250, 250, 250),
    ],
)
# Rich's own frame without its web font: a picture in a repository fetches nothing.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px;
line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def main() -> None:
    """Leave the picture at its place."""
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
    )
    report = replace(advised(bundle.read(RECORDING)).report, target=TARGET)
    print_document(report_document(report, short=True), console)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(
        console.export_svg(
            title=f"barostat diagnose {TARGET}",
            theme=THEME,
            code_format=FRAME,
            unique_id="barostat",
        )
    )
    print(PICTURE)


if __name__ == "__main__":
    main()
