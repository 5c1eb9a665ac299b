"""The container never began: its image cannot be pulled, or it cannot be created.

Meaning: ImagePullBackOff, ErrImagePull, CreateContainerConfigError, RunContainerError: a wrong tag,
a missing secret or config map, a runtime that finds no GPU.

Impact: the replica does not exist yet.

Evidence: state.waiting.reason and its message.

Not evidence: a slow pull of a large image: that is Pulling, not an error.

Mitigation: fix the image name or pull secret, or the reference that the message names.

Source: Pod status.containerStatuses[].state.waiting.reason.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "image-or-container-error",
    "the image or container cannot be set up",
    ("pod_image_error",),
    seen="the container cannot be set up",
    none="image and container are in order",
)
