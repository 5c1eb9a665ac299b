"""Engines outside Kubernetes: shell scripts and plain command lines, systemd units.

Source: systemd.service(5), systemd.exec(5), podman-systemd.unit(5).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from barostat.engines.vllm.command_line.shell_words import Word, expand, split_words
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.words import (
    SERVER,
    is_program,
    read_text,
    starts_itself,
    starts_server,
)
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given

_ASSIGNMENT = re.compile(r"^(?:export\s+)?([A-Za-z_]\w*)=(.*)$", re.DOTALL)
_UNIT_LINE = re.compile(r"^(ExecStart|Exec|Image|Environment)[ \t]*=[ \t]*", re.MULTILINE)
_COMMENTS_WITHIN = re.compile(r"(?<=\\\n)(?:[ \t]*[#;][^\n]*\n)+")
"""Comments of a unit between a line that ends in a backslash and the one that it goes on with;
systemd reads over them.
"""
LONGEST_SCRIPT = 500_000
_CONTAINER = re.compile(r"\b(?:docker|podman|nerdctl)\b[^|;&]*\b(?:run|create)\b")
_STRETCH = re.compile(
    r"^[ \t]*(?:function[ \t]+)?[\w-]+[ \t]*\(\)[ \t]*\{?[ \t]*$|^\}|^[ \t]*(?:sudo[ \t]+)?(?:kill|pkill|killall)\b"
    r"|^[ \t]*wait[ \t]*(?:[$\d\"#].*)?$|^[ \t]*(?:docker|podman|nerdctl)[ \t]+(?:stop|kill|rm)\b",
    re.MULTILINE,
)
"""Where what was started before may have ended: a function begins or ends, something is killed or
waited for.
"""
_DOCKER = re.compile(r"^[-@:+!|]*(?:/[\w./-]*/)?(?:docker|podman|nerdctl)$")
"""By its name or its path; before the path what systemd takes for itself."""
_BEFORE = ("exec", "sudo", "nohup", "time", "command", "env")
_PLACEHOLDER = re.compile(r"(?<=[\s=])<([A-Za-z_][\w-]*)>(?=\s|$)")
"""`<port>`, for the reader to fill in: a shell would read two redirections, of which none is
meant.
"""
_OWN = re.compile(r"(?:docker\.io/)?vllm/")
_NAMED = re.compile(r"^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$")


def engines_of_script(
    document: Document,
    node: Node,
    name: str,
    *,
    text: str | None = None,
    around: Mapping[str, Given] | None = None,
) -> Iterator[Engine]:
    """Every server that the shell text starts, in order. A text that names none is not taken apart,
    nor one longer than a script is.

    `text`: of the same length, what is to be read in its stead: one command of a unit, whose
    variables are `around`.
    """
    read = node.text if text is None else text
    if len(read) > LONGEST_SCRIPT or not (
        SERVER.search(read) or ("vllm" in read and _CONTAINER.search(read))
    ):
        return
    whole_text = _PLACEHOLDER.sub(lambda found: f"${found[1].replace('-', '_')}_", read)
    words, _ = split_words(whole_text, {}, whole_script=True)
    env: dict[str, Given] = dict(around or {})
    stretches = [match.start() for match in _STRETCH.finditer(node.text)]
    for command in _commands(words):
        whole, docker = command, None
        texts = [word.text for word in command]
        joined = " ".join(texts)
        if not starts_server(joined):
            docker = _docker_image(texts, env)
            if docker is None:
                if len(texts) < 3 or texts[0] == "export":
                    env.update(_assigned(document, node, command))
                continue
            command, image = command[docker + 1 :], _image(document, node, command[docker], env)
            if (
                not command
                or is_program(command[0].text)
                or not (_arguments(command) or _OWN.match(image.text))
            ):
                continue
        else:
            image = None
            if (
                texts[0]
                in ("echo", "printf", "pip", "uv", "grep", "pkill", "kubectl", "#", "alias")
                or "--help" in texts
            ):
                continue
            docker = _docker_image(texts, env)
            if docker is not None:
                image = _image(document, node, command[docker], env)
        start, end = command[0].start, command[-1].end
        line = read_text(
            document,
            node,
            {key: given.text for key, given in env.items()},
            start,
            end,
            whole_text[start:end],
        )
        facts = image_facts(image.text) if image is not None else None
        own = (
            _assigned(document, node, whole[: docker or 0], behind=("-e", "--env"))
            if image is not None
            else {}
        )
        own |= {
            key: given
            for key, given in _assigned(document, node, whole).items()
            if key in line.assigned
        }
        told = {**env, **own}
        yield Engine(
            name=name,
            form="script" if text is None else "systemd",
            place=document.within(node, start, start + 1),
            arguments=line.arguments,
            occurrences=line.occurrences,
            model=line.model,
            image=image,
            version=facts.version if facts else None,
            floating=facts.floating if facts else False,
            own_image=image is not None,
            env=told,
            env_complete=False,
            complete=line.complete and "config" not in line.arguments,
            is_cpu="VLLM_CPU_KVCACHE_SPACE" in told or bool(facts and facts.is_cpu),
            cut=line.cut,
            handed_on=_handed_on(document, node, whole, docker, image),
            multi_node="ray" in node.text,
            stretch=bisect_left(stretches, start),
        )


def _assigned(
    document: Document, node: Node, words: Sequence[Word], *, behind: tuple[str, ...] = ()
) -> dict[str, Given]:
    """`NAME=value` among the words, each with its place; with `behind` only what stands behind one
    of these options, or is joined to it.
    """
    found = {}
    for before, word in pairwise([Word("", 0, 0), *words]):
        joined = next((f"{option}=" for option in behind if word.text.startswith(f"{option}=")), "")
        match = _ASSIGNMENT.match(word.text.removeprefix(joined))
        if match is not None and (not behind or joined or before.text in behind):
            found[match[1]] = Given(match[2], document.within(node, word.start, word.end))
    return found


def _commands(words: list[Word]) -> Iterator[list[Word]]:
    found: list[Word] = []
    for word in words:
        if word.operator:
            if found:
                yield found
            found = []
        else:
            found.append(word)
    if found:
        yield found


def _docker_image(texts: list[str], env: Mapping[str, Given]) -> int | None:
    """Index of the image in `docker run ... IMAGE args`, where it is vLLM's. It may stand in a
    variable; `volume:/path` is none.
    """
    program = next(
        (
            index
            for index, word in enumerate(texts)
            if word not in _BEFORE and not _ASSIGNMENT.match(word)
        ),
        len(texts),
    )
    if (
        program == len(texts)
        or not _DOCKER.match(texts[program])
        or ("run" not in texts and "create" not in texts)
    ):
        return None
    for index, word in enumerate(texts[program + 1 :], program + 1):
        held = _valued(word, env)
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


def _arguments(command: Sequence[Word]) -> bool:
    """True where one word is an argument: behind an image that is not vLLM's own, a lone `a/b` may
    be anything.
    """
    return any(word.text.startswith("-") for word in command)


def _handed_on(
    document: Document, node: Node, words: Sequence[Word], docker: int | None, image: Given | None
) -> Given | None:
    """The word behind vLLM's own image that starts the server once more."""
    if docker is None or image is None or not starts_itself(image.text) or len(words) <= docker + 1:
        return None
    word = words[docker + 1]
    again = word.text in ("serve", "vllm") and not any(
        one.text.startswith("--entrypoint") for one in words[:docker]
    )
    return (
        Given(
            "vllm serve" if word.text == "vllm" else word.text,
            document.within(node, word.start, word.end),
        )
        if again
        else None
    )


