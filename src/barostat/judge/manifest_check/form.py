"""The seam behind which each kind of file is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from barostat.judge.manifest_check.commands import Command
from barostat.judge.manifest_check.config_maps import ConfigMaps
from barostat.judge.manifest_check.images import ImageFacts
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import Engine, FileForm, Given


@dataclass(frozen=True, slots=True)
class Source:
    """One object or text of a document. `config_maps`: of all documents. `taken`: offsets of the
    engines that other forms have read from this document.
    """

    document: Document
    root: Node
    config_maps: ConfigMaps
    taken: tuple[int, ...] = ()

    def is_taken(self, node: Node) -> bool:
        """True if an engine was read from within that node already."""
        return any(node.start <= offset < node.end for offset in self.taken)


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of file. `name`: as a sentence names it ("a compose file"). `general`: read last,
    and only what no other form has read. `is_whole`: a root of this form holds nothing for the
    general forms.
    """

    name: str
    is_of: Callable[[Document, Node], bool]
    engines: Callable[[Source], Iterable[Engine]]
    general: bool = False
    is_whole: bool = False


def engine_of(
    line: Command,
    *,
    name: str,
    form: FileForm,
    place: Place,
    image: Given | None = None,
    facts: ImageFacts | None = None,
    env: Mapping[str, Given] | None = None,
) -> Engine:
    """Return the engine that the command line starts, with what its image tells."""
    server = facts is not None and facts.server
    told = env or {}
    engine = Engine(
        name=name,
        form=form,
        place=place,
        arguments=line.arguments,
        occurrences=line.occurrences,
        model=line.model,
        image=image,
        env=told,
        complete=line.complete and "config" not in line.arguments,
        own_image=server,
        stuck=line.stuck,
        cut=line.cut,
        is_cpu="VLLM_CPU_KVCACHE_SPACE" in told,
        multi_node=_spans_nodes(line),
    )
    if facts is None:
        return engine
    return replace(
        engine,
        version=facts.version,
        floating=facts.floating and facts.server,
        is_cpu=engine.is_cpu or facts.is_cpu,
    )


def _spans_nodes(line: Command) -> bool:
    """True if the arguments are those of an engine over several nodes. With Ray it may be one."""
    backend = line.arguments.get("distributed_executor_backend")
    return any(name in line.arguments for name in ("nnodes", "node_rank", "headless")) or (
        backend is not None and backend.text == "ray"
    )
