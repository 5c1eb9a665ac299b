"""One file for each kind of file that starts engines; each exports `FORM`.

`forms()` walks this package. A new kind is one new file.
"""

from __future__ import annotations

from functools import cache

from barostat.core.rules import exported
from barostat.judge.manifest_check.form import Form


@cache  # a package does not change while it runs
def forms() -> tuple[Form, ...]:
    """Return every form, the general ones last."""
    known = exported(__name__, __path__, "FORM", Form)
    return tuple(sorted(known, key=lambda form: form.general))
