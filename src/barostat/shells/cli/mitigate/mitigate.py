"""`barostat mitigate`: end KV-cache pressure in a cluster: one change, proved on one replica before
the others get it, or taken back.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import parse_duration
from barostat.shells.cli.given_once import OnceAction
from barostat.shells.cli.mitigate.common_arguments import (
    CANNOT_TELL,
    DRY_RUN_ENDS,
    OK,
    REFUSED,
    add_cluster,
    add_gateway,
    add_look,
    add_output,
    print_end,
    print_progress,
    print_result,
    within,
)
from barostat.shells.cli.mitigate.confirmation import asked

if TYPE_CHECKING:
    from barostat.core.limits import ServingLimits
    from barostat.io.mitigation.campaign import Campaign
    from barostat.judge.mitigation.prepared import Prepared

EPILOG = """\
examples:
  barostat mitigate deploy/vllm -n inference --dry-run               # show the plan and the checks; write nothing
  barostat mitigate deploy/vllm -n inference                         # show both, ask, then make the change
  barostat mitigate deploy/vllm -n inference --lever max-num-seqs=48 # make this change instead of the proposed one

With a gateway in front of the target and its token, mitigate first sets a limit there, without a restart. Otherwise it starts a
spare with the change in place of one replica, keeps that replica warm until the spare has proved the change under load, then changes the
others one at a time. If the result is worse or inconclusive, it rolls back. Ctrl-C stops it; `barostat incident resume` continues.

exit codes: 0 verified, or nothing to do; 1 rolled back; 2 usage error; 3 inconclusive; 4 an external system failed; 5 refused
"""


FAST_FOR_S, FAST_INTERVAL_S = 4.0, 2.0
"""Of the one look of --fast."""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "mitigate",
        usage="%(prog)s TARGET [OPTIONS]",
        help="make one change to relieve a workload, prove it, then roll it out or roll it back",
        description=(
            "Diagnose a workload, plan one change, check that it is safe, carry it out one replica "
            "at a time, verify it under load, and roll it back if it does not help."
        ),
        epilog=EPILOG,
    )
    parser.add_argument(
        "target", metavar="TARGET", help="deploy/NAME, sts/NAME, lws/NAME or another KIND/NAME"
    )
    change = parser.add_argument_group("which change")
    change.add_argument(
        "--lever",
        action=OnceAction,
        default="",
        metavar="X[=V]",
        help="make this change: a vLLM flag with its value, or a lever of the diagnosis "
        "(default: the best of the next steps)",
    )
    change.add_argument(
        "--limits",
        metavar="FILE",
        help="limits that the change must respect (default: the target's ServingLimits in the cluster)",
    )
    change.add_argument(
        "--fast",
        action="store_true",
        help=(
            f"observe for {FAST_FOR_S:g} s, then set a limit at the gateway and nothing else; it "
            "is reverted unless the next observation shows that it helps"
        ),
    )
    consent = parser.add_argument_group("consent")
    consent.add_argument(
        "--dry-run",
        action="store_true",
        help="show the plan, the checks and the server-side diff; write nothing",
    )
    consent.add_argument("--yes", action="store_true", help="carry the plan out without asking")
    consent.add_argument(
        "--autonomy",
        choices=("observe", "recommend", "act"),
        help="observe: plan only; recommend: ask first; act: do not ask (default: as the limits "
        "say, else recommend)",
    )
    how = parser.add_argument_group("how to carry it out")
    how.add_argument(
        "--write-source",
        action=OnceAction,
        default="",
        metavar="DIR",
        help=(
            "edit Helm values, a Kustomize patch or YAML in this checkout instead of the cluster; "
            "prints the diff, commits nothing"
        ),
    )
    how.add_argument(
        "--pause-owner",
        action="store_true",
        help=(
            "suspend Argo CD, Flux, KEDA or an HPA during the change; an owner that would revert it "
            "stays suspended until `incident resume`"
        ),
    )
    how.add_argument(
        "--in-place",
        action="store_true",
        help="start no spare: stop each replica before its replacement starts",
    )
    how.add_argument(
        "--drain",
        dest="drain_s",
        type=parse_duration,
        default=None,
        metavar="TIME",
        help=(
            "maximum wait for a replica's requests to finish; the rest are then cut off and counted "
            "(default: twice the time that requests take, queue included, 5m to 1h)"
        ),
    )
    how.add_argument(
        "--sustained",
        dest="sustained_s",
        type=parse_duration,
        default=120.0,
        metavar="TIME",
        help="how long an improvement must hold to count (default 2m)",
    )
    how.add_argument(
        "--keep-previous",
        dest="keep_previous_s",
        type=partial(parse_duration, longest_s=86_400.0),
        default=None,
        metavar="TIME",
        help=(
            "after the rollout, keep one replica of the former version warm and out of rotation, if "
            "a GPU is free: `rollback` then needs no start first (default: as the limits say, else 0)"
        ),
    )
    add_look(how)
    add_output(parser)
    add_gateway(parser)
    add_cluster(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Look, plan, ask, carry out; answer how it ended.

    Errors: InputError, OutsideError.
    """
    from barostat.core.errors import InputError

    if arguments.yes and (arguments.dry_run or arguments.autonomy == "observe"):
        raise InputError(
            "it answers for a plan that is carried out, which --dry-run and --autonomy "
            "observe do not",
            "--yes",
        )
    if arguments.output == "json" and not arguments.dry_run:
        raise InputError(
            "goes with --dry-run; what was carried out: barostat incident show ID -o json",
            "-o json",
        )
    from barostat.shells.cli.mitigate.lever_option import requested

    if arguments.fast and (arguments.lever or arguments.in_place):
        raise InputError("sets the limit that the diagnosis proposes: leave --lever out", "--fast")
    if arguments.fast:
        arguments.for_s, arguments.interval_s = FAST_FOR_S, FAST_INTERVAL_S
    arguments.requested = requested(arguments.lever) if arguments.lever else None
    return within(arguments, arguments.target, lambda campaign: carry_out_for(campaign, arguments))


