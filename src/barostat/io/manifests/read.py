"""A file of a team's repository -> a Document: YAML, JSON and HCL as a tree, scripts, units and
Dockerfiles as text; and a limits file's complaints.
"""

from __future__ import annotations

import codecs
import re
import stat
from pathlib import Path

from barostat.core.errors import InputError
from barostat.core.redaction.credentials import secret_name
from barostat.core.redaction.key_shapes import is_issued
from barostat.io.manifests.embedded import with_embedded
from barostat.io.manifests.hcl_tree import read_hcl
from barostat.io.manifests.yaml_tree import (
    LARGEST_BYTES,
    TOO_LARGE,
    plain_text,
    read_yaml,
    whole_file,
)
from barostat.judge.manifest_check.shell_text import readable
from barostat.lint.document import Document, Place

YAML_ENDINGS = (".yaml", ".yml", ".json")
HCL_ENDINGS = (".tf", ".tofu", ".hcl", ".nomad")
TEXT_ENDINGS = (".service", ".sh", ".bash", ".container", ".ps1", ".bat", ".cmd")
IMAGE_NAMES = ("dockerfile", "containerfile")
JINJA_ENDING = ".j2"
FILLED_ENDINGS = (".tpl", ".tmpl", ".tftpl")
"""Templates of Terraform's templatefile, of Python's format and of envsubst."""
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_CONTINUED = {".ps1": "`", ".bat": "^", ".cmd": "^"}
"""What continues a line where no shell of Unix reads the script."""
_TEMPLATE = re.compile(
    r"(?<!\$)\{\{-?\s*(?:\.|include|if|range|with|end|template|toYaml|define|\$|tpl|/\*)"
)
_OF_ALERTS = re.compile(r"\{\{-?\s*(?:\w+\s+)*\$(?:labels|value|externalLabels|externalURL)\b")
"""What Prometheus fills in itself, in the words of an alert."""
_OF_HELM = re.compile(
    r"\{\{-?(?:(?!\{\{)[^}])*(?:(?<![\w.])\.(?:Values|Release|Chart|Files|Capabilities|Template)\b"
    r"|\b(?:include|tpl|define|toYaml|template)\s)"
)
_DIRECTIVE = re.compile(r"%\{[^}\n]*\}")
_PLACEHOLDER = re.compile(r"(?<![${])\{([A-Za-z_]\w*)\}(?!\})")
_COMPOSE = re.compile(r"^services[ \t]*:", re.MULTILINE)
_VARIABLE = re.compile(
    r"^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(?:[\"']([^\"'$]*)[\"']|([^\s#\"'$]*))\s*(?:#.*)?$"
)
_LARGEST_ENV = 64 << 10
_NOT_REGULAR = "not a regular file: pipe its text into `barostat check -`"
_COMPLAINT = re.compile(r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?P<said>.*)$")


def is_read(name: str) -> bool:
    """True for a file that is read where a folder is checked."""
    name = _without_template_ending(name.lower())
    return Path(name).suffix in (*YAML_ENDINGS, *HCL_ENDINGS, *TEXT_ENDINGS) or _is_image(name)


def _is_image(name: str) -> bool:
    return name.startswith(IMAGE_NAMES) or name.endswith(".dockerfile")


def is_template(text: str) -> bool:
    """True for a file that Helm has to render first."""
    if "{{" not in text or _TEMPLATE.search(text) is None:
        return False
    return _OF_ALERTS.search(text) is None or _OF_HELM.search(text) is not None


def document_of(text: str, file: str) -> Document:
    """Parse the text by the file's extension, or by its content if the extension is missing or
    unknown.
    """
    text = text.removeprefix("\ufeff")
    own = Path(file).name.lower()
    name = _without_template_ending(own)
    if name == own:
        return _document_of(text, file, name)
    filled = readable(text) if own.endswith(JINJA_ENDING) else _with_variables(text)
    document = _document_of(filled, file, name)
    document.text = text  # of the same length: places are those of the file
    if document.problem is not None and not own.endswith(JINJA_ENDING):
        reason = "a template that cannot be read unfilled: check what it renders to"
        document.problem, document.is_template = whole_file(file, reason), True
    return document


def _without_template_ending(name: str) -> str:
    """Return the name of what the template renders to: `vllm.yaml` for `vllm.yaml.tpl`. A template
    without such a name within its own is left as it is.
    """
    for ending in (JINJA_ENDING, *FILLED_ENDINGS):
        within = name.removesuffix(ending)
        if within != name and (Path(within).suffix or _is_image(within)):
            return within
    return name


def _with_variables(text: str) -> str:
    """Return the text at the same length with `{name}` as the variable `$name_` and without
    Terraform's directives.
    """
    text = _DIRECTIVE.sub(lambda match: " " * len(match[0]), text)
    return _PLACEHOLDER.sub(r"$\1_", text)


def _document_of(text: str, file: str, name: str) -> Document:
    ending = Path(name).suffix
    if ending in HCL_ENDINGS:
        return with_embedded(read_hcl(text, file))
    if ending in TEXT_ENDINGS or _is_image(name):
        return with_embedded(plain_text(text, file, _as_shell(text, ending)))
    if ending not in YAML_ENDINGS and _is_command(text):
        return with_embedded(plain_text(text, file, _as_shell(text, ending)))
    if is_template(text):
        return _template(text, file)
    document = with_embedded(read_yaml(text, file))
    if ending in YAML_ENDINGS or any(root.kind != "scalar" for root in document.roots):
        return document
    if Path(file).suffix or document.problem is None:
        reason = f"no reader for this kind of file ({Path(file).suffix or Path(file).name})"
        return Document(file, text, problem=whole_file(file, reason))
    return document


