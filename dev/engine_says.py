"""What a running engine says of itself to whoever measures it: a scrape, a counter in it, its pool,
a log with milliseconds.
"""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

from dev.engine import Engine

# vLLM's own stamps are whole seconds. A container's log has finer ones from its runtime; here the
# engine is asked for them.
_STAMPS = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "fine": {
            "format": "%(levelname)s %(asctime)s.%(msecs)03d [%(filename)s:%(lineno)d] %(message)s",
            "datefmt": "%m-%d %H:%M:%S",
        }
    },
    "handlers": {
        "out": {"class": "logging.StreamHandler", "formatter": "fine", "stream": "ext://sys.stdout"}
    },
    "loggers": {"vllm": {"handlers": ["out"], "level": "INFO", "propagate": False}},
}


def fine_stamps(folder: Path) -> dict[str, str]:
    """Environment of an engine whose log has milliseconds."""
    path = folder / "logging.json"
    path.write_text(json.dumps(_STAMPS))
    return {"VLLM_LOGGING_CONFIG_PATH": str(path)}


def scrape(engine: Engine) -> str:
    """The engine's metrics."""
    with urllib.request.urlopen(engine.url + "/metrics", timeout=10) as answer:
        return str(answer.read().decode())


def counter(text: str, name: str) -> float:
    """The value of a counter in a scrape."""
    found = re.search(rf"^{re.escape(name)}\{{[^}}]*\}} (\S+)", text, re.MULTILINE)
    assert found is not None, f"{name} is not in the metrics"
    return float(found[1])


def pool_labels(text: str) -> dict[str, str]:
    """What the engine tells of its pool: `num_gpu_blocks`, `block_size`, `enable_prefix_caching`
    and more.
    """
    return dict(
        re.findall(
            r'(\w+)="([^"]*)"',
            next(line for line in text.splitlines() if line.startswith("vllm:cache_config_info{")),
        )
    )
