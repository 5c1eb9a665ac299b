"""`barostat version`: this version, the versions of vLLM that it knows, and what becomes of
others.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

from barostat.shells.reports.json_text import json_text


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "version",
        help="show the version, and the known versions of vLLM",
        description=(
            "Print the version, the versions of vLLM that are known, and what happens on one "
            "that is not."
        ),
        epilog="example: barostat version -o json",
    )
    parser.add_argument(
        "-o", "--output", choices=("table", "json"), default="table", help="form (default table)"
    )
    parser.set_defaults(run=run)


def known() -> dict[str, str]:
    """The versions, each by what it is of."""
    from barostat.catalog.vllm_versions import (
        DEFAULT_VERSION,
        NEWEST_READ,
        OLDEST_READ,
        OLDEST_SIMULATED,
    )
    from barostat.core.release import __version__

    gate = find_spec("barostat.admit.gate")
    return {
        "barostat": __version__,
        "vllmRead": f"{OLDEST_READ} to {NEWEST_READ}",
        "vllmSimulated": f"{OLDEST_SIMULATED} to {NEWEST_READ}",
        "vllmAssumed": DEFAULT_VERSION,
        "gateway": "compiled"
        if gate and gate.origin and not gate.origin.endswith(".py")
        else "pure Python",
    }


def run(arguments: argparse.Namespace) -> int:
    """Print them."""
    versions = known()
    if arguments.output == "json":
        from barostat.shells.reports.api_version import API_VERSION

        print(json_text({"apiVersion": API_VERSION, "kind": "Version", **versions}))
        return 0
    print(f"barostat {versions['barostat']}")
    print(
        f"vLLM read (metrics, log, flags): {versions['vllmRead']}; simulated: "
        f"{versions['vllmSimulated']}"
    )
    print(
        "assumed where nothing says which (plan, simulate, what-if, tune, twin): "
        f"{versions['vllmAssumed']}"
    )
    print(
        "A newer vLLM is read as the newest known, and the report says so; what it renamed "
        "is missing, and what is missing proves nothing."
    )
    print(f"gateway: {versions['gateway']}")
    print("Nothing is sent anywhere: there is no telemetry, and no check for updates.")
    return 0
