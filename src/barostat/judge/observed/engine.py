"""One running engine as its scrapes show it: what the twin is set up, paced and fed from."""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.errors import InputError
from barostat.core.window import Window
from barostat.engines.vllm.logs.digest import LogDigest
from barostat.engines.vllm.metrics.scrapes import EngineScrapes, Scrape, engines_of, in_order
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.platform.pods import engines_in


@dataclass(frozen=True, slots=True)
class ObservedEngine:
    """The engine's window, its scrapes (None: its metrics were not seen), its card, its log, and
    what was odd, a sentence each.

    `index`: its data-parallel index, "" where it is the only engine. `replicas`: that share the
    traffic, itself counted.
    """

    window: Window
    scrapes: EngineScrapes | None
    gpu: str | None = None
    notes: tuple[str, ...] = ()
    log: LogDigest | None = None
    index: str = ""
    replicas: int = 1


def engine_scrapes(replica: ReplicaRecording, index: str | None = None) -> EngineScrapes | None:
    """The scrapes of the replica's engine of that index, of its first one without; None if none
    of them is vLLM's.
    """
    ordered, _ = in_order([scrape.dated() for scrape in replica.scrapes])
    if not ordered:
        return None
    present: dict[str, list[Scrape]] = {}
    for scrape in ordered:
        for engine in engines_of(scrape.exposition):
            present.setdefault(engine, []).append(scrape)
    wanted = (
        index
        if index in present
        else min(present, key=lambda text: (len(text), text), default=None)
    )
    return None if wanted is None else EngineScrapes(wanted, present[wanted])


@dataclass(frozen=True, slots=True)
class BusiestEngine:
    """The engine of a recording that has most requests. `notes`: what it stands for, and which of its
    engines preempt, a sentence each.
    """

    replica: ReplicaRecording
    index: str
    window: Window
    notes: tuple[str, ...]


def busiest_engine(recording: Recording) -> BusiestEngine:
    """Return the busiest engine of the recording whose configuration is known.

    Errors: InputError if there is none.
    """
    found = [
        (replica, index, window)
        for replica in recording.replicas
        for index, window in windows(recording, replica)[0].items()
        if window.config.values
    ]
    if not found:
        raise InputError("tells nothing of an engine's configuration", recording.target)
    replica, index, window = max(found, key=lambda one: _requests(one[2]))
    own = {at: one for other, at, one in found if other is replica}
    return BusiestEngine(replica, index, window, _others(recording, window, own, index))


def observed_engine(recording: Recording) -> ObservedEngine:
    """Return the busiest engine of the recording whose configuration is known; it represents all.

    Errors: InputError if there is none.
    """
    busiest = busiest_engine(recording)
    return ObservedEngine(
        busiest.window,
        engine_scrapes(busiest.replica, busiest.index),
        busiest.replica.gpu,
        busiest.notes,
        busiest.replica.log,
        busiest.index,
        len(recording.replicas),
    )


def _requests(window: Window) -> float:
    """Running and waiting requests, the mean of each; -1 where that was not seen."""
    found = [
        window.signals[name].mean
        for name in ("running_requests", "waiting_requests")
        if name in window.signals
    ]
    return sum(found) if found else -1.0


def _others(
    recording: Recording, window: Window, engines: dict[str, Window], index: str
) -> tuple[str, ...]:
    notes = []
    requests = _requests(window)
    busiest = (
        f"with {requests:.0f} requests on average the busiest" if requests >= 0 else "the first"
    )
    if len(recording.replicas) > 1:
        another = " (--from pod/NAME for another)" if window.pod else ""
        notes.append(
            f"{recording.target} has {len(recording.replicas)} replicas: {window.replica}, "
            f"{busiest}, stands for each, with its own share "
            f"of the traffic{another}"
        )
    if len(engines) > 1:
        notes.append(
            f"{window.replica} has {len(engines)} "
            f"{engines_in(recording.kubernetes, window.replica)}: engine {index}, "
            f"{busiest}, stands for each, with its own share{_preempting(engines)}"
        )
    return tuple(notes)


def _preempting(engines: dict[str, Window]) -> str:
    """Which of the engines preempt, in a clause; empty if none does."""
    counted = {
        index: window.signals["preemptions_in_window"].last
        for index, window in engines.items()
        if "preemptions_in_window" in window.signals
    }
    preempt = [f"engine {index} ({count:,.0f})" for index, count in counted.items() if count]
    calm = [f"engine {index}" for index, count in counted.items() if not count]
    if not preempt:
        return ""
    others = f"; {', '.join(calm)} preempted none" if calm else ""
    return f"; preemptions: {', '.join(preempt)}{others}"
