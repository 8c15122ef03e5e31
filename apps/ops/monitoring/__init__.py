"""Metrics, health and the backlog."""
