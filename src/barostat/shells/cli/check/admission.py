"""`barostat check LIMITS --admission-policy`: the limits as a policy that the API server itself
enforces.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from barostat.io.input_files import limits_file
from barostat.io.manifests.admission_policy import policy_text


def policies(paths: Sequence[str]) -> str:
    """A policy and its binding for each limits file. Errors: InputError for what is no valid limits
    file, or limits nothing.
    """
    return "---\n".join(policy_text(limits_file.load(Path(path)), path) for path in paths)
