"""The short moving picture of `make demo` in the README: a real run, its lines as they came, its
long waits cut short.

python dev/demo_recording.py        runs the demo (75 s) and writes docs/images/demo.svg

The picture is text that two animations of CSS uncover and move up; no script, nothing to fetch.
Where less motion is preferred it stands still and shows the end.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "demo.svg"
COLUMNS, ROWS = 104, 30
_CHAR, _LINE, _EDGE, _BAR = 7.25, 17.0, 14.0, 30.0
_DOTS = ("#e05656", "#deb862", "#7ebe76")
_QUICK_S, _WAIT_S, _LAST_S = 0.12, 1.1, 5.0
"""Between two lines no less and no more than this is kept of what passed; the end stands longer."""
_KINDS = (
    ("cmd", re.compile(r"demo: +\$ ")), ("bad", re.compile(r" CRITICAL |FAILED| collapse")), ("warn", re.compile(r" WARNING ")),
    ("good", re.compile(r" (?:OK|HEALTHY) |demo: (?:after|behind|done)")), ("told", re.compile(r"demo: ")),
)  # fmt: skip
_LABEL = re.compile(
    r"(?:Why|Ruled out|Next steps|Don't|Triggered by|Forecast|Notes|Missing data)(?= )"
)
_STYLE = """
.t{font:12px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#dedede;white-space:pre}
.cmd{fill:#62a0de;font-weight:700}.bad{fill:#e05656;font-weight:700}.warn{fill:#deb862}.good{fill:#7ebe76}.told{fill:#62a0de}.name{fill:#deb862}
"""

Told = tuple[float, str]


def record(command: Sequence[str]) -> list[Told]:
    """Each line that the command printed, with the second at which it came. Errors:
    CalledProcessError where it fails.
    """
    began = time.monotonic()
    found: list[Told] = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(),
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            found.append((time.monotonic() - began, line.rstrip().replace(str(ROOT) + "/", "")))
            print(line, end="", flush=True)
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, command)
    return found


def shortened(told: Sequence[Told]) -> list[Told]:
    """The same lines, with waits between the least and the most that are kept; the first comes at
    once. Long lines are folded.
    """
    found: list[Told] = []
    at, before = 0.0, told[0][0] if told else 0.0
    for came, line in told:
        at += min(_WAIT_S, max(_QUICK_S, came - before)) if found else 0.0
        found += (
            [(at, row) for row in textwrap.wrap(line, COLUMNS, subsequent_indent=" " * 12) or [""]]
            if len(line) > COLUMNS
            else [(at, line)]
        )
        before = came
    return found


def picture(told: Sequence[Told], title: str) -> str:
    """The SVG. Shapes: seconds ascend. Its resting state is the end, for those who want no motion
    and for what cannot animate.
    """
    length = told[-1][0] + _LAST_S
    width, height = COLUMNS * _CHAR + 2 * _EDGE, ROWS * _LINE + _BAR + 1.5 * _EDGE
    covers, moves = [], []
    for place, (at, _) in enumerate(told):
        share = f"{100 * at / length:.2f}%"
        covers.append(f"{share}{{transform:translateY({(place + 1) * _LINE:g}px)}}")
        moves.append(f"{share}{{transform:translateY({-max(0, place + 1 - ROWS) * _LINE:g}px)}}")
    end, up = len(told) * _LINE, -max(0, len(told) - ROWS) * _LINE
    style = (
        f"{_STYLE}.cover{{transform:translateY({end:g}px)}}.roll{{transform:translateY({up:g}px)}}"
        f"@keyframes cover{{{''.join(covers)}100%{{transform:translateY({end:g}px)}}}}"
        f"@keyframes roll{{{''.join(moves)}100%{{transform:translateY({up:g}px)}}}}"
        f"@media (prefers-reduced-motion:no-preference){{.cover{{animation:cover "
        f"{length:.1f}s step-end infinite}}"
        f".roll{{animation:roll {length:.1f}s step-end infinite}}}}"
    )
    lines = "".join(_text(place, line) for place, (_, line) in enumerate(told) if line)
    dots = "".join(
        f'<circle cx="{_EDGE + 6 + 18 * place:g}" cy="16" r="5" fill="{c}"/>'
        for place, c in enumerate(("#e05656", "#deb862", "#7ebe76"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" role="img"'
        f' aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><style>{style}</style>"
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#181a1f"/>{dots}'
        f'<text class="t" x="{width / 2:g}" y="20" text-anchor="middle" '
        'fill-opacity=".6">make demo</text>'
        f'<svg x="{_EDGE:g}" y="{_BAR:g}" width="{width - 2 * _EDGE:g}" '
        f'height="{ROWS * _LINE:g}"><g class="roll">{lines}'
        f'<rect class="cover" x="-5" width="{width:g}" height="{end + ROWS * _LINE:g}" '
        'fill="#181a1f"/></g></svg></svg>\n'
    )


def _text(place: int, line: str) -> str:
    kind = next((f" {name}" for name, pattern in _KINDS if pattern.search(line)), "")
    label = _LABEL.match(line)
    shown = (
        f'<tspan class="name">{label[0]}</tspan>{escape(line[label.end() :])}'
        if label
        else escape(line)
    )
    return (
        f'<text class="t{kind}" xml:space="preserve" y="{(place + 1) * _LINE - 4:g}">{shown}</text>'
    )


def _environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}


def main() -> int:
    """Run the demo, draw it."""
    told = shortened(record([sys.executable, "dev/demo.py"]))
    PICTURE.write_text(
        picture(
            told, "make demo: a burst collapses a vLLM; it is diagnosed, changed, and recovers"
        ),
        encoding="utf-8",
    )
    print(
        f"{PICTURE.relative_to(ROOT)}: {len(told)} lines, {told[-1][0] + _LAST_S:.0f} s, "
        f"{PICTURE.stat().st_size / 1e3:.0f} kB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
