"""`barostat mcp`: the read-only verbs as tools for agents."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from barostat.core.extras import how_to_install

EPILOG = """\
examples:
  barostat mcp                                     # over standard input and output, as an agent starts it
  barostat mcp --http 8765                         # at http://127.0.0.1:8765/mcp
  barostat mcp --context staging --bundles ./incidents

An agent's configuration: {"mcpServers": {"barostat": {"command": "barostat", "args": ["mcp"]}}}

Tools: survey, diagnose, plan, what_if, check, explain, incident_show. None of them writes. Results are redacted and bounded.
"""
EPILOG += f"Needs the extra mcp: {how_to_install('mcp')}\n"


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "mcp",
        help="serve the read-only verbs as tools for agents (Model Context Protocol)",
        description="Serve the verbs that only read as tools of the Model Context Protocol.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "--http",
        type=int,
        metavar="PORT",
        help="listen on this port of 127.0.0.1 (default: standard input and output)",
    )
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig for all calls")
    parser.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig for all calls")
    parser.add_argument(
        "--bundles", metavar="DIR", help="folder of recorded bundles that calls may read"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client leaves, or Ctrl-C.

    Errors: InputError without the extra, or for a folder or port that cannot be used.
    """
    import asyncio

    from barostat.core.errors import InputError
    from barostat.shells.mcp import server
    from barostat.shells.mcp.tools import ToolAccess

    bundles = Path(arguments.bundles) if arguments.bundles is not None else None
    if bundles is not None and not bundles.is_dir():
        raise InputError("is no folder", f"--bundles {arguments.bundles}")
    if arguments.http is not None and not 1 <= arguments.http <= 65535:
        raise InputError("is no port", f"--http {arguments.http}")
    access = ToolAccess(arguments.kubeconfig, arguments.context, bundles)
    serving = (
        server.over_stdio(access)
        if arguments.http is None
        else server.over_http(access, arguments.http)
    )
    asyncio.run(serving)
    return 0
