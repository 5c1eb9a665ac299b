"""The verb that checks manifests before they are merged."""
