"""The request parameters that are refused unless the operator allows them."""

from __future__ import annotations

GUARDED_PARAMETERS = (
    "background",
    "chat_template",
    "data",
    "file",
    "kv_transfer_params",
    "padding",
    "previous_input_messages",
    "previous_response_id",
    "prompt",
    "prompt_embeds",
)
"""Parameters with which a request is longer, or runs longer, than the gateway can see. Each is
refused unless --allow-parameter names it. `prompt`: a stored one, of a response. `data`: what a
plug-in of the engine's makes an input of, where it pools. `padding`: makes a pooled input as long
as the context. `file`: audio other than WAV, whose bytes do not say how long it plays.
"""
