"""The completion scripts, made from the parser itself: what a verb takes there, a shell offers
here.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from barostat.shells.cli.main import parser

_BY_METAVAR = {
    "FILE": "files", "PATH": "files", "NS": "namespaces", "TARGET": "targets", "deploy/NAME": "targets",
    "URL|deploy/NAME|BUNDLE": "targets",
}  # fmt: skip
_BY_DEST = {"gpu": "cards", "model": "models"}
_ASKED = "targets|namespaces|cards|models|pages"
"""The kinds that `barostat completion names` answers."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `takes`: a kind of name, `words A B`, `value`, or nothing if it is a
    switch.
    """

    names: tuple[str, ...]
    told: str
    takes: str


@dataclass(frozen=True, slots=True)
class Level:
    """A verb, or one within it. `takes`: what its other words are; `path` is empty for barostat
    itself.
    """

    path: str
    told: str
    options: tuple[Option, ...]
    takes: str


def levels() -> list[Level]:
    """Every verb, the outermost first."""
    return list(_levels(parser(), "", ""))


def _levels(of: argparse.ArgumentParser, path: str, told: str) -> Iterator[Level]:
    options, takes, inner = [], "value", []
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            takes = "words " + " ".join(action.choices)
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}
            inner = [
                (f"{path} {name}".strip(), said.get(name, ""), sub)
                for name, sub in action.choices.items()
            ]
        elif not action.option_strings:
            takes = _takes(action, path)
        elif action.help != argparse.SUPPRESS:
            options.append(
                Option(
                    tuple(action.option_strings),
                    _one_line(action.help),
                    "" if action.nargs == 0 else _takes(action, path),
                )
            )
    yield Level(path, _one_line(told), tuple(options), takes)
    for name, said_of, sub in inner:
        yield from _levels(sub, name, said_of)


def _takes(action: argparse.Action, path: str) -> str:
    if action.dest == "kind" and path == "completion":
        return "value"
    if action.choices is not None:
        return "words " + " ".join(str(choice) for choice in action.choices if choice != "names")
    if path == "explain" and action.dest == "name":
        return "pages"
    if path == "help":
        return "words " + " ".join(_verbs())
    return _BY_DEST.get(action.dest) or _BY_METAVAR.get(str(action.metavar), "value")


def _verbs() -> tuple[str, ...]:
    from barostat.shells.cli.main import VERBS

    return tuple(VERBS)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").replace("%%", "%").split())


def script(shell: str) -> str:
    """The script of that shell: bash, zsh or fish."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](levels())


def _cases(found: list[Level]) -> tuple[str, str, str, str]:
    """Arms of `case`: of paths, of what an option takes, of a level's options, of what its words
    are.
    """
    paths = "|".join(
        f'"{parent} {name}"'
        for level in found
        if level.path
        for parent, _, name in [level.path.rpartition(" ")]
    )
    options = [
        (
            "    "
            f"{'|'.join(f'{chr(34)}{level.path}|{name}{chr(34)}' for name in option.names)}) "
            f'takes="{option.takes}" ;;'
        )
        for level in found
        for option in level.options
        if option.takes
    ]
    flags = [
        (
            f'    "{level.path}") '
            f'flags="{" ".join(name for option in level.options for name in option.names)}" ;;'
        )
        for level in found
    ]
    takes = [f'    "{level.path}") takes="{level.takes}" ;;' for level in found]
    return paths, "\n".join(options), "\n".join(flags), "\n".join(takes)


_SH = """\
{head}
  local current="{current}" previous="{previous}" level="" takes="" flags="" word="" i=0
  local -a asked
  for ((i = {first}; i < {here}; i++)); do
    word="${{{words}[i]}}"
    case "$word" in
      --) return 0 ;;  # what follows is vLLM's own
      -n|--namespace|--context|--kubeconfig) ((i + 1 < {here})) && asked+=("$word" "${{{words}[i+1]}}") ;;
    esac
    case "$level $word" in {paths}) level="${{level:+$level }}$word" ;; esac
  done
  case "$level|$previous" in
{options}
  esac
  if [[ -z $takes ]]; then
    case "$level" in
{flags}
    esac
    if [[ $current == -* ]]; then
      takes="words $flags"
    else
      case "$level" in
{takes}
      esac
    fi
  fi
  case "$takes" in
{offer}
  esac
}}
{tail}
"""