def _template(text: str, file: str) -> Document:
    """Parse a template-like text unless it is Helm's; otherwise return it unparsed."""
    if _OF_HELM.search(text) is None:
        whole = read_yaml(text, file)
        if whole.problem is None and _is_whole(whole):
            return with_embedded(whole)  # KServe and Argo CD fill such text in, within strings
    if Path(file).name.lower().startswith("values"):
        # Helm renders no values: what looks like a template there is text in a value or a comment
        values = read_yaml(text, file)
        if values.problem is None and not _has_kind(values):
            return values
    problem = whole_file(
        file, "a template: pass the chart's folder (helm renders it) or the rendered output"
    )
    return Document(file, text, problem=problem, is_template=True)


def _as_shell(text: str, ending: str) -> str:
    """Return the script at the same length as a shell of Unix would have it: line ends, and what
    continues a line.
    """
    text = text.replace("\\\r\n", " \\\n").replace("\r\n", " \n")
    mark = _CONTINUED.get(ending)
    return re.sub(rf"{re.escape(mark)}( ?)\n", r"\1\\\n", text) if mark else text


def _is_whole(document: Document) -> bool:
    """True if no `{{...}}` stands outside of a string: there it reads as a key that is a
    mapping.
    """
    return all("" not in node.entries for root in document.roots for node in root.walk())


def _has_kind(document: Document) -> bool:
    return any(root.get("kind") is not None for root in document.roots)


def _can_be_read(path: Path, mode: int) -> bool:
    """True for a regular file, and for the pipe of a shell's `<(...)`, which has a writer: any
    other pipe or device may hold the reader up for ever.
    """
    return stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and str(path).startswith("/dev/fd/"))


def read_file(path: Path, shown: str | None = None) -> Document:
    """The document of a file; what keeps it from being read is its `problem`."""
    name = shown or str(path)
    try:
        found = path.stat()
        if not _can_be_read(path, found.st_mode):
            return Document(name, "", problem=whole_file(name, _NOT_REGULAR))
        if found.st_size > LARGEST_BYTES:
            return Document(name, "", problem=whole_file(name, TOO_LARGE))
        document = document_of(_text(path), name)
        if _COMPOSE.search(document.text) is not None and document.problem is None:
            document.variables = _variables_beside(path)
        return document
    except UnicodeDecodeError:
        return _of_another_encoding(path, name)
    except OSError as error:
        return Document(name, "", problem=whole_file(name, error.strerror or str(error)))


def _variables_beside(path: Path) -> dict[str, str]:
    """Return the variables of compose's `.env` file, without secrets; empty if it cannot be read."""
    try:
        with (path.parent / ".env").open(encoding="utf-8", errors="replace") as opened:
            rows = opened.read(_LARGEST_ENV).splitlines()
    except OSError:
        return {}
    matches = [
        match
        for row in rows
        if (match := _VARIABLE.match(row)) is not None and not secret_name(match[1])
    ]
    found = {match[1]: match[2] if match[2] is not None else match[3] for match in matches}
    return {name: value for name, value in found.items() if not is_issued(value)}


def _of_another_encoding(path: Path, name: str) -> Document:
    """Return a document for a file that is not UTF-8, decoded as far as possible, so that its
    subject can be recognised.
    """
    data = path.read_bytes()
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    reason = (
        "UTF-16 text, as PowerShell's > writes it: save it as UTF-8" if wide else "not UTF-8 text"
    )
    return Document(
        name,
        data.decode("utf-16" if wide else "latin-1", errors="replace"),
        problem=whole_file(name, reason),
    )


def _text(path: Path) -> str:
    """The file's text, its line ends as they are: places are counted in it."""
    with path.open(encoding="utf-8", newline="") as opened:
        return opened.read(LARGEST_BYTES)


def _is_command(text: str) -> bool:
    """True for a shell text or a unit file rather than YAML."""
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    if text.startswith("#!") or any(line.strip() == "[Service]" for line in lines):
        return True
    first = lines[0] if lines else ""
    return (
        re.match(
            r"^\s*(?:[A-Z_][A-Z0-9_]*=\S*\s+)*(?:sudo\s+)?(?:vllm|python3?|docker|podman|nohup|exec|uv|export)\s",
            first,
        )
        is not None
    )


def limits_complaints(document: Document) -> tuple[tuple[Place, str], ...]:
    """Return the errors of strict parsing of a limits file. In a file with several documents, only
    the limits are parsed.
    """
    from barostat.io.input_files import limits_file

    roots = [root for root in document.roots if root.word("kind") == "ServingLimits"]
    if len(roots) != 1:
        return ()
    root = roots[0]
    before = document.text[: root.start].count("\n")
    alone = len(document.roots) == 1 and document.problem is None
    text = (
        document.text
        if alone
        else "\n" * before + " " * (root.column - 1) + document.text[root.start : root.end]
    )
    try:
        limits_file.parse(text, document.file)
    except InputError as error:
        found = []
        for line in str(error).splitlines():
            match = _COMPLAINT.match(line)
            place = (
                Place(document.file, int(match["line"]), int(match["column"]))
                if match
                else document.place(root)
            )
            found.append((place, match["said"] if match else line))
        return tuple(found)
    return ()
