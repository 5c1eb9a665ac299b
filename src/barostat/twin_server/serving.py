"""The resolved configuration of the twin server: engine, pace, names, faults. Built once from the
command line and passed to both processes.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.version import EngineVersion
from barostat.engines.vllm.logs.writer import StartFacts
from barostat.twin.pace import Pace
from barostat.twin.settings import Settings
from barostat.twin_server.faults import Fault
from barostat.twin_server.lengths import OutputLengths


@dataclass(frozen=True, slots=True)
class Serving:
    """One engine to serve. `model`: as vLLM would be given it; `names`: what requests may call it,
    the first being its own.

    Units: `log_stats_every_s` seconds between statistics lines; `shutdown_timeout_s` 0 aborts what
    is under way at SIGTERM; `start_s` until the port opens.
    """

    settings: Settings
    pace: Pace
    version: EngineVersion
    model: str
    names: tuple[str, ...]
    vocabulary: int
    cache_labels: dict[str, str]
    start: StartFacts
    lengths: OutputLengths
    faults: tuple[Fault, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8000
    seed: int = 0
    start_s: float = 0.0
    shutdown_timeout_s: float = 0.0
    tokenized_bytes_per_s: float = 3e6
    log_stats: bool = True
    log_stats_every_s: float = 10.0
    api_key: str = ""
    track_load: bool = False
    access_log: bool = True
    ssl_keyfile: str = ""
    ssl_certfile: str = ""
    pooling: bool = False
    """Whether it embeds (`--runner pooling`) instead of generating."""
    embedding_size: int = 1024
    """Numbers of a vector: the model's hidden size."""
    refused: str = ""
    """Why this engine would not start, as it says it; empty if it starts."""

    @property
    def name(self) -> str:
        """The name under which the model is served."""
        return self.names[0]
