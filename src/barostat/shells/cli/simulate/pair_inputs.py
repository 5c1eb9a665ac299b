"""`--kv-link` and `--decode-set` of simulate: the link of a prefill/decode pair, and how its decode
engine differs from its prefill engine.
"""

from __future__ import annotations

import math
from dataclasses import replace

from barostat.core.errors import InputError
from barostat.core.proposed_change import SetFlag, UnsetFlag
from barostat.core.units import named_numbers
from barostat.shells.cli.simulate.pair_arguments import DECODE_SET, KV_LINK
from barostat.shells.cli.simulate.set_option import changes_in
from barostat.twin.from_config import with_setting
from barostat.twin.remote_kv.link import Link
from barostat.twin.settings import Settings, check

_PARTS = ("bandwidth", "latency", "token-bytes")


def link_of(text: str, token_bytes: float | None) -> Link:
    """The link that the option names. `token_bytes`: of the model, where one is known.

    Errors: InputError.
    """
    values: dict[str, float] = {}
    for part, name, value in named_numbers(text):
        if name not in _PARTS or name in values or not math.isfinite(value):
            raise InputError(
                f"{part!r}: {', '.join(_PARTS)} are known, each once and with a number", KV_LINK
            )
        values[name] = value
    size = values.get("token-bytes", token_bytes)
    if "bandwidth" not in values:
        raise InputError("bandwidth=BYTES per second is needed", KV_LINK)
    if size is None:
        raise InputError("say token-bytes=N, or name the model with --model-config", KV_LINK)
    try:
        return Link(values["bandwidth"], size, values.get("latency", 0.0))
    except InputError as error:
        raise InputError(str(error), KV_LINK) from None


def decode_engine(prefill: Settings, words: str | None) -> Settings:
    """The decode engine's settings.

    Errors: InputError for what is no setting of the twin.
    """
    settings = prefill
    for change in changes_in(words) if words else ():
        if not isinstance(change, SetFlag | UnsetFlag):
            raise InputError("only settings of the engine can differ", f"{DECODE_SET} {words}")
        value = change.value if isinstance(change, SetFlag) else None
        if change.name == "kv_blocks":
            if not isinstance(value, int) or isinstance(value, bool):
                raise InputError("kv-blocks is a whole number", f"{DECODE_SET} {words}")
            settings = replace(settings, kv_blocks=value)
            continue
        try:
            settings = with_setting(settings, change.name, value)
        except InputError as error:
            raise InputError(f"{change.name} {error}", f"{DECODE_SET} {words}") from None
    check(settings)
    return settings
