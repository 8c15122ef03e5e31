"""GET /api/events: the events of a user's algorithms, live."""
