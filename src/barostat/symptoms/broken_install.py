"""The image does not fit its node, its packages do not fit each other, or it is given no card.

Meaning: the driver is older than the CUDA that the image was built with, a shared library, a
compiler or a Python package is missing or of another version, the build has no code for this card,
the image has no name for the user that it runs as, or the container sees no card at all.

Impact: the process ends before it loads the model, on every node like this one.

Evidence: the driver's or the loader's own words: driver too old, "cannot open shared object file",
"undefined symbol", an ImportError as the last word, "no kernel image is available", "No CUDA GPUs
are available".

Not evidence: a warning about an optional package. A compiler that ran and ended: its disk or memory
may have run out. Any error after the server was ready.

Mitigation: a card in the pod's resources (nvidia.com/gpu, amd.com/gpu) where it sees none; an image
built for this driver and card (or a newer driver); packages at the versions that the engine's
release pins; go back to the image that worked. A driver that is not loaded or was changed beneath
what runs: the node's owner.

Source: CUDA runtime errors 35, 209, 222, 803, 804; the dynamic loader; Python's ImportError.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "broken-install",
    "the image does not fit its node",
    ("log_broken_install",),
    seen="the image cannot run here",
    none="driver, libraries and packages are compatible",
    confidence=0.95,
)
