"""The picture of `barostat top` in docs/images: a real run over four twins, of which one is in KV
pressure and one queues for slots.

python dev/top_picture.py        (a minute; needs no vLLM)
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.load import Background, Load
from dev.picture import FRAME, THEME
from dev.twin_engine import TwinEngine
from rich.console import Console

from barostat.shells.cli.diagnose.top import fleets
from barostat.shells.reports.live.frame import ABOVE, BELOW, frame
from barostat.shells.reports.live.view import View

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "top.svg"
SMALL = ("--max-model-len", "4096", "--num-gpu-blocks-override", "64", "--max-num-seqs", "64")
WIDTH, LOOKS, WARM_S = 80, 7, 15.0
LOADS = (
    Load(clients=40, prompt_tokens=(200, 400), output_tokens=(300, 600)),
    Load(clients=4, prompt_tokens=(100, 300), output_tokens=(100, 200)),
    Load(clients=3, prompt_tokens=(100, 300), output_tokens=(100, 200)),
    None,
)


def main() -> None:
    """Leave the picture at its place."""
    with ExitStack() as stack:
        engines = [stack.enter_context(TwinEngine(*SMALL, shape="small")) for _ in LOADS]
        for engine, load in zip(engines, LOADS, strict=True):
            engine.wait_ready(within_s=60)
            if load is not None:
                stack.enter_context(Background(engine.url, load))
        time.sleep(WARM_S)
        wanted = argparse.Namespace(
            target=[engine.url for engine in engines], interval_s=5.0, for_s=30.0, log=None, pid=None, selector=None, all_namespaces=False,
            namespace=None, context=None, kubeconfig=None, exec_gpu_tools=False, probe=False,
        )  # fmt: skip
        for turn, seen in enumerate(fleets(wanted), 1):  # noqa: B007
            if turn == LOOKS:
                break
        console = Console(
            record=True,
            width=WIDTH,
            file=io.StringIO(),
            force_terminal=True,
            color_system="truecolor",
            highlight=False,
        )
        for line in frame(seen, View(), WIDTH, ABOVE + BELOW + len(engines) + 1):
            console.print(line)
    PICTURE.write_text(
        console.export_svg(
            title="barostat top", theme=THEME, code_format=FRAME, unique_id="barostat-top"
        )
    )
    print(PICTURE)


if __name__ == "__main__":
    main()
