"""`make gpu`: the run-book on the card that is here, in 25 minutes; run again, it resumes where "
"it stopped cut off.

    python -m dev.gpu [--minutes 25] [--only NAME,...] [--again] [--list] [--out DIR] [--on-cpu |
    --on-twin]

The files are of the folder that it names at the end. VLLM=path says which vLLM, where it is not the
one on PATH. Exits 0; 2 where there is no card or no vLLM; 130 after Ctrl-C, with what is done.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dev.engine import ROOT
from dev.gpu import cards as card_tools
from dev.gpu.book import book
from dev.gpu.fitting import left_out
from dev.gpu.here import Here, here
from dev.gpu.item import Bench, Item, say
from dev.gpu.journal import STARTUPS, Journal, folder_to_go_on_with, is_of
from dev.gpu.run import run_book
from dev.gpu.summary import summary

MINUTES = 25.0


def main(arguments: Sequence[str] | None = None) -> int:
    """The run-book has been gone through as far as there was time; what came of it is on stdout."""
    chosen = _asked(arguments)
    found = here("cpu" if chosen.on_cpu else "twin" if chosen.on_twin else "card")
    if isinstance(found, str):
        print(f"gpu: {found}", file=sys.stderr)
        return 2
    folder = (chosen.out or _folder(found, anew=chosen.again)).absolute()
    identity = {"card": found.name, "vllm": found.version}
    if not is_of(folder, identity):
        print(
            f"gpu: {folder} holds what was measured on another card or version; give another --out",
            file=sys.stderr,
        )
        return 2
    journal = Journal(folder, titles={STARTUPS: _title(found)})
    items = book(found, journal)
    if unknown := set(chosen.only) - {item.name for item in items}:
        print(
            f"gpu: not in the run-book: {', '.join(sorted(unknown))}; --list shows it",
            file=sys.stderr,
        )
        return 2
    items = tuple(item for item in items if not chosen.only or item.name in chosen.only)
    if chosen.list:
        print(_listed(items, found, journal))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    journal.open(identity | _more(found))
    for name, text in card_tools.tables().items() if found.kind == "card" else ():
        journal.text(name, text)
    say(
        f"{found.name}, vLLM {found.version}, {len(items)} items, {chosen.minutes:g} "
        f"minutes, into {_shown(folder)}"
    )
    outcome = run_book(items, Bench(found, journal, again=chosen.again), chosen.minutes)
    print(summary(items, outcome, journal, _shown(folder)))
    return 130 if outcome.interrupted else 0


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help=f"what does not end within them is not begun (default {MINUTES:g})",
    )
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=[],
        metavar="NAME,...",
        help="these items alone",
    )
    parser.add_argument("--again", action="store_true", help="also what is on record already")
    parser.add_argument(
        "--list",
        action="store_true",
        help="what would be measured here, and what is left out and why; nothing is started",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where the files go (default: a dated folder under bench/gpu)",
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--on-cpu",
        action="store_true",
        help="all but the card: the CPU build (make vllm), small shapes, into build/gpu",
    )
    place.add_argument(
        "--on-twin", action="store_true", help="the same on the twin, which needs no vLLM"
    )
    return parser.parse_args(arguments)


def _folder(found: Here, *, anew: bool) -> Path:
    """Measurements of a card are data of the repository; those of a CPU are not."""
    room = ROOT / ("bench/gpu" if found.kind == "card" else "build/gpu")
    return folder_to_go_on_with(
        room,
        time.strftime("%Y-%m-%d"),
        found.label,
        {"card": found.name, "vllm": found.version},
        anew=anew,
    )


def _shown(folder: Path) -> Path:
    return folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder


def _more(found: Here) -> dict[str, object]:
    """What is said of here, beside what decides where a run goes on."""
    known = found.known_card
    return {
        "kind": found.kind, "begun": time.strftime("%Y-%m-%d"), "driver": found.driver, "cards": len(found.cards),
        "memory_gib": None if found.memory_gib is None else round(found.memory_gib, 3), "catalogue": known.name if known else None,
        "env": found.chosen_env,
    }  # fmt: skip


def _title(found: Here) -> str:
    driver = f", driver {found.driver}" if found.driver else ""
    return (
        f"# Start-ups of vLLM {found.version} on {found.name}{driver}, by `make gpu`: "
        "shapes of the catalogue, random weights, one run\n"
        "# each. `planned`: what `barostat plan` said. Units and fields as in sizing_public.yaml.\n"
    )


def _listed(items: Sequence[Item], found: Here, journal: Journal) -> str:
    """A line for each item."""
    finished = journal.finished()
    lines = [
        f"{found.name}, vLLM {found.version}" + (f", driver {found.driver}" if found.driver else "")
    ]
    for item in items:
        why = left_out(item, found, journal)
        state = (
            f"left out: {why}"
            if why
            else finished[item.name]["outcome"]
            if item.name in finished
            else f"about {item.minutes:.1f} min"
        )
        lines.append(f"{item.name:28} {item.kind:9} {item.model:42} {state}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
