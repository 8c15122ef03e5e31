"""The editor of the steps: as a form, and as JSON."""
