"""An incident, a remedy's plan and its post-mortem in every form."""
