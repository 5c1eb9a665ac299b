"""Corpora of invented secrets: templates in `tests/data/secrets`, values from a named seed.

A template is a line of text. `⏎` is a line break and `␀` a NUL. `«KIND»` is a secret value of that
kind; the kinds are in `value`, and `«=TEXT»` is a value written out. A form leaks if five or more
characters of a value remain in a row.
"""

import random
import string
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "data" / "secrets"
ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "A": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "u": string.ascii_letters + string.digits + "-_",
}
WORDS = (
    *("zebra", "quokka", "marzipan", "lighthouse", "trombone", "glacier", "saffron", "pelican"),
    *("harpsichord", "meadow", "thimble", "volcano", "accordion", "nutmeg", "walrus"),
    *("parchment", "cinnamon", "gondola", "juniper", "obelisk"),
)
CARRIERS = (
    "{}",
    "INFO 01-01 00:00:00 [loader.py:12] connecting with {} now",
    "  note: {}",
    '{{"msg":"sent {} to the service"}}',
    "ERROR upstream rejected '{}': 401",
)


@dataclass(frozen=True)
class Form:
    template: str
    text: str
    values: tuple[str, ...]


def forms(name: str, seed: str = "1") -> list[Form]:
    """Return the templates of `NAME.txt`, each with its own values."""
    rows = (FOLDER / f"{name}.txt").read_text().splitlines()
    return [_filled(row, f"{seed}:{row}") for row in rows if row and not row.startswith("# ")]


def issuers(name: str, seed: str = "1") -> list[Form]:
    """Return the shapes of `NAME.txt`, carried by log lines in turn."""
    shapes = (FOLDER / f"{name}.txt").read_text().split()
    carried = [CARRIERS[n % len(CARRIERS)].format(shape) for n, shape in enumerate(shapes)]
    return [_filled(row, f"{seed}:{row}") for row in carried]


def leaked(form: Form, redacted: str) -> bool:
    """Tell whether a part of a value of `form` remains in `redacted`."""
    return any(_remains(value, redacted) for value in form.values)


def _remains(value: str, redacted: str) -> bool:
    width = min(len(value), 12 if "\\" in value else 5)
    return any(value[at : at + width] in redacted for at in range(len(value) - width + 1))


def _filled(template: str, seed: str) -> Form:
    dice = random.Random(seed)
    values: list[str] = []
    text = ""
    for n, part in enumerate(template.replace("⏎", "\n").replace("␀", "\0").split("«")):
        if n == 0:
            text = part
            continue
        kind, rest = part.split("»", 1)
        shown, pieces = value(kind, dice)
        values += pieces
        text += shown + rest
    return Form(template, text, tuple(values))


def value(kind: str, dice: random.Random) -> tuple[str, list[str]]:
    """Return a value as it is written, and the pieces of it that must not remain."""

    def some(alphabet: str, count: int) -> str:
        return "".join(dice.choice(ALPHABETS[alphabet]) for _ in range(count))

    def password() -> str:
        return some("a", 3) + dice.choice("GHJKM") + dice.choice("vwxyz") + some("d", 1)

    if kind == "esc":
        return "\x1b[31m", []
    if kind.startswith("="):
        return kind[1:], [kind[1:]]
    if kind == "p":
        word = password() + password()
        return word, [word]
    if kind.startswith("p:"):
        halves = [password(), password()]
        return kind[2:].join(halves), halves
    if kind == "uuid":
        parts = [some("h", count) for count in (8, 4, 4, 4, 12)]
        return "-".join(parts), ["-".join(parts)]
    if kind in ("jwt", "jwtw"):
        parts = ["eyJhbGciOiJIUzI1NiJ9", "eyJ" + some("u", 60), some("u", 43)]
        if kind == "jwt":
            return ".".join(parts), parts[1:]
        return f"{parts[0]}.{parts[1][:40]}\n{parts[1][40:]}.{parts[2][:20]}\n{parts[2][20:]}", [
            parts[1][:40], parts[1][40:], parts[2][20:],
        ]  # fmt: skip
    if kind == "pem":
        rows = [some("b", 64), some("b", 64), some("b", 40)]
        return "\n".join(rows), rows
    if kind.startswith("bytes:"):
        written = kind[6:].join(str(dice.randrange(48, 122)) for _ in range(16))
        return written, [written[at : at + 10] for at in range(0, len(written) - 10, 5)]
    if kind == "zw34":
        body = some("a", 34)
        return "\u200b".join((body[:12], body[12:])), [body[:12], body[12:]]
    if kind == "u8hf":
        written = "".join(f"\\u{ord(letter):04x}" for letter in "hf_" + some("a", 34))
        return written, [written]
    if kind == "ux":
        written = "".join(f"\\x{ord(letter):02x}" for letter in password() + password())
        return written, [written]
    if kind == "say":
        words = dice.sample(WORDS, 4)
        return " ".join(words), words
    if kind == "ids":
        numbers = [str(dice.randrange(10_000, 99_999)) for _ in range(4)]
        return ", ".join(numbers), numbers
    body = some(kind[0], int(kind[1:]))
    return body, [body] if len(body) > 4 else []
