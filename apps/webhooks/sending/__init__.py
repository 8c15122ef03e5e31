"""Delivery of events to webhooks: claims, retries, the address guard, signatures, HTTP."""