async def carry_out_for(campaign: Campaign, arguments: argparse.Namespace) -> int:
    """Look, plan, ask and carry out; the exit code. Errors: InputError, OutsideError."""
    from barostat.io.mitigation.campaign import new_id
    from barostat.judge.mitigation.planning import Wish
    from barostat.judge.mitigation.prepared import NothingPrepared
    from barostat.shells.reports.incident.plan_json import preview_json

    held = await campaign.held_limits()
    _same_target(held, campaign, arguments)
    autonomy = (
        arguments.autonomy
        or (held.spec.remedy.autonomy if held is not None else None)
        or "recommend"
    )
    if arguments.yes and autonomy == "observe":
        print_result(
            "refused: the limits say autonomy observe, which carries nothing out; "
            "--autonomy recommend with --yes does"
        )
        return REFUSED
    only_shown = arguments.dry_run or autonomy == "observe"
    if not (only_shown or arguments.write_source) and (lacking := await campaign.lacking_rights()):
        print_result(
            f"refused before looking: rights are missing: {', '.join(lacking)}; --dry-run shows "
            "the plan without them"
        )
        return REFUSED
    print_progress(f"looking at {campaign.typed} for {arguments.for_s:.0f} s")
    wish = Wish(
        new_id(campaign.name),
        arguments.requested,
        "act" if autonomy == "act" else "recommend",
        arguments.in_place,
        arguments.sustained_s,
        arguments.drain_s,
        edge_only=arguments.fast,
        keep_previous_s=arguments.keep_previous_s,
    )
    campaign.one_look = arguments.fast
    found = await campaign.prepare(wish, held, pause_owners=arguments.pause_owner)
    for passed in found.passed_over:
        print_progress(f"passed over: {passed}")
    if isinstance(found, NothingPrepared):
        print_result(preview_json(found) if arguments.output == "json" else found.why)
        return {"healthy": OK, "cannot-tell": CANNOT_TELL, "refused": REFUSED}[found.standing]
    if arguments.write_source:
        return into_source(found, arguments)
    ask = None if autonomy == "act" or arguments.yes else asked
    if not (found.in_the_way or found.wrong) and (
        only_shown or (ask is not None and not found.against)
    ):
        found = await campaign.with_writes(found)
    if arguments.output == "json":
        print_result(preview_json(found))
        return REFUSED if found.against or found.in_the_way else OK
    if not _shown(found, pause_owner=arguments.pause_owner):
        return REFUSED
    if only_shown:
        if found.against:
            print_result("would be refused: " + "; ".join(found.against))
            return REFUSED
        print_progress(
            DRY_RUN_ENDS
            if arguments.dry_run
            else "nothing was written (autonomy observe); --autonomy recommend plans again and asks first"
        )
        return OK
    if found.plan.edge is not None:
        print_progress(
            "this holds the limit until the load has gone: let it run; Ctrl-C leaves it to "
            "run out, `barostat incident abort` ends it"
        )
    ended = await campaign.carry_out(found, ask)
    code = print_end(ended, campaign.namespace)
    if ended.state.phase == "Done" and not ended.stopped:
        _until_it_is_in_the_source(found, campaign.namespace)
    return code


