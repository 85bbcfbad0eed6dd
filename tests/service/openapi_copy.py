"""Writes docs/openapi.json anew: `python -m tests.service.openapi_copy`."""

from pathlib import Path

from judge.api.app import openapi_text
from judge.api.service import Service
from judge.api.settings import ApiSettings
from judge.store.database import Database

COPY = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def described() -> str:
    return openapi_text(Service(ApiSettings(), Database("sqlite:///never-opened.db")))


if __name__ == "__main__":
    COPY.write_text(described(), encoding="utf-8")
