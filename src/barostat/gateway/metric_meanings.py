"""The help text of each metric of the gateway."""

from __future__ import annotations

MEANINGS = {
    "requests_total": (
        "Requests that have ended, by route and status; 499: the client left before there was "
        "one; 0: Envoy showed none."
    ),
    "refusals_total": "Requests that the gateway itself has answered with no, by reason.",
    "shadow_refusals_total": "Requests that it would have refused or held back, did it not only watch.",
    "output_caps_total": "Requests whose output limit was written into them.",
    "shadow_output_caps_total": "Requests whose output limit would have been written into them, did it not only watch.",
    "no_output_limit_total": "Requests that stated no output limit.",
    "unaccounted_total": "Requests that passed while no engine had told the size of its KV pool.",
    "shared_budget_unaccounted_total": "Requests that passed while the Redis of the shared budget did not answer.",
    "exact_counts_total": "Inputs near a limit that the engine was asked to count, by outcome.",
    "absurd_usage_total": "Answers whose usage was ignored, because it was beyond what the request could have.",
    "retries_total": "Requests that were sent again, nothing of them having been answered.",
    "engine_failures_total": "Answers that an engine broke off, left out or made no HTTP of.",
    "clients_gone_total": "Clients that left before their answer was complete.",
    "client_time_outs_total": "Clients that were too slow, by what for.",
    "streams_ended_total": "Streams that the gateway has given their final event.",
    "replica_changes_total": "Changes of how an engine stands, by what it has become.",
    "limits_reloads_total": "Readings of a changed limits file, by outcome.",
    "overrides_total": "Limits set for a while, by what became of them.",
    "prompt_tokens": "Input tokens, as usage says.",
    "output_limit_tokens": "Output limits that requests state.",
    "output_tokens": "Output tokens, as usage says.",
    "queue_seconds": "Time that requests have waited for room.",
    "first_byte_seconds": "Time from a whole request to the first byte of its answer.",
    "request_seconds": "Time from a whole request to its end.",
    "estimate_error_ratio": "How far estimates of inputs were from what usage said, over that.",
    "connections": "Connections of clients.",
    "active_requests": "Requests that are waited for, decided on or answered now.",
    "buffered_body_bytes": "Memory that requests take while they are read or wait, heads included.",
    "queued_requests": "Requests that wait for room now.",
    "reservations": "Requests in the ledger now, admitted or waiting; 0 when nothing is under way.",
    "shared_budget_up": "1 while the Redis of the shared budget answers; absent without one.",
    "draining": "1 while it has been told to stop.",
    "shadow": "1 while it only watches.",
    "loop_late_seconds": "How late the last tick of its loop was.",
    "input_bound_exceeded": "Inputs that were above what their bytes allow, since the start.",
    "length_forecast_error_ratio": "Mean distance of answers from their forecast length, over that.",
    "access_log_dropped": "Lines of the access log for which there was no room, since the start.",
    "replica_up": "1 while the engine is in rotation.",
    "replica_active_requests": "Requests that the engine has been given and has not answered.",
    "replica_pool_tokens": "The engine's KV pool, as it has told.",
    "replica_held_tokens": "Tokens that requests of this gateway hold there, as the ledger takes it.",
    "replica_forecast_peak_tokens": "Bound on what they will hold at the worst moment ahead.",
    "replica_foreign_tokens": "Tokens that others hold there.",
    "replica_shared_ratio": "What prompts hold there of what they would hold without shared prefixes.",
    "replica_pace_limit_sequences": (
        "Sequences that may run there, lest tokens come later than promised; absent where "
        "nothing holds them."
    ),
    "tokens_per_body_byte": (
        "What usage has taught of the tokens in a body, by route; of several models, of that "
        "with the most."
    ),
    "tenant_refusals_total": "Requests of a tenant that the gateway has refused, by reason; `other`: all tenants after the first hundred.",
    "tenant_requests_total": "Requests of a tenant that were decided on and have ended.",
    "tenant_prompt_tokens_total": "Input tokens of a tenant's requests, as usage says.",
    "tenant_output_tokens_total": "Output tokens of a tenant's requests, as usage says, else as their streams show.",
    "class_refusals_total": "Requests of a priority class that the gateway has refused, by reason.",
    "class_running_requests": "Requests of a priority class that are admitted now.",
    "class_waiting_requests": "Requests of a priority class that wait now.",
    "tenant_running_requests": "Requests of a listed tenant that are admitted now.",
    "tenant_waiting_requests": "Requests of a listed tenant that wait now.",
}
