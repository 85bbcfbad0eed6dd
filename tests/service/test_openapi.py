"""The description of the API: the committed copy is current, and a tool that reads it finds no lie in it."""

import re
import subprocess
import sys
from pathlib import Path

from judge.api.errors import ERRORS
from judge.store import accounts
from judge.store.database import Database
from tests.service.openapi_copy import COPY, described
from tests.service.running import start_api

ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_copy_is_what_the_server_says():
    told = "The API changed. If that is meant, write the copy anew: python -m tests.service.openapi_copy"
    assert COPY.read_text(encoding="utf-8") == described(), told


def test_every_error_code_has_a_heading_in_the_docs():
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (\w+)$", text, re.M) == list(ERRORS)
    for code, kind in ERRORS.items():
        assert f"### {code}\n\n{kind.status}: " in text, code


# That a key stood for another body (422) cannot be told from the description.
CONFIG = """
[[operations]]
include-name = "POST /api/v1/submissions"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 401, 403, 404, 409, 422, 429]
"""


def test_schemathesis_finds_no_difference_between_the_description_and_the_server(tmp_path, empty_file):
    (tmp_path / "judge.db").write_bytes(empty_file.read_bytes())
    url = f"sqlite:///{tmp_path}/judge.db"
    database = Database(url)
    with database.write() as session:
        token, _ = accounts.create_token(session, "sam", ["admin"], None)
    database.close()
    running = start_api(url, tmp_path, login=True, wait_limit_s=0.1, stream_limit_s=0.1)
    try:
        (tmp_path / "schemathesis.toml").write_text(CONFIG)
        command = [Path(sys.executable).with_name("schemathesis"), "run"]
        command += [f"http://127.0.0.1:{running.port}/api/v1/openapi.json", "--checks", "all", "--seed", "1"]
        command += ["--phases", "examples,coverage,fuzzing", "--max-examples", "1", "--no-color"]
        command += ["-H", f"Authorization: Bearer {token}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout[done.stdout.find("= FAILURES") :][:4000]
        assert "a route failed" not in running.log.read_text()
    finally:
        running.stop()
