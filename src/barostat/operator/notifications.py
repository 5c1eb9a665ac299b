"""Messages to webhooks, in Slack's form and in that of Alertmanager's webhook. Signed, retried,
bounded; they hold causes and numbers, never a prompt or a secret.

Signature: `X-Barostat-Signature: t=UNIX,v1=HEX`, the HMAC-SHA256 of `UNIX.BODY` with the shared
secret.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from barostat.core.redaction.credentials import clean
from barostat.io.clock import Clock
from barostat.operator.incident import PressureIncident

Form = Literal["slack", "alertmanager"]
MOST_WAITING = 100
TRIES = 5
FIRST_WAIT_S = 1.0
WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Webhook:
    """Destination of messages. `secret`: empty if they are not signed."""

    form: Form
    url: str = field(repr=False)
    secret: str = field(default="", repr=False)


@dataclass(slots=True)
class Notifications:
    """A queue of messages, and the task that sends them. `sent`, `lost`: counted for the
    metrics.
    """

    hooks: tuple[Webhook, ...]
    clock: Clock
    tell: Callable[[str], None]
    sent: int = 0
    lost: int = 0
    _queue: asyncio.Queue[tuple[Webhook, bytes]] = field(
        default_factory=lambda: asyncio.Queue(MOST_WAITING)
    )

    def put(self, incident: PressureIncident, *, firing: bool) -> None:
        """Send it to every webhook. Where the queue is full the message is lost, and counted."""
        for hook in self.hooks:
            self._queued(hook, message(hook.form, incident, firing=firing))

    def say(self, said: str) -> None:
        """Send a sentence to the webhooks that take one: Alertmanager's form has only alerts."""
        for hook in self.hooks:
            if hook.form == "slack":
                self._queued(hook, {"text": clean(said)})

    def _queued(self, hook: Webhook, document: dict[str, Any]) -> None:
        try:
            self._queue.put_nowait((hook, json.dumps(document).encode()))
        except asyncio.QueueFull:
            self.lost += 1

    async def run(self) -> None:
        """Send what comes, for ever."""
        async with httpx.AsyncClient(timeout=WITHIN_S, follow_redirects=False) as client:
            while True:
                hook, body = await self._queue.get()
                why = await self._sent(client, hook, body)
                if why:
                    self.lost += 1
                    self.tell(f"a notification ({hook.form}) was not delivered: {why}")
                else:
                    self.sent += 1

    async def _sent(self, client: httpx.AsyncClient, hook: Webhook, body: bytes) -> str:
        """Empty once it is delivered, else why not."""
        why = ""
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(FIRST_WAIT_S * 2**attempt * random.uniform(0.5, 1.0))
            headers = {"content-type": "application/json", "user-agent": "barostat"}
            if hook.secret:
                headers["x-barostat-signature"] = signature(
                    hook.secret, int(self.clock.now()), body
                )
            try:
                answer = await client.post(hook.url, content=body, headers=headers)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                why = type(error).__name__  # its words may quote the URL, which is often a secret
                continue
            if answer.status_code < 300:
                return ""
            why = f"HTTP {answer.status_code}"
            if answer.status_code not in (408, 429) and answer.status_code < 500:
                return why
        return why


def signature(secret: str, at: int, body: bytes) -> str:
    """Return the signature header of a notification: HMAC-SHA256 over time and body."""
    made = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={made}"


def message(form: Form, incident: PressureIncident, *, firing: bool) -> dict[str, Any]:
    """The body of the webhook."""
    spec, status = incident.spec, incident.status
    target = f"{spec.target_ref.kind.lower()}/{spec.target_ref.name} in {incident.namespace}"
    reason = status.reason or status.phase
    lines = [
        f"{'FIRING' if firing else 'RESOLVED'} {spec.severity}: {status.cause or spec.cause} on {target}",
        status.summary,
        f"state: {status.phase} ({reason})",
    ]
    if status.plan is not None:
        lines.append(f"next step: {status.plan.change}")
    lines += [f"proposal: {line}" for line in status.proposals]
    lines.append(f"kubectl get pi {incident.name} -n {incident.namespace} -o yaml")
    said = clean("\n".join(line for line in lines if line))
    if form == "slack":
        return {"text": said}
    labels = {
        "alertname": "BarostatPressureIncident",
        "cause": spec.cause,
        "severity": spec.severity,
        "namespace": incident.namespace,
        spec.target_ref.kind.lower(): spec.target_ref.name,
        "incident": incident.name,
    }
    alert = {
        "status": "firing" if firing else "resolved",
        "labels": labels,
        "annotations": {"summary": clean(status.summary), "description": said},
        "startsAt": spec.first_harm_at,
        "endsAt": status.ended_at or "0001-01-01T00:00:00Z",
        "generatorURL": "",
        "fingerprint": hashlib.sha256(incident.name.encode()).hexdigest()[:16],
    }
    return {
        "version": "4",
        "groupKey": incident.name,
        "truncatedAlerts": 0,
        "status": alert["status"],
        "receiver": "barostat",
        "groupLabels": {"alertname": labels["alertname"]},
        "commonLabels": labels,
        "commonAnnotations": alert["annotations"],
        "externalURL": "",
        "alerts": [alert],
    }
