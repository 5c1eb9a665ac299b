"""What the gateway is measured beside, each in the cache and none installed (`make gateway-peers`;
no root, 1 GB).

<cache>/gateway-peers/   usr/   wrk, nginx and haproxy, Debian's packages
                         litellm/ router/   environments of LiteLLM's proxy, and of vllm-router with
                         aiohttp READY (written last)
Envoy and Redis are set up as well (dev/setup_envoy.py, dev/setup_redis.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev import setup_envoy, setup_redis
from dev.debian import once, unpack
from dev.pypi import environment
from dev.setup_vllm import cache_dir

TARGET = cache_dir() / "gateway-peers"
PACKAGES = (
    *("wrk", "libluajit-5.1-2", "libluajit-5.1-common"),
    "nginx",
    *("haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"),
)
ENVIRONMENTS = {
    "litellm": ("litellm[proxy]==1.106.2",),
    "router": ("vllm-router==0.1.17", "aiohttp==3.14.5", "uvloop==0.23.0"),
}


def is_installed() -> bool:
    """True if this has been run here."""
    return (TARGET / "READY").exists()


def _build() -> None:
    unpack(TARGET, PACKAGES)
    for name, wanted in ENVIRONMENTS.items():
        environment(TARGET / name, *wanted)


def main() -> int:
    """Leave them behind."""
    once(TARGET, _build)
    print(TARGET)
    return setup_envoy.main() + setup_redis.main()


if __name__ == "__main__":
    raise SystemExit(main())
