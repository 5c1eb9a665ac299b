"""One file per symptom: needs=(signals), judge(window) -> Verdict."""
