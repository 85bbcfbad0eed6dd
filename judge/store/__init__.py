"""The durable state of the service: who submitted what, what became of it, and who works on it."""
