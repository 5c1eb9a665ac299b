"""The version of the JSON contract: of every document that a verb prints. Apart from the reports,
so that one loads no other.
"""

from __future__ import annotations

API_VERSION = "barostat.dev/v1alpha1"
