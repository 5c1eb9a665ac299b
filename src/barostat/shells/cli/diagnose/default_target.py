"""What there is to look at where nobody names it: an engine on this machine, else the vLLM pods of
the current namespace.
"""

from __future__ import annotations

import argparse
import sys

LOCAL = "http://127.0.0.1:8000"
"""Default address of vLLM."""


def fill_in(arguments: argparse.Namespace, *, reads_recordings: bool) -> None:
    """Set the target to what is found, and name it on stderr. `reads_recordings`: the verb takes
    --log and --bundle.

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
        recorded = ", a --log FILE or a --bundle PATH" if reads_recordings else ""
        raise InputError(
            f"nothing to look at: no vLLM answers at {LOCAL} and there is no kubeconfig; "
            f"give a URL such as http://localhost:8000 or deploy/NAME -n NAMESPACE{recorded}"
        ) from None
    arguments.namespace = namespace
    print(
        f"barostat: no vLLM answers at {LOCAL}; looking in namespace {namespace} of the "
        "current context",
        file=sys.stderr,
    )
