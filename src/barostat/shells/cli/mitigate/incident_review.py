"""`barostat incident review`: what a time of observing comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barostat.io.mitigation.campaign import Campaign
    from barostat.operator.review import Review


async def show_review(campaign: Campaign, for_s: float, output: str, *, everywhere: bool) -> int:
    """Print the review of the last `for_s` seconds; 0 without an incident, else 1, and 3 where
    something could not be read.

    Errors: OutsideError where the PressureIncidents cannot be read.
    """
    from barostat.shells.reports.incident import review as report

    found = report.shown(await reviewed(campaign, for_s, everywhere=everywhere))
    if output == "json":
        from barostat.shells.reports.json_text import json_text

        print(json_text(report.review_json(found)))
    else:
        from barostat.shells.reports.sheet import forms

        print(forms.shown(report.review_document(found), output), end="")
    return 1 if found.incidents else 3 if found.problems else 0


async def reviewed(campaign: Campaign, for_s: float, *, everywhere: bool) -> Review:
    """The review, from what the cluster keeps. Errors: OutsideError."""
    from barostat.core.errors import OutsideError
    from barostat.io.kubernetes.client.failures import RequestFailed
    from barostat.operator.incident import PRESSURE_INCIDENTS, from_document
    from barostat.operator.review import review

    listed = await campaign.cluster.list(
        PRESSURE_INCIDENTS, None if everywhere else campaign.namespace
    )
    if isinstance(listed, RequestFailed):
        more = "; the operator and its CRDs are not installed" if listed.kind == "not-found" else ""
        raise OutsideError(f"{listed.why}{more}", retryable=listed.may_pass)
    incidents = [made for item in listed.items if (made := from_document(item)) is not None]
    problems = []
    if unreadable := len(listed.items) - len(incidents):
        problems.append(f"{unreadable} PressureIncidents of another version cannot be read")
    try:
        records, odd = await campaign.store.every(everywhere=everywhere)
    except OutsideError as error:
        records, odd = [], [str(error)]
    now = campaign.clock.now()
    return review(incidents, records, now - for_s, now, [*problems, *odd])
