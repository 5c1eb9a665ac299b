"""Engines that a shell text starts: scripts, commands of units and pipelines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from barostat.engines.vllm.command_line.arguments import KEYWORDS, ONLY_SHOWS, program_end
from barostat.engines.vllm.command_line.shell_words import Word, expand, read_shell
from barostat.judge.manifest_check.commands import (
    SERVER,
    is_program,
    read_text,
    starts_itself,
)
from barostat.judge.manifest_check.form import engine_of
from barostat.judge.manifest_check.images import image_facts
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import Engine, FileForm, Given

LONGEST_SCRIPT = 500_000
CONTAINER = re.compile(r"\b(?:docker|podman|nerdctl)\b[^|;&]{0,300}?\b(?:run|create)\b")
_ASSIGNMENT = re.compile(r"^(?:export\s+)?([A-Za-z_]\w*)=(.*)$", re.DOTALL)
_STRETCH = re.compile(
    r"^[ \t]*(?:function[ \t]+)?[\w-]+[ \t]*\(\)[ \t]*\{?[ \t]*$|^\}|^[ \t]*(?:sudo[ \t]+)?(?:kill|pkill|killall)\b"
    r"|^[ \t]*wait[ \t]*(?:[$\d\"#].*)?$|^[ \t]*(?:docker|podman|nerdctl)[ \t]+(?:stop|kill|rm)\b",
    re.MULTILINE,
)
"""Where what was started before may have ended: a function begins or ends, something is killed or
waited for.
"""
_DOCKER = re.compile(r"^[-@:+!|]*(?:/[\w./-]*/)?(?:docker|podman|nerdctl)$")
"""The docker program, by name or path, optionally with systemd's prefixes."""
_DOCKER_VALUED = ("--context", "-c", "-H", "--host", "-l", "--log-level", "--config")
_BEFORE = ("exec", "sudo", "nohup", "time", "command", "env", *KEYWORDS)
_RUNS_TEXT = ("ssh", "tmux", "screen", "su", "eval", "sshpass", "watch", "script", "gcloud", "srun")
"""Programs that run a text which stands in one word."""
_TO_FILL_IN = re.compile(r"(?<=[\s=])<([A-Za-z_][\w-]*)>(?=\s|$)")
"""`<port>`, for the reader to fill in; a shell would read two redirections."""
_JINJA = re.compile(r"\{\{.{0,1000}?\}\}", re.DOTALL)
_JINJA_BLOCK = re.compile(r"\{[%#].{0,1000}?[%#]\}", re.DOTALL)
_OTHER_TEXT = re.compile(r"^\s*(?:apiVersion|kind|services|FROM)\b", re.MULTILINE)
"""A here-document that is no script: a manifest, a compose file, a Dockerfile."""
_OWN = re.compile(r"(?:docker\.io/)?vllm/")
_NAMED = re.compile(r"^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$")


def may_start(text: str) -> bool:
    """True if the text may start vLLM's server; only then it is taken apart."""
    return len(text) <= LONGEST_SCRIPT and bool(
        SERVER.search(text) or ("vllm" in text and CONTAINER.search(text))
    )


def readable(text: str) -> str:
    """Return the text at the same length as a shell can read it: Jinja's values and `<what to fill
    in>` as variables.
    """
    text = _JINJA_BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    text = _JINJA.sub(lambda match: "$" + "_" * (len(match[0]) - 1), text)
    return _TO_FILL_IN.sub(lambda match: f"${match[1].replace('-', '_')}_", text)


def engines_of_text(
    document: Document,
    node: Node,
    name: str,
    *,
    form: FileForm = "script",
    stretch: tuple[int, int] | None = None,
    around: Mapping[str, Given] | None = None,
) -> Iterator[Engine]:
    """Read every server that the shell text starts, in order, here-documents included.

    `stretch`: the part of the node's text to read. `around`: variables that are set before it.
    """
    first, last = stretch or (0, len(node.text))
    if not may_start(node.text[first:last]):
        return
    text = readable(node.text[first:last])
    shell = read_shell(text, {}, whole_script=True)
    env: dict[str, Given] = dict(around or {})
    parts = [match.start() for match in _STRETCH.finditer(text)]
    for command in _commands(shell.words):
        engines = list(
            _engines_of_command(_Part(document, node, first, text), name, form, command, env)
        )
        if not engines and (len(command) < 3 or command[0].text == "export"):
            env.update(assigned(document, node, command, first))
        for engine in engines:
            yield replace(engine, stretch=bisect_left(parts, command[0].start))
    for start, end in shell.here_documents:
        if not _OTHER_TEXT.search(text[start:end]):
            part = (first + start, first + end)
            yield from engines_of_text(document, node, name, form=form, stretch=part, around=env)


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of a node's text, which begins at `first` there. `text`: as a shell reads it."""

    document: Document
    node: Node
    first: int
    text: str

    def place(self, start: int, end: int) -> Place:
        """Return the place of the characters `start` to `end` of the part."""
        return self.document.within(self.node, self.first + start, self.first + end)


