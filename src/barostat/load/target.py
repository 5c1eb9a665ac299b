"""The server under load: its model, its API, and whether it has other traffic.

Probed before the first request: /v1/models, /version, /metrics twice, and two requests of one
token, to calibrate the token count of prompts.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson

from barostat.core.errors import InputError, OutsideError
from barostat.engines.vllm.metrics.exposition import read
from barostat.engines.vllm.metrics.settings import settings
from barostat.gateway.watching.engine_page import EnginePage, read_page
from barostat.io.engine_http.address import Address
from barostat.io.engine_http.http import Answer, Failure, ask, client
from barostat.load.prompts import FIRST_ID, IDS, WordCount
from barostat.twin.workload.words import word

Api = Literal["completions", "chat"]
_ASIDE_S, _PROBE_S, _APART_S = 5.0, 60.0, 1.0
_PROBE_IDS = 48
_FEW, _MANY = 40, 240


@dataclass(frozen=True, slots=True)
class Target:
    """The known properties of the server. `serving`: a sentence if it has live traffic. `counted`:
    prompts are words; `takes_ids`: prompts are token ids. `origins`: what the model was loaded from,
    a repository or a path; of an adapter also its base model's.

    `forces_length`: it accepts `ignore_eos` and `min_tokens`. `flags`: resolved flags from its
    metrics. `notes`: for the user.
    """

    where: Address
    api: Api
    model: str
    key: str = ""
    version: str = ""
    max_model_len: int | None = None
    flags: tuple[tuple[str, str], ...] = ()
    serving: str = ""
    shows_metrics: bool = False
    counted: WordCount | None = None
    forces_length: bool = True
    notes: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """For a person: address, engine and model."""
        return f"{self.where.base}  {f'vLLM {self.version}, ' if self.version else ''}{self.model}"

    def head(self) -> bytes:
        """The head of every request, up to the length of its body."""
        parts = urlsplit(self.where.base)
        key = f"authorization: Bearer {self.key}\r\n" if self.key else ""
        path = "/v1/completions" if self.api == "completions" else "/v1/chat/completions"
        return (
            f"POST {parts.path}{path} HTTP/1.1\r\nhost: {parts.netloc}\r\nuser-agent: barostat\r\n"
            f"content-type: application/json\r\n{key}content-length: "
        ).encode("latin-1")

    def body(self, prompt: bytes, output_tokens: int, priority: int = 0) -> bytes:
        """One request; `prompt` as JSON."""
        asked: dict[str, Any] = {
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0,
        }
        if self.forces_length:
            asked |= {"ignore_eos": True, "min_tokens": output_tokens}
        if priority:
            asked["priority"] = priority
        said = (
            b'"prompt":%b' % prompt
            if self.api == "completions"
            else b'"messages":[{"role":"user","content":%b}]' % prompt
        )
        rest = orjson.dumps({"model": self.model, "max_tokens": output_tokens, **asked})
        return b"{%b,%b" % (said, rest[1:])

    def secure(self) -> ssl.SSLContext | None:
        """The system's authorities, for https."""
        return ssl.create_default_context() if self.where.base.startswith("https:") else None


async def find_out(
    where: Address, *, api: Api | None, model: str | None, key: str, aside: bool
) -> Target:
    """The target as it answers. `aside`: it may serve others, which is then not looked at.

    Errors: OutsideError where it does not answer or answers without sense, InputError for a model
    that it does not have.
    """
    async with client(where, key) as session:
        name, length, origins = await _model(session, where, model)
        version = await _version(session, where)
        page = await _page(session, where)
        found = Target(
            where,
            api or "completions",
            name,
            key,
            version,
            length,
            shows_metrics=page is not None,
            origins=origins,
        )
        if page is not None:
            found = replace(found, flags=_flags(page))
            if not aside:
                found = replace(found, serving=await _serving(session, where, page))
        elif not aside:
            found = replace(
                found,
                notes=(
                    "its /metrics cannot be read: whether somebody else uses it cannot be told",
                ),
            )
        return found


async def counted(target: Target) -> Target:
    """The target, with what it takes and how it counts. Sends it two to four requests of one
    token.
    """
    async with client(target.where, target.key) as session:
        if target.api == "completions":
            ids = [FIRST_ID + (place * 37) % IDS for place in range(_PROBE_IDS)]
            first = await _asked(session, target, orjson.dumps(ids))
            if isinstance(first, Answer) and first.status in (400, 422) and target.forces_length:
                target = _unforced(target)
                first = await _asked(session, target, orjson.dumps(ids))
            told = _prompt_tokens(first)
            if told == _PROBE_IDS:
                return target
            if isinstance(first, Failure) or first.status not in (200, 400, 404, 405, 422):
                raise _no_answer(target, first)
            if first.status in (404, 405):
                target = replace(target, api="chat")
        return await _by_words(session, target)


async def _by_words(session: Any, target: Target) -> Target:
    found = []
    for count in (_FEW, _MANY):
        text = orjson.dumps("".join(word(FIRST_ID + place * 37 % IDS) for place in range(count)))
        answer = await _asked(session, target, text)
        if isinstance(answer, Answer) and answer.status in (400, 422) and target.forces_length:
            target = _unforced(target)
            answer = await _asked(session, target, text)
        told = _prompt_tokens(answer)
        if told is None:
            raise _no_answer(target, answer)
        found.append(told)
    each = (found[1] - found[0]) / (_MANY - _FEW)
    if each <= 0:
        raise OutsideError(
            f"{target.where.base} counts {found[0]} tokens for {_FEW} words and {found[1]} "
            f"for {_MANY}",
            retryable=False,
        )
    note = f"prompts are words, {each:.3g} tokens each as this server counts"
    return replace(
        target, counted=WordCount(found[0] - each * _FEW, each), notes=(*target.notes, note)
    )


