"""Verbs that change a cluster, or tell what was changed: mitigate, verify, rollback, incident."""
