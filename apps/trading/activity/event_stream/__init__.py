"""GET /api/events: what happens to a user's algorithms, as it happens."""