def _unforced(target: Target) -> Target:
    note = (
        "it does not take ignore_eos and min_tokens: answers are as long as the model likes, "
        "up to what is asked"
    )
    return replace(target, forces_length=False, notes=(*target.notes, note))


async def _asked(session: Any, target: Target, prompt: bytes) -> Answer | Failure:
    body = orjson.loads(target.body(prompt, 1))
    body.pop("stream_options")
    body["stream"] = False
    path = "/v1/completions" if target.api == "completions" else "/v1/chat/completions"
    return await ask(session, target.where.at(path), within_s=_PROBE_S, post=body)


def _prompt_tokens(answer: Answer | Failure) -> int | None:
    said = answer.json() if isinstance(answer, Answer) and answer.status == 200 else None
    told = (said.get("usage") or {}).get("prompt_tokens") if isinstance(said, dict) else None
    return told if isinstance(told, int) else None


def _no_answer(target: Target, answer: Answer | Failure) -> OutsideError:
    base = target.where.base
    if isinstance(answer, Failure):
        return OutsideError(f"{base} {answer.why}", retryable=True)
    if answer.status in (401, 403):
        return OutsideError(
            f"{base} wants a key (HTTP {answer.status}): --key-file FILE", retryable=False
        )
    if answer.status == 200:
        return OutsideError(
            f"{base} answers without usage: how many tokens a prompt has cannot be told",
            retryable=False,
        )
    return OutsideError(
        f"{base} answers a request of one token with HTTP {answer.status}",
        retryable=answer.status >= 500,
    )


async def _model(
    session: Any, where: Address, wanted: str | None
) -> tuple[str, int | None, tuple[str, ...]]:
    """Name, length and origins of the model."""
    answer = await ask(session, where.at("/v1/models"), within_s=_ASIDE_S, max_bytes=1 << 22)
    if isinstance(answer, Failure):
        raise OutsideError(
            f"{where.base} {answer.why}", retryable=answer.kind in ("refused", "time-out")
        )
    said = answer.json() if answer.status == 200 else None
    cards = said.get("data") if isinstance(said, dict) else None
    named = (
        {
            card["id"]: card
            for card in cards
            if isinstance(card, dict) and isinstance(card.get("id"), str)
        }
        if cards
        else {}
    )
    if wanted is not None and (wanted in named or not named):
        return wanted, _length(named.get(wanted, {})), _origins(wanted, named)
    if wanted is not None:
        raise InputError(f"is not served there; there is {', '.join(named)}", f"--model {wanted}")
    if answer.status in (401, 403):
        raise OutsideError(
            f"{where.base} wants a key (HTTP {answer.status}): --key-file FILE", retryable=False
        )
    if not named:
        raise OutsideError(
            f"{where.base} names no model at /v1/models (HTTP {answer.status}): --model NAME",
            retryable=False,
        )
    first = next(iter(named))
    return first, _length(named[first]), _origins(first, named)


def _origins(name: str, cards: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    card = cards.get(name, {})
    base = cards.get(parent, {}) if isinstance(parent := card.get("parent"), str) else {}
    found = (card.get("root"), parent, base.get("root"))
    return tuple(dict.fromkeys(one for one in found if isinstance(one, str) and one))


def _length(card: dict[str, Any]) -> int | None:
    length = card.get("max_model_len")
    return length if isinstance(length, int) and length > 0 else None


async def _version(session: Any, where: Address) -> str:
    answer = await ask(session, where.at("/version"), within_s=_ASIDE_S, max_bytes=1 << 16)
    said = answer.json() if isinstance(answer, Answer) and answer.status == 200 else None
    version = said.get("version") if isinstance(said, dict) else None
    return version[:40] if isinstance(version, str) else ""


async def _page(session: Any, where: Address) -> bytes | None:
    answer = await ask(session, where.at("/metrics"), within_s=_ASIDE_S)
    return (
        answer.body
        if isinstance(answer, Answer)
        and answer.status == 200
        and read_page(answer.body) is not None
        else None
    )


def _flags(page: bytes) -> tuple[tuple[str, str], ...]:
    found = settings(read(page.decode("utf-8", "replace")))
    return tuple(
        sorted((name, str(value.value)) for name, value in found.items() if value.value is not None)
    )


async def _serving(session: Any, where: Address, first: bytes) -> str:
    """A sentence where requests run, wait or have ended between two looks, none of them ours."""
    await asyncio.sleep(_APART_S)
    second = await _page(session, where)
    before, after = read_page(first), read_page(second) if second is not None else None
    looks = [look for look in (before, after) if look is not None]
    busiest: EnginePage | None = max(
        looks, key=lambda look: look.running + look.waiting, default=None
    )
    if busiest is not None and busiest.running + busiest.waiting:
        return (
            f"{busiest.running} requests run there and {busiest.waiting} wait, and none of "
            "them is ours"
        )
    if before is not None and after is not None and after.progress > before.progress:
        return f"it made tokens for somebody within {_APART_S:g} s"
    return ""
