"""The arguments of a command line that vLLM's own parser would refuse, so that the engine ends
before it begins.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from barostat.catalog.settings.other_arguments import LISTS, SWITCHES, VALUED
from barostat.catalog.settings.setting import option_of
from barostat.catalog.settings.table import SETTINGS, Lacking, canonical_name, is_unset, lacking
from barostat.core.version import EngineVersion
from barostat.engines.vllm.command_line.arguments import CommandLine
from barostat.engines.vllm.command_line.config import read_value

_QUOTED = 60
_NEAR = 0.85
"""How much of a name has to agree for it to be a slip of the hand and no argument that our
catalogue lacks.
"""


@dataclass(frozen=True, slots=True)
class RefusedArgument:
    """An argument that the version rejects. `because`: a sentence.

    `sure`: False if the name is merely missing in our catalogue, which is incomplete. `value`: the
    quoted value, if it cannot be parsed; empty if the argument itself is rejected.
    """

    spelled: str
    name: str
    because: str
    sure: bool
    value: str = ""


def refused_arguments(given: CommandLine, version: EngineVersion) -> list[RefusedArgument]:
    """Return arguments that this version lacks, unknown ones, and invalid values, in the given
    order.
    """
    found = []
    for setting in given.settings.values():
        name = canonical_name(setting.name.partition(".")[0])
        if (absent := lacking(name, version)) is not None:
            found.append(RefusedArgument(setting.spelled, name, _told(absent, version), True))
        elif name in SETTINGS:
            if (text := setting.text) and _is_told(name, text) and read_value(name, text) is None:
                value = repr(text[:_QUOTED])
                found.append(
                    RefusedArgument(
                        setting.spelled,
                        name,
                        f"{SETTINGS[name].option}: {value} is not a valid value",
                        True,
                        value,
                    )
                )
        elif name not in SWITCHES | LISTS | VALUED:
            near = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=_NEAR)
            hint = f" (did you mean {SETTINGS[near[0]].option}?)" if near else ""
            option = setting.name if setting.name.startswith("-") else option_of(setting.name)
            found.append(
                RefusedArgument(
                    setting.spelled,
                    name,
                    f"{option} is no argument of vLLM {version}{hint}",
                    bool(near),
                )
            )
    return found


def stray_words(given: CommandLine) -> tuple[str, ...]:
    """Return the words that belong to no argument and are not the model; argparse calls them
    unrecognized. References that a shell has yet to resolve are left out.
    """
    return tuple(word for word in given.positional if "$" not in word)


def _is_told(name: str, text: str) -> bool:
    """True for a value that says something, and is not for a shell or a template to fill in."""
    return not is_unset(name, text) and "$" not in text and "{{" not in text


def _told(absent: Lacking, version: EngineVersion) -> str:
    if not absent.gone:
        return f"{absent.option} came with vLLM {absent.since}: {version} refuses it"
    replaced = f" ({absent.instead})" if absent.instead else ""
    return (
        f"{absent.option} does not exist since vLLM {absent.gone}{replaced}: {version} refuses it"
    )
