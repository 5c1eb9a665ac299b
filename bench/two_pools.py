"""One pool of engines beside two, for short and for long prompts, on the same cards: goodput of a
published trace of mixed lengths on the twin.

    python bench/two_pools.py [TRACES] [--minutes 15] [--cards 4] [--only mooncake_conversation] [--load 1.5] [--keep]

TRACES: a folder with servegen_r1_1h and mooncake_conversation. A part of the runs, chosen by --only and --load, replaces
only its own figures in bench/results.

Each card, an H100, serves Llama-3.1-8B by itself. One pool: every request goes to the engine that vLLM's own
balancing would choose. Two pools: prompts up to the split go to the first cards, longer ones to the rest, balanced alike
within each; each division of the cards is tried, and the best is shown. Good: the first token within 2 s and 1 s for each 10,000 tokens of
the prompt, and 60 ms a token on average. Prompts share no prefix here. Prints a line for each load.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from bench.kept import Figure, Kept, keep, kept  # noqa: E402

from barostat.io.input_files.requests_file import read_requests  # noqa: E402
from barostat.shells.cli.simulate.simulate import add_engine_arguments, add_pace_arguments  # noqa: E402
from barostat.shells.cli.simulate.simulate_inputs import engine_of, pace_of  # noqa: E402
from barostat.twin.data_parallel.ranks import Ranks  # noqa: E402
from barostat.twin.outcome import Life  # noqa: E402
from barostat.twin.pace import Pace  # noqa: E402
from barostat.twin.request import Row  # noqa: E402
from barostat.twin.settings import Settings  # noqa: E402

ENGINE = ("--model-config", "meta-llama/Llama-3.1-8B-Instruct", "--gpu", "H100")
TRACES = {"servegen_r1_1h": (1.0, 2.0, 3.0), "mooncake_conversation": (0.5, 1.0, 1.5)}
"""Loads, as multiples of the trace's own rate."""
SHORT_SHARE = 0.9
TTFT_S, TTFT_TOKEN_S, ITL_S = 2.0, 1e-4, 0.06


@dataclass(frozen=True)
class Pooled:
    """What came of a load. `good`: requests within the service level, of short and of long prompts."""

    good_short: int
    good_long: int
    preemptions: int
    cards: str

    @property
    def good(self) -> int:
        """Of both kinds."""
        return self.good_short + self.good_long


def is_good(life: Life) -> bool:
    """True if it kept the service level."""
    if life.first_token_ns is None or life.finished_ns is None:
        return False
    if (life.first_token_ns - life.arrival_ns) / 1e9 > TTFT_S + TTFT_TOKEN_S * life.input_tokens:
        return False
    after = life.output_tokens - 1
    return after < 1 or (life.finished_ns - life.first_token_ns) / 1e9 <= ITL_S * after


def lives(
    settings: Settings, pace: Pace, rows: Sequence[Row], cards: int
) -> tuple[list[Life], int]:
    """What became of the requests on so many cards, and preemptions."""
    if not rows:
        return [], 0
    found = Ranks(settings, rows, pace, cards).run().together
    return found.lives, found.preemptions


def pooled(
    settings: Settings, pace: Pace, rows: Sequence[Row], split: int, cards: Sequence[int]
) -> Pooled:
    """One pool where one number of cards is given, else two."""
    if len(cards) == 1:
        found, preemptions = lives(settings, pace, rows, cards[0])
    else:
        short, first = lives(
            settings, pace, [row for row in rows if row.input_tokens <= split], cards[0]
        )
        long, second = lives(
            settings, pace, [row for row in rows if row.input_tokens > split], cards[1]
        )
        found, preemptions = [*short, *long], first + second
    good = [life for life in found if is_good(life)]
    short_good = sum(life.input_tokens <= split for life in good)
    return Pooled(short_good, len(good) - short_good, preemptions, " + ".join(map(str, cards)))


def main() -> int:
    """A line for each trace and load."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="?", type=Path, default=ROOT.parent / "shared" / "traces")
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--cards", type=int, default=4)
    parser.add_argument("--only", choices=TRACES, help="one trace")
    parser.add_argument(
        "--load", type=float, help="one load, as a multiple of the trace's own rate"
    )
    parser.add_argument("--keep", action="store_true", help="write bench/results/two-pools.json")
    chosen = parser.parse_args()
    options = argparse.ArgumentParser()
    add_engine_arguments(options)
    add_pace_arguments(options)
    arguments = options.parse_args(ENGINE)
    engine = engine_of(arguments)
    pace = pace_of(arguments, engine)
    print(f"{engine.settings.usable_blocks:,} blocks a card; {chosen.cards} cards")
    print(
        f"{'trace':22} {'load':>5} {'requests':>9} {'split':>7} {'cards':>5} {'good/s':>7} {'good: short':>12} {'long':>6} {'preempted':>9}"
    )
    figures: list[Figure] = []
    for name, loads in TRACES.items():
        if chosen.only not in (None, name):
            continue
        read, _ = read_requests(chosen.traces / f"{name}.csv.gz", 16)
        plain = [
            row._replace(hash_ids=None)
            for row in read
            if row.input_tokens + row.output_tokens <= engine.settings.max_model_len
        ]
        split = sorted(row.input_tokens for row in plain)[int(SHORT_SHARE * len(plain))]
        for times in loads:
            if chosen.load not in (None, times):
                continue
            rows = [
                row._replace(arrival_s=row.arrival_s / times)
                for row in plain
                if row.arrival_s / times < 60 * chosen.minutes
            ]
            one = pooled(engine.settings, pace, rows, split, [chosen.cards])
            two = max(
                (
                    pooled(engine.settings, pace, rows, split, [first, chosen.cards - first])
                    for first in range(1, chosen.cards)
                ),
                key=lambda found: found.good,
            )
            short = sum(row.input_tokens <= split for row in rows)
            case = f"{name}, load {times:g}, split at {split:,} tokens"
            for found in (one, two):
                figures.append(
                    Figure(
                        f"{case}: {found.cards} cards",
                        f"{found.good / chosen.minutes / 60:.2f} good requests/s; good: "
                        f"{found.good_short / max(1, short):.1%} of short prompts, "
                        f"{found.good_long / max(1, len(rows) - short):.1%} of long ones",
                        len(rows),
                    )
                )
                print(f"{name:22} {times:5g} {len(rows):9,} {split:7,} {found.cards:>5} {found.good / chosen.minutes / 60:7.2f} "
                      f"{found.good_short / max(1, short):12.1%} {found.good_long / max(1, len(rows) - short):6.1%} {found.preemptions:9,}",
                      flush=True)  # fmt: skip
    if chosen.keep:
        keep("two-pools", _kept(figures, chosen.minutes, chosen.cards))
    return 0


def _kept(figures: Sequence[Figure], minutes: float, cards: int) -> Kept:
    """These figures, and those on file of other traces and loads."""
    cases = {one.what.partition(":")[0] for one in figures}
    before = kept("two-pools")
    others = (
        [one for one in before.figures if one.what.partition(":")[0] not in cases] if before else []
    )
    return Kept(
        f"python bench/two_pools.py TRACES --minutes {minutes:g} --cards {cards} --keep",
        f"{minutes:g} minutes of published traces (ServeGen, Mooncake), Llama-3.1-8B on {cards} engines of the twin, an H100 each",
        sorted([*figures, *others], key=lambda one: one.what),
        [
            "The better division of the cards was chosen knowing the load: it is an upper bound for two pools.",
            "Prompts share no prefix: requests of one conversation gain nothing from a pool of their own.",
            "No card is in it: step times are those that ship with Barostat.",
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
