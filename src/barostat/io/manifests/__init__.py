"""Files that a team keeps in its repository, read into documents with places: YAML, charts,
overlays, what a change touched.
"""
