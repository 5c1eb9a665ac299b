"""The read-only verbs as tools of the Model Context Protocol, for agents."""