def _valued(word: str, env: Mapping[str, Given]) -> Given | None:
    """What the script set the variable to that the word names, None where it names none, or one
    that is set elsewhere.
    """
    named = _NAMED.match(word)
    return env.get(named[1] or named[2]) if named is not None else None


def _image(document: Document, node: Node, word: Word, env: Mapping[str, Given]) -> Given:
    """The image that the word names, where it is written: there a moving tag is to be mended."""
    told, _ = expand(word.text, {key: given.text for key, given in env.items()})
    return _valued(word.text, env) or Given(told, document.within(node, word.start, word.end))


def engines_of_unit(document: Document, node: Node, name: str) -> Iterator[Engine]:
    """The engine of a systemd unit; of a Quadlet's container `Exec` is what stands behind its
    `Image`.
    """
    env: dict[str, Given] = {}
    image: Given | None = None
    whole = _COMMENTS_WITHIN.sub(lambda lines: " " * len(lines[0]), node.text)
    end = 0
    for match in _UNIT_LINE.finditer(whole):
        if match.start() < end:  # goes on the line before, which ends in a backslash
            continue
        end = match.end()
        while (stop := whole.find("\n", end)) >= 0 and whole[stop - 1] == "\\":
            end = stop + 1
        end = stop if stop >= 0 else len(whole)
        text = whole[match.end() : end]
        if match[1] == "Environment":
            words, _ = split_words(text, {})
            moved = [
                replace(word, start=match.end() + word.start, end=match.end() + word.end)
                for word in words
            ]
            env.update(_assigned(document, node, moved))
            continue
        if match[1] == "Image":
            image = Given(
                text.strip(), document.within(node, match.end(), match.end() + len(text.rstrip()))
            )
            continue
        if match[1] == "ExecStart" and "vllm" in text and _CONTAINER.search(text):
            yield from engines_of_script(
                document,
                node,
                name,
                text=" " * match.end() + text + " " * (len(whole) - end),
                around=env,
            )
            continue
        facts = image_facts(image.text) if image is not None else None
        behind = (
            match[1] == "Exec"
            and facts is not None
            and facts.server
            and text.lstrip().startswith("-")
        )
        if not (starts_server(text) or behind):
            continue
        line = read_text(
            document,
            node,
            {key: given.text for key, given in env.items()},
            match.end(),
            end,
            text=text,
        )
        yield Engine(
            name=name,
            form="systemd",
            place=document.within(node, match.start(), match.end()),
            arguments=line.arguments,
            occurrences=line.occurrences,
            model=line.model,
            image=image,
            version=facts.version if facts else None,
            floating=bool(facts and facts.server and facts.floating),
            own_image=bool(facts and facts.server),
            env=env,
            env_complete="EnvironmentFile" not in node.text,
            complete=line.complete and "config" not in line.arguments,
            is_cpu="VLLM_CPU_KVCACHE_SPACE" in env or bool(facts and facts.is_cpu),
        )
