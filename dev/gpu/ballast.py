"""Another process that takes a card's memory: all that is free but for so many MiB, until its stdin
closes. Runs in vLLM's own Python.

python ballast.py MIB
"""

from __future__ import annotations

import sys


def main(left_mib: int) -> None:
    """It is held when this prints so."""
    import torch

    free_bytes, _ = torch.cuda.mem_get_info()
    held = torch.empty(max(0, free_bytes - (left_mib << 20)), dtype=torch.uint8, device="cuda")
    print(f"holds {held.numel()} bytes", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
