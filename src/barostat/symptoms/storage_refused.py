"""A directory refuses the engine: it is full, read-only, or another user's.

Meaning: vLLM, the Hugging Face hub, torch and Triton write what they download and compile under
HOME; one of these places, or the model's own, cannot be written or read.

Impact: the process ends in its start, on every restart.

Evidence: the system's own words as an error of the start: no space left on device, permission
denied with a path, read-only file system, disk quota exceeded.

Not evidence: the same of /dev/shm (see shm-too-small) or of a device; a warning that a cache is not
used; any error after the server was ready.

Mitigation: full: a larger volume for the cache (HF_HOME, --download-dir), or the model's weights on
a volume of their own. Not permitted: a writable volume with HOME, HF_HOME, VLLM_CACHE_ROOT and
TRITON_CACHE_DIR on it, and the pod's fsGroup; OpenShift gives each pod a user of its own.

Source: Linux errno 13, 28, 30, 122; vLLM issue 10185, llm-d issue 1430 (OpenShift's restricted-v2).
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "storage-refused",
    "a directory is full or not permitted",
    ("log_storage_refused",),
    seen="a directory refuses the engine",
    none="no directory refused the engine",
    confidence=0.9,
)
