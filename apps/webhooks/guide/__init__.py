"""Documents for receivers: /docs/webhooks and the callbacks of the OpenAPI document."""
