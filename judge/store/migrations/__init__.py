"""Alembic's migrations of the store, run by judge.store.schema."""
