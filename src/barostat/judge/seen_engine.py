"""One running engine as its scrapes show it: what the twin is set up, paced and fed from."""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.errors import InputError
from barostat.core.window import Window
from barostat.engines.vllm import metrics
from barostat.engines.vllm.scrapes import EngineScrapes, Scrape, engines_of, in_order
from barostat.judge.assemble import windows
from barostat.judge.recording import Recording, ReplicaRecording


@dataclass(frozen=True, slots=True)
class SeenEngine:
    """The engine's window, its scrapes (None: its metrics were not seen), its card, and what was odd, a sentence each."""

    window: Window
    scrapes: EngineScrapes | None
    gpu: str | None = None
    notes: tuple[str, ...] = ()


def engine_scrapes(replica: ReplicaRecording, index: str | None = None) -> EngineScrapes | None:
    """The scrapes of the replica's engine of that index, of its first one without; None where none of them is vLLM's."""
    ordered, _ = in_order([(scrape.at, metrics.read(scrape.text), scrape.source) for scrape in replica.scrapes])
    if not ordered:
        return None
    present: dict[str, list[Scrape]] = {}
    for scrape in ordered:
        for engine in engines_of(scrape.exposition):
            present.setdefault(engine, []).append(scrape)
    wanted = index if index in present else min(present, key=lambda text: (len(text), text), default=None)
    return None if wanted is None else EngineScrapes(wanted, present[wanted])


def seen_engine(recording: Recording) -> SeenEngine:
    """The first engine of the recording whose configuration is told.

    Errors: InputError where no engine tells any.
    """
    for replica in recording.replicas:
        found, _ = windows(recording, replica)
        for index, window in found.items():
            if window.config.values:
                return SeenEngine(window, engine_scrapes(replica, index), replica.gpu, _others(recording, replica, len(found)))
    raise InputError("tells nothing of an engine's configuration", recording.target)


def _others(recording: Recording, replica: ReplicaRecording, engines: int) -> tuple[str, ...]:
    notes = []
    if len(recording.replicas) > 1:
        notes.append(f"{recording.target} has {len(recording.replicas)} replicas: {replica.name} stands for all")
    if engines > 1:
        notes.append(f"{replica.name} has {engines} data-parallel engines: the first stands for all, with its own share of the traffic")
    return tuple(notes)
