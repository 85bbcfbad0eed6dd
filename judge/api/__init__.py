"""The REST API: FastAPI over the store. It judges nothing; whatever it answers is in the store."""
