"""The command line has no argument that this version refuses.

Meaning: vLLM's parser ends the process with exit code 2 for an argument that it does not know.
When: the log says "unrecognized arguments", or the catalogue knows that the version lacks one that
is set.
Not when: the argument is known and its value is wrong.
Undo: put it back.
Proof: the engine gets past its arguments.
Source: argparse; vLLM 0.6.6.post1 to 0.33.0 EngineArgs.add_cli_args.
"""

from __future__ import annotations

import re

from barostat.catalog.settings.table import SETTINGS, canonical_name, known_flag
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import UnsetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import detail_of

NAME = "remove-argument"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The refused words as the log quotes them; else what the version lacks by the catalogue."""
    window = situation.window
    if situation.variant != "argument":
        return NotApplicable(NAME, Prose("no argument was refused"))
    line = detail_of(window, "log_unknown_argument")
    refused = re.search(r"unrecognized arguments?:? (.+?)\s*$", line)
    if refused is not None:
        words = refused[1].strip()
        name = canonical_name(words.split()[0].partition("=")[0])
        return Proposal(
            NAME, UnsetFlag(name, as_refused=words), Prose(_why(name, situation)), True, 20
        )
    for name in window.config.values:
        if known_flag(name, window.version) == "absent" and window.config.values[
            name
        ].provenance in ("flag", "config-file"):
            return Proposal(NAME, UnsetFlag(name), Prose(_why(name, situation)), True, 20)
    return NotApplicable(NAME, Prose("the log does not say that an argument is unknown"))


def _why(name: str, situation: Situation) -> str:
    flag, version = SETTINGS.get(name), situation.window.version
    if flag is None or version is None or known_flag(name, version) != "absent":
        return "the engine refused it as unknown"
    if flag.gone and version.at_least(flag.gone):
        return f"it does not exist since vLLM {flag.gone} (this engine is {version})" + (
            f"; {flag.instead} replaced it" if flag.instead else ""
        )
    return f"it needs vLLM >= {flag.since} (this engine is {version})"


LEVER = Lever(NAME, Prose("remove what the engine refuses"), "manifest", ("bad-config",), propose)