def _engines_of_command(
    part: _Part,
    name: str,
    form: FileForm,
    command: Sequence[Word],
    env: Mapping[str, Given],
) -> Iterator[Engine]:
    texts = [word.text for word in command]
    docker = _docker_image(texts, env)
    image = _image(part, command[docker], env) if docker is not None else None
    body = command
    if docker is not None and image is not None:
        behind = command[docker + 1 :]
        if program_end(command) is None:
            body = behind
            own = _OWN.match(image.text) is not None
            given = any(word.text.startswith("-") for word in behind)
            if (behind and is_program(behind[0].text)) or not (own or given):
                return
    elif program_end(command) is None:
        for index, word in enumerate(command):
            if _runs(texts, index) and may_start(word.text):
                stretch = (part.first + word.start + 1, part.first + word.end - 1)
                yield from engines_of_text(
                    part.document, part.node, name, form=form, stretch=stretch, around=env
                )
        return
    start = body[0].start if body else command[-1].start
    end = body[-1].end if body else command[-1].start
    values = {key: given.text for key, given in env.items()}
    line = read_text(
        part.document, part.node, values, part.first + start, text=part.text[start:end]
    )
    own_env = (
        assigned(part.document, part.node, command[:docker], part.first, behind=("-e", "--env"))
        if docker
        else {}
    )
    own_env |= {
        key: given
        for key, given in assigned(part.document, part.node, command, part.first).items()
        if key in line.assigned
    }
    facts = image_facts(image.text) if image is not None else None
    engine = engine_of(
        line,
        name=name,
        form=form,
        place=part.place(start, start + 1),
        image=image,
        facts=facts,
        env={**env, **own_env},
    )
    yield replace(
        engine,
        own_image=image is not None,
        floating=facts.floating if facts else False,
        env_complete=False,
        handed_on=_handed_on(part, command, docker, image),
        multi_node="ray" in part.text,
        complete=engine.complete and bool(body),
    )


def _runs(texts: Sequence[str], index: int) -> bool:
    """True if the word at that place is a text that is run: behind `-c`, or an argument of ssh."""
    program = next((text for text in texts if text not in _BEFORE), "").rsplit("/", 1)[-1]
    if program in ONLY_SHOWS:
        return False
    behind = index > 0 and re.fullmatch(r"-[A-Za-z]*c", texts[index - 1]) is not None
    return behind or (program in _RUNS_TEXT and index > 0)


def assigned(
    document: Document,
    node: Node,
    words: Sequence[Word],
    first: int = 0,
    *,
    behind: tuple[str, ...] = (),
) -> dict[str, Given]:
    """Return `NAME=value` among the words, each with its place. `first`: where their text begins in
    the node's. `behind`: only what follows one of these options, or is joined to it.
    """
    variables = {}
    for before, word in pairwise([Word("", 0, 0), *words]):
        joined = next((f"{option}=" for option in behind if word.text.startswith(f"{option}=")), "")
        match = _ASSIGNMENT.match(word.text.removeprefix(joined))
        if match is not None and (not behind or joined or before.text in behind):
            variables[match[1]] = Given(
                match[2], document.within(node, first + word.start, first + word.end)
            )
    return variables


def _commands(words: Sequence[Word]) -> Iterator[list[Word]]:
    command: list[Word] = []
    for word in words:
        if not word.operator:
            command.append(word)
        elif command:
            yield command
            command = []
    if command:
        yield command


def _docker_image(texts: Sequence[str], env: Mapping[str, Given]) -> int | None:
    """Return the index of vLLM's image in `docker run ... IMAGE args`, None elsewhere. The image may
    stand in a variable; `volume:/path` is none.
    """
    program = next(
        (
            index
            for index, word in enumerate(texts)
            if word not in _BEFORE and not _ASSIGNMENT.match(word)
        ),
        len(texts),
    )
    if program == len(texts) or not _DOCKER.match(texts[program]):
        return None
    verbs = [
        word
        for before, word in pairwise(texts[program:])
        if not word.startswith("-") and before not in _DOCKER_VALUED
    ]
    verb = verbs[1] if verbs[:1] == ["container"] and len(verbs) > 1 else verbs[0] if verbs else ""
    if verb not in ("run", "create"):
        return None
    for index, word in enumerate(texts[program + 1 :], program + 1):
        held = _held(word, env)
        text = (
            held.text
            if held is not None
            else expand(word, {key: given.text for key, given in env.items()})[0]
        )
        if (
            "/" not in text
            or ":/" in text
            or "=" in text
            or text.startswith(("-", "/", ".", "~", "$$"))
        ):
            continue
        if image_facts(text).server:
            return index
    return None


def _handed_on(
    part: _Part, words: Sequence[Word], docker: int | None, image: Given | None
) -> Given | None:
    """Return the word behind vLLM's own image that starts the server a second time."""
    if docker is None or image is None or not starts_itself(image.text) or len(words) <= docker + 1:
        return None
    word = words[docker + 1]
    entry_point = any(each.text.startswith("--entrypoint") for each in words[:docker])
    if word.text not in ("serve", "vllm") or entry_point:
        return None
    started = "vllm serve" if word.text == "vllm" else word.text
    return Given(started, part.place(word.start, word.end))


def _held(word: str, env: Mapping[str, Given]) -> Given | None:
    """Return what the script assigned to the variable that the word names, None for any other."""
    named = _NAMED.match(word)
    return env.get(named[1] or named[2]) if named is not None else None


def _image(part: _Part, word: Word, env: Mapping[str, Given]) -> Given:
    """Return the image at the place where it is written: there a moving tag is fixed."""
    text, _ = expand(word.text, {key: given.text for key, given in env.items()})
    return _held(word.text, env) or Given(text, part.place(word.start, word.end))
