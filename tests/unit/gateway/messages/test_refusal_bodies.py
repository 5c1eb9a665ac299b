"""A refusal is in the form of the API that was asked."""

from __future__ import annotations

import json

import pytest

from barostat.gateway.messages.refusal_bodies import answer
from barostat.gateway.messages.routes import LISTED


@pytest.mark.parametrize("path", sorted(LISTED))
def test_paths_of_anthropic_are_refused_in_its_form_and_others_in_openais(path: bytes) -> None:
    route, _ = LISTED[path]
    body = json.loads(answer(401, "no-key", "No key.", route=route).partition(b"\r\n\r\n")[2])
    if path.startswith(b"/v1/messages"):
        assert body == {
            "type": "error",
            "error": {"type": "authentication_error", "message": "No key."},
        }
    else:
        assert body["error"]["code"] == "no-key"
