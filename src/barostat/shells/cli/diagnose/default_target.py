"""What there is to look at where nobody names it: an engine on this machine, else the vLLM pods of
the current namespace.
"""

from __future__ import annotations

import argparse
import sys

LOCAL = "http://127.0.0.1:8000"
"""Default address of vLLM."""


def fill_in(arguments: argparse.Namespace) -> None:
    """The arguments name what was found, and stderr says so; nothing is asked.

    Errors: InputError where nothing is there.
    """
    from barostat.core.errors import InputError, OutsideError
    from barostat.io.engine_http.local_server import is_engine
    from barostat.io.kubernetes.client.kubeconfig import find_access

    if is_engine(LOCAL):
        arguments.target = [LOCAL]
        print(f"barostat: a vLLM answers at {LOCAL}", file=sys.stderr)
        return
    try:
        namespace = find_access().namespace
    except (InputError, OutsideError):
        raise InputError(
            f"nothing to look at: no vLLM answers at {LOCAL} and there is no kubeconfig; "
            "give a URL such as http://localhost:8000, "
            "deploy/NAME -n NAMESPACE, a --log FILE or a --bundle PATH"
        ) from None
    arguments.namespace = namespace
    print(
        f"barostat: no vLLM answers at {LOCAL}; looking in namespace {namespace} of the "
        "current context",
        file=sys.stderr,
    )