def into_source(found: Prepared, arguments: argparse.Namespace) -> int:
    """The change in the checkout. Errors: InputError where it has no line for it."""
    from barostat.shells.cli.mitigate.write_source import source_edit
    from barostat.shells.cli.whole_write import write_whole
    from barostat.shells.reports.incident.plan_document import plan_document
    from barostat.shells.reports.sheet.forms import as_text

    assert found.replica is not None
    print_progress(as_text(plan_document(found.plan, found.replica)))
    target = found.plan.target
    edit = source_edit(arguments.write_source, target.kind, target.name, found.plan.change)
    print_result(edit.diff)
    if not arguments.dry_run:
        write_whole(edit.file, edit.text)
        print_progress(f"{edit.file} is written; the cluster is not: commit and deploy it as usual")
    return OK


def _shown(found: Prepared, *, pause_owner: bool) -> bool:
    """The plan, its checks and what would be written, for a person; False if there is nothing to
    say yes to.
    """
    from barostat.shells.reports.incident.owner_patch import source_text
    from barostat.shells.reports.incident.plan_document import checks_document, plan_document
    from barostat.shells.reports.sheet.forms import as_text

    if found.in_the_way:
        without = next((owner for owner in found.in_the_way if owner.switch is None), None)
        if pause_owner and without is not None:
            print_result(f"{without.kind} {without.name} has no switch to pause it")
        print_result(source_text(found.seen, found.plan, found.in_the_way[0]))
        return False
    assert found.replica is not None
    print_result(as_text(plan_document(found.plan, found.replica)))
    if found.plan.owners:
        print_result(
            "paused for it: "
            f"{', '.join(f'{one} ({one.note})' if one.note else str(one) for one in found.plan.owners)}"
        )
    print_result(as_text(checks_document(found.facts, found.plan)))
    if found.wrong:
        print_result(f"refused: {'; '.join(found.wrong)}")
        return False
    for line in found.writes:
        print_result(line)
    if found.writes and found.limits:
        print_result("\nlimits that would be written:\n" + found.limits)
    return True


def _same_target(
    held: ServingLimits | None, campaign: Campaign, arguments: argparse.Namespace
) -> None:
    """Errors: InputError for limits that were given and are another workload's."""
    from barostat.core.errors import InputError

    target = held.spec.target_ref if held is not None and arguments.limits else None
    if target is None:
        return
    kind, name = target.kind or "Deployment", target.name or campaign.name
    if (kind, name) != (campaign.kind.api.kind, campaign.name):
        raise InputError(
            f"its spec.targetRef is {kind} {name}, and the target is {campaign.typed}",
            arguments.limits,
        )


def _until_it_is_in_the_source(found: Prepared, namespace: str) -> None:
    """What a person does before an owner that would take the change back has the workload again."""
    from barostat.shells.reports.incident.owner_patch import patch_text

    plan = found.plan
    stays = {(one.kind, one.namespace, one.name) for one in plan.owners if plan.stays_paused(one)}
    for owner in found.seen.writers() if stays else ():
        if (
            owner.switch is not None
            and (owner.switch.kind, owner.switch.namespace, owner.switch.name) in stays
        ):
            print_result(
                f"{owner.kind} {owner.name} stays paused: it would take the change back. "
                "Into its source:"
            )
            print_result(patch_text(found.seen, plan, owner))
    if stays:
        print_result(f"hand it back then: barostat incident resume {plan.id} -n {namespace}")