def _bash(found: list[Level]) -> str:
    paths, options, flags, takes = _cases(found)
    offer = f"""\
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    {_ASKED})
      mapfile -t COMPREPLY < <(compgen -W "$(barostat completion names "$takes" "${{asked[@]}}" 2>/dev/null)" -- "$current")
      [[ $takes == targets ]] && COMPREPLY+=($(compgen -f -- "$current")) ;;
    words*) mapfile -t COMPREPLY < <(compgen -W "${{takes#words}}" -- "$current") ;;"""
    return _SH.format(
        head="# bash: source <(barostat completion bash)\n_barostat() {\n  COMPREPLY=()", current="${COMP_WORDS[COMP_CWORD]}",
        previous="${COMP_WORDS[COMP_CWORD-1]}", first=1, here="COMP_CWORD", words="COMP_WORDS", paths=paths, options=options, flags=flags,
        takes=takes, offer=offer, tail="complete -F _barostat barostat",
    )  # fmt: skip


def _zsh(found: list[Level]) -> str:
    paths, options, flags, takes = _cases(found)
    offer = f"""\
    files) _files ;;
    {_ASKED})
      compadd -- ${{(f)"$(barostat completion names "$takes" "${{asked[@]}}" 2>/dev/null)"}}
      [[ $takes == targets ]] && _files ;;
    words*) compadd -- ${{=takes#words}} ;;"""
    return _SH.format(
        head="#compdef barostat\n# zsh: source <(barostat completion zsh), after compinit\n_barostat() {", current="${words[CURRENT]}",
        previous="${words[CURRENT-1]}", first=2, here="CURRENT", words="words", paths=paths, options=options, flags=flags, takes=takes,
        offer=offer, tail="compdef _barostat barostat",
    )  # fmt: skip


_FISH = """\
# fish: barostat completion fish | source
function __barostat_level
    set -l level
    for word in (commandline -opc)[2..-1]
        test "$word" = --; and return 1
        contains -- (string join -- " " $level $word) {paths}; and set -a level $word
    end
    test "$level" = "$argv"
end
function __barostat_names
    set -l asked
    set -l words (commandline -opc)
    for i in (seq (count $words))
        contains -- $words[$i] -n --namespace --context --kubeconfig; and set -a asked $words[$i] $words[(math $i + 1)]
    end
    barostat completion names $argv $asked 2>/dev/null
end
complete -c barostat -f
"""


def _fish(found: list[Level]) -> str:
    paths = " ".join(_quoted(level.path) for level in found if level.path)
    told = {level.path: level.told for level in found}
    lines = []
    for level in found:
        at = f"complete -c barostat -n {_quoted(f'__barostat_level {level.path}'.strip())}"
        if level.takes.startswith("words "):
            words = level.takes.split()[1:]
            lines += [
                f"{at} -a {word} -d {_quoted(told.get(f'{level.path} {word}'.strip(), ''))}"
                for word in words
            ]
        elif level.takes != "value":
            lines.append(f"{at} {_fish_values(level.takes)}")
        for option in level.options:
            names = " ".join(
                f"-l {name[2:]}"
                if name.startswith("--")
                else f"-{'s' if len(name) == 2 else 'o'} {name[1:]}"
                for name in option.names
            )
            needs = f" -r {_fish_values(option.takes)}" if option.takes else ""
            lines.append(f"{at} {names}{needs} -d {_quoted(option.told)}")
    return _FISH.format(paths=paths) + "\n".join(lines) + "\n"


def _fish_values(takes: str) -> str:
    if takes == "value":
        return "-f"
    if takes.startswith("words "):
        return f"-f -a {_quoted(takes.removeprefix('words '))}"
    return (
        "-F"
        if takes == "files"
        else f"{'-F' if takes == 'targets' else '-f'} -a '(__barostat_names {takes})'"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
