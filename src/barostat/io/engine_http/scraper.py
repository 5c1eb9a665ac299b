"""Scrapes one engine's HTTP server repeatedly, identifies it, and sends at most one request for one
token.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from barostat.core.bounds import PAGE_BYTES
from barostat.core.redaction.credentials import clean
from barostat.core.version import parse_version
from barostat.engines.vllm.metrics import signals as metrics
from barostat.engines.vllm.metrics.exposition import is_plainly_vllm
from barostat.io.clock import Clock
from barostat.io.engine_http.http import Answer, Failure
from barostat.io.engine_http.route import EngineRoute
from barostat.judge.evidence.recording import ProbeResult, Scrape
from barostat.platform.gateway_page import gateway_at

SCRAPE_S = 10.0
"""Time for one scrape: what Prometheus gives by default. An API server at its CPU limit takes
seconds, and that is when it matters.
"""
ASIDE_S = 5.0
THRIFTY_S = 3.0
"""The same for one of hundreds: a few that hang must not hold up the answer about all."""
PROBE_S = 20.0
_MAY_PASS = frozenset({"refused", "unreachable"})
_HOPELESS = frozenset({"no-name", "refused", "unreachable", "tls", "no-http", "redirect"})


@dataclass(slots=True)
class Scraper:
    """Asks one engine; keeps what it answered, in time order.

    `answered`: something at the address spoke HTTP. `not_vllm`: a sentence if what answers is
    another program, for sure. `thrifty`: one of hundreds, asked for its metrics, for its version if
    it is not `version_known`, and for its health only where these do not come. `hopeless`: why
    nothing will come within the window; `may_pass`: that may be otherwise in a minute.
    """

    where: EngineRoute
    clock: Clock
    thrifty: bool = False
    version_known: bool = False
    scrapes: list[Scrape] = field(default_factory=list)
    failed: list[tuple[float, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    probe: ProbeResult | None = None
    answered: bool = False
    not_vllm: str = ""
    hopeless: str = ""
    may_pass: bool = False
    _model: str | None = None
    _token_sent: bool = False

    async def look(self) -> None:
        """Record one more scrape (or failure), with a simultaneous /health.

        The first call also identifies the server.
        """
        first = self.probe is None
        started = round(self.clock.now(), 3)
        if first:
            self.probe = ProbeResult(started)
        scrape = asyncio.create_task(self._page())
        if self.thrifty:
            page = await scrape
            aside = [] if isinstance(page, Answer) else [self._health()]
            await asyncio.gather(
                *aside,
                *([self._version()] if first and not aside and not self.version_known else []),
            )
        else:
            await asyncio.gather(
                self._health(), *([self._version(), self._models()] if first else [])
            )
            page = await scrape
        self._keep(page, started)

    async def _page(self) -> Answer | Failure:
        return await self.where.ask(
            "/metrics", within_s=THRIFTY_S if self.thrifty else SCRAPE_S, max_bytes=PAGE_BYTES.most
        )

    async def send_token(self, within_s: float = PROBE_S) -> None:
        """Send one request for one token, on the first call only; its result is in the probe."""
        if self._token_sent:
            return
        self._token_sent = True
        model = self._model or self._model_in_metrics()
        if model is None:
            self._note(token_detail="not sent: the server names no model")
            return
        request: dict[str, Any] = {"model": model, "max_tokens": 1, "temperature": 0}
        started = self.clock.now()
        answer = await self.where.ask(
            "/v1/completions", within_s=within_s, post={**request, "prompt": "Hello"}
        )
        if isinstance(answer, Answer) and answer.status in (
            404,
            405,
        ):  # refused before it was a request: a server for chat only
            chat = {**request, "messages": [{"role": "user", "content": "Hello"}]}
            answer = await self.where.ask("/v1/chat/completions", within_s=within_s, post=chat)
        took_s = self.clock.now() - started
        match answer:
            case Failure(kind="time-out"):
                self._note(token_ok=False, token_detail=f"no token within {within_s:g} s")
            case Failure(why=why):
                self._note(token_ok=False, token_detail=f"the request failed: the server {why}")
            case Answer(status=200, cut=""):
                self._note(token_ok=True, token_detail=f"one token in {took_s:.2f} s")
            case Answer(cut=cut) if cut:
                self._note(token_ok=False, token_detail=f"the answer came in part: {cut}")
            case Answer(status=401 | 403):
                self._note(token_detail="not answered: the server wants an API key")
            case Answer(status=status) if status < 500 or status == 503:
                self._note(token_detail=f"not answered: HTTP {status}, {_said(answer)}")
            case Answer(status=status):
                self._note(token_ok=False, token_detail=f"HTTP {status}, {_said(answer)}")

    async def close(self) -> None:
        """Close the connections."""
        await self.where.close()

    def forget_before(self, at: float) -> None:
        """Drop scrapes older than `at`, except the newest of them, because rates need a left end."""
        older = [scrape for scrape in self.scrapes if scrape.at < at]
        self.scrapes = [*older[-1:], *(scrape for scrape in self.scrapes if scrape.at >= at)]
        self.failed = [entry for entry in self.failed if entry[0] >= at]

    def _keep(self, page: Answer | Failure, started: float) -> None:
        if isinstance(page, Failure) and page.kind == "between":
            self._remark(f"{self.where.base} {page.why}")
            return
        if isinstance(page, Failure):
            self.hopeless, self.may_pass = (
                (page.why if page.kind in _HOPELESS else ""),
                page.kind in _MAY_PASS,
            )
            self.failed.append((started, f"{self.where.base} {page.why}"))
            return
        self.answered, self.hopeless, self.may_pass = True, "", False
        url = self.where.at("/metrics")
        # The numbers are those of the moment at which the server made the page: nearer to the
        # middle than to either end.
        scrape = Scrape(round((started + self.clock.now()) / 2, 3), page.text, url)
        if wrong := self._wrong(page, scrape):
            self.failed.append((started, wrong))
            if page.status in (401, 403) and not self.scrapes:
                self.hopeless = wrong.removeprefix(f"{self.where.base}: ")
            return
        self.scrapes.append(scrape)
        if page.cut:
            self.problems.append(f"{url}: {page.cut}; what came was used")

    def _wrong(self, page: Answer, scrape: Scrape) -> str:
        """A sentence if this is no page of an engine's metrics; sets `not_vllm` where that is
        certain.
        """
        base = self.where.base
        if page.status in (401, 403):
            return (
                f"{base}: /metrics answers HTTP {page.status}: what stands in front of the "
                "engine wants credentials; ask the engine itself"
            )
        if page.status >= 500:
            return f"{base}: /metrics answers HTTP {page.status} ({_said(page)})"
        if page.status == 200 and is_plainly_vllm(scrape.text):
            return ""
        if gateway := gateway_at(base, page.status, scrape.text, page.json()):
            self.not_vllm = clean(gateway)
            return self.not_vllm
        if page.status != 200:
            what = f"answers HTTP {page.status}"
        else:
            kind = scrape.exposition.looks_like
            if kind == "vllm" or (page.cut and kind.startswith("prometheus")):
                return ""
            if (
                kind.startswith("prometheus")
                and self.probe is not None
                and parse_version(self.probe.version)
            ):
                self._remark(
                    f"{base}: /metrics shows no engine's series: {scrape.exposition.problems[0]}"
                )
                return ""
            what = _KINDS.get(kind, "holds no metrics")
        self.not_vllm = (
            f"{base} answers, but it is not vLLM: /metrics {what}; give the address of the "
            "engine itself"
        )
        return self.not_vllm

    def _remark(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    async def _health(self) -> None:
        answer = await self.where.ask(
            "/health", within_s=THRIFTY_S / 2 if self.thrifty else ASIDE_S
        )
        if isinstance(answer, Answer):
            self.answered = True
            if answer.status in (200, 503) or answer.status >= 500:
                self._note(health_ok=answer.status == 200)
        elif answer.kind == "time-out":
            self._note(health_ok=False)

    async def _version(self) -> None:
        answer = await self.where.ask("/version", within_s=ASIDE_S, max_bytes=1 << 16)
        said = answer.json() if isinstance(answer, Answer) and answer.status == 200 else None
        if isinstance(said, dict) and isinstance(said.get("version"), str):
            self._note(version=said["version"])

    async def _models(self) -> None:
        answer = await self.where.ask("/v1/models", within_s=ASIDE_S, max_bytes=1 << 22)
        said = answer.json() if isinstance(answer, Answer) and answer.status == 200 else None
        cards = said.get("data") if isinstance(said, dict) else None
        for card in cards if isinstance(cards, list) else []:
            if isinstance(card, dict) and isinstance(card.get("id"), str):
                self._model = self._model or card["id"]
                length = card.get("max_model_len")
                if isinstance(length, int) and not isinstance(length, bool) and length > 0:
                    self._note(max_model_len=length)
                    return

    def _model_in_metrics(self) -> str | None:
        names = metrics.model_names(self.scrapes[-1].exposition) if self.scrapes else ()
        return next(iter(names), None)

    def _note(self, **found: Any) -> None:
        self.probe = replace(self.probe or ProbeResult(0.0), at=round(self.clock.now(), 3), **found)


_KINDS = {
    "html": "is an HTML page",
    "json": "is JSON",
    "empty": "is empty",
    "binary": "is binary",
    "prometheus, but not vLLM": "shows the metrics of another program",
}


def _said(answer: Answer) -> str:
    """The first words of an error body, for a person."""
    said = answer.json()
    error = said.get("error", said) if isinstance(said, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    words = " ".join(str(message if message else answer.text).split())
    return clean(words[:120]) or "no reason given"
