"""Cards over time, as signals: what a symptom may judge about the GPUs of one replica.

Drawing: readings [(at, cards, source), ...] -> one signal per name, a point per reading that tells
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from barostat.catalog.gpu_faults import throttle_class, xid_weight
from barostat.catalog.signals import signal
from barostat.core.signal import Signal
from barostat.gpus.card import MIB, Card, CardProcess

Cards = tuple[Card, ...]
_OWN_NAME = re.compile(r"vllm|python|\bray\b|ray::|EngineCore|Worker", re.IGNORECASE)
SECOND_ENGINE_BYTES = 2048 * MIB
"""Two processes of one engine share a card only for a bare context (about half a GiB); one that
holds more is another engine.
"""
BARE_CONTAINER_BYTES = 1024 * MIB
"""An empty process list on a card that holds more than this is a container that cannot see
processes, not a card without any.
"""


def signals(
    readings: Sequence[tuple[float, Cards, str]], own_pids: frozenset[int] | None
) -> list[Signal]:
    """Return the gpu_* signals of the cards over the readings (instant, cards, source).

    `own_pids`: process ids of this engine in the tool's namespace. If None, or none of them is
    seen, processes are distinguished by name.
    """
    ordered = sorted(
        (reading for reading in readings if reading[1]), key=lambda reading: reading[0]
    )
    made = [
        _series("gpu_memory_used_ratio", ordered, _highest(_used_ratio), _used_detail),
        _series("gpu_utilization_ratio", ordered, _mean_utilization, _nothing),
        _series("gpu_power_ratio", ordered, _highest(lambda card: card.power_ratio), _nothing),
        _series("gpu_temperature_c", ordered, _highest(lambda card: card.temperature_c), _nothing),
        _series("gpu_count", ordered, lambda cards: float(len(cards)), _names),
        _series("gpu_throttle_fault", ordered, _throttled("fault"), _throttle_detail("fault")),
        _series(
            "gpu_throttle_power_cap",
            ordered,
            _throttled("power-cap"),
            _throttle_detail("power-cap"),
        ),
        _series(
            "gpu_ecc_uncorrected",
            ordered,
            _total(lambda card: card.ecc_uncorrected),
            _where(lambda card: card.ecc_uncorrected),
        ),
        _series(
            "gpu_ecc_corrected",
            ordered,
            _total(lambda card: card.ecc_corrected),
            _where(lambda card: card.ecc_corrected),
        ),
        _series(
            "gpu_rows_pending",
            ordered,
            _total(lambda card: card.rows_pending),
            _where(lambda card: card.rows_pending),
        ),
        _series(
            "gpu_rows_failed",
            ordered,
            _total(lambda card: card.rows_failed),
            _where(lambda card: card.rows_failed),
        ),
        _series("gpu_xid", ordered, _worst_xid, _where(lambda card: card.xid)),
        _series(
            "gpu_lost", ordered, lambda cards: float(sum(card.lost for card in cards)), _lost_detail
        ),
        _series("gpu_memory_total_bytes", ordered, _smallest_total, _nothing),
        _series("gpu_memory_free_bytes", ordered, _free, _nothing),
        _series(
            "gpu_foreign_memory_bytes",
            ordered,
            lambda cards: (_foreign(cards, own_pids) or (None, ""))[0],
            lambda cards: (_foreign(cards, own_pids) or (None, ""))[1],
        ),
    ]
    return [found for found in made if found is not None]


def _series(
    name: str,
    ordered: Sequence[tuple[float, Cards, str]],
    value: Callable[[Cards], float | None],
    detail: Callable[[Cards], str],
) -> Signal | None:
    points: list[tuple[float, float]] = []
    last: tuple[Cards, str] | None = None
    for at, cards, source in ordered:
        if (found := value(cards)) is not None:
            points.append((at, found))
            last = (cards, source)
    return signal(name, points, last[1], detail(last[0])) if last is not None else None


def _nothing(_cards: Cards) -> str:
    return ""


def _told(cards: Cards, field: Callable[[Card], float | None]) -> list[float]:
    return [value for card in cards if (value := field(card)) is not None]


def _highest(field: Callable[[Card], float | None]) -> Callable[[Cards], float | None]:
    return lambda cards: max(_told(cards, field), default=None)


def _total(field: Callable[[Card], float | None]) -> Callable[[Cards], float | None]:
    return lambda cards: sum(told) if (told := _told(cards, field)) else None


def _where(field: Callable[[Card], float | None]) -> Callable[[Cards], str]:
    """`card 3: 2`, for every card where the field is not 0."""
    return lambda cards: ", ".join(
        f"{card.title}: {value:g}" for card in cards if (value := field(card))
    )


def _used_ratio(card: Card) -> float | None:
    if card.memory_used_bytes is None or not card.memory_total_bytes:
        return None
    return card.memory_used_bytes / card.memory_total_bytes


def _fullest(cards: Cards) -> Card | None:
    known = [card for card in cards if _used_ratio(card) is not None]
    return max(known, key=lambda card: _used_ratio(card) or 0.0, default=None)


def _used_detail(cards: Cards) -> str:
    card = _fullest(cards)
    if card is None or card.memory_used_bytes is None or card.memory_total_bytes is None:
        return ""
    return (
        f"{card.title}: {card.memory_used_bytes / MIB:.0f} of "
        f"{card.memory_total_bytes / MIB:.0f} MiB"
    )


def _mean_utilization(cards: Cards) -> float | None:
    told = _told(cards, lambda card: card.utilization_ratio)
    return sum(told) / len(told) if told else None


def _names(cards: Cards) -> str:
    return ", ".join(dict.fromkeys(card.name for card in cards if card.name))


def _throttled(kind: str) -> Callable[[Cards], float | None]:
    def count(cards: Cards) -> float | None:
        told = [card.throttle for card in cards if card.throttle is not None]
        return (
            float(
                sum(any(throttle_class(reason) == kind for reason in reasons) for reasons in told)
            )
            if told
            else None
        )

    return count


def _throttle_detail(kind: str) -> Callable[[Cards], str]:
    def detail(cards: Cards) -> str:
        shown = []
        for card in cards:
            wanted = [
                reason
                for reason in card.throttle or ()
                if throttle_class(reason) in (kind, "unclear")
            ]
            if wanted:
                shown.append(f"{card.title}: {', '.join(wanted)}")
        return "; ".join(shown)

    return detail


def _worst_xid(cards: Cards) -> float | None:
    """The code that matters most."""
    codes = [card.xid for card in cards if card.xid is not None]
    if not codes:
        return None
    return float(max(codes, key=xid_weight))


def _lost_detail(cards: Cards) -> str:
    return "; ".join(
        f"{card.title} ({card.name or 'no name'}): {card.note}" for card in cards if card.lost
    )


def _smallest_total(cards: Cards) -> float | None:
    return min(_told(cards, lambda card: card.memory_total_bytes), default=None)


def _free(cards: Cards) -> float | None:
    card = _fullest(cards)
    if card is None or card.memory_used_bytes is None or card.memory_total_bytes is None:
        return None
    return max(0.0, card.memory_total_bytes - card.memory_used_bytes)


def _foreign(cards: Cards, own_pids: frozenset[int] | None) -> tuple[float, str] | None:
    """Return the largest number of foreign bytes on a card, and the processes that hold them; None
    if no card lists its processes.
    """
    listed = [process for card in cards for process in card.processes or ()]
    by_pid = own_pids is not None and any(process.pid in own_pids for process in listed)
    if (
        own_pids is not None
        and not by_pid
        and not any(_OWN_NAME.search(process.name) for process in listed)
    ):
        by_pid = True  # the engine holds nothing on any card: whatever is there is foreign
    best: tuple[float, str] | None = None
    for card in cards:
        found = _foreign_on(card, own_pids if by_pid else None)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return best


def _foreign_on(card: Card, own_pids: frozenset[int] | None) -> tuple[float, str] | None:
    if card.processes is None:
        return None
    known = [process for process in card.processes if process.memory_bytes is not None]
    if not known and (card.processes or (card.memory_used_bytes or 0.0) > BARE_CONTAINER_BYTES):
        return None
    if own_pids is not None:
        foreign = [process for process in known if process.pid not in own_pids]
        basis = ""
    else:
        foreign = _foreign_by_name(known)
        basis = " (told apart by process name: the engine's process ids are not known)"
    held = sum(process.memory_bytes or 0.0 for process in foreign)
    return held, f"{card.title}: {_list(foreign)}{basis}" if foreign else ""


def _foreign_by_name(processes: Iterable[CardProcess]) -> list[CardProcess]:
    """Return processes that do not look like vLLM's, and any process next to vLLM's largest that is
    so large that it must be a second engine.
    """
    known = list(processes)
    ours = sorted(
        (process for process in known if _OWN_NAME.search(process.name)),
        key=lambda process: -(process.memory_bytes or 0.0),
    )
    second = [
        process for process in ours[1:] if (process.memory_bytes or 0.0) >= SECOND_ENGINE_BYTES
    ]
    return [process for process in known if not _OWN_NAME.search(process.name)] + second


def _list(processes: Iterable[CardProcess]) -> str:
    return ", ".join(
        (
            f"{process.name or '?'} (pid {process.pid or '?'}) "
            f"{(process.memory_bytes or 0.0) / MIB:.0f} MiB"
        )
        for process in processes
    )
