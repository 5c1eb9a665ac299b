"""`barostat simulate --gateway LIMITS`: the same traffic through several engines behind the
gateway's decision, routing included.
"""

from __future__ import annotations

import argparse
import sys

from barostat.admit.rules import rules_of
from barostat.core.errors import InputError
from barostat.core.verdict import Present, Unknown
from barostat.io.input_files.limits_file import load as load_limits
from barostat.judge.experiments.admission import run_gated
from barostat.judge.experiments.gated import Fleet, Traffic, one_kind_of_attention
from barostat.shells.cli.simulate.shown_run import show
from barostat.shells.cli.simulate.simulated_run import load
from barostat.shells.reports.json_text import json_text
from barostat.shells.reports.simulation.gated import gated_document, gated_json
from barostat.twin.summary import Slo

MOST_REPLICAS = 256
FINDINGS, CANNOT_TELL = 1, 3


def run(arguments: argparse.Namespace) -> int:
    """Simulate, print; 0 where no more are preempted than the limits allow, 1 where more are, 3
    where too few ran to tell.

    Errors: InputError naming the argument.
    """
    if not 1 <= arguments.replicas <= MOST_REPLICAS:
        raise InputError(f"1 to {MOST_REPLICAS} was expected", f"--replicas {arguments.replicas}")
    if arguments.steps_out is not None:
        raise InputError("is of one engine: it goes without --gateway", "--steps-out")
    limits = load_limits(arguments.gateway)
    loaded = load(arguments)
    one_kind_of_attention(loaded.engine.settings, "--gateway")
    for note in loaded.notes:
        print(f"barostat: {note}", file=sys.stderr)
    stated = limits.spec.slo
    ttft_s = loaded.arguments.slo_ttft or loaded.engine.slo_ttft_s or stated.ttft_p99_seconds
    slo = Slo(ttft_s, loaded.arguments.slo_itl or loaded.engine.slo_itl_s or stated.itl_p99_seconds)
    fleet = Fleet(arguments.replicas, loaded.engine.settings, loaded.pace)
    found = run_gated(
        fleet, rules_of(limits), Traffic(loaded.rows, limits.spec.request.max_output_tokens), slo
    )
    if arguments.output == "json":
        print(json_text(gated_json(found, arguments.replicas, slo)))
    if arguments.output != "json" or arguments.html is not None:
        show(gated_document(found, arguments.replicas, slo), arguments.output, arguments.html)
    return (
        FINDINGS
        if isinstance(found.harm, Present)
        else CANNOT_TELL
        if isinstance(found.harm, Unknown)
        else 0
    )
