"""How the table of scripts/zoo_on_gpu.sh reads what compute-sanitizer prints."""

import pytest

from tests.gpu.zoo import FOUND_EXIT, Row, sanitizer_words, summary, tables

MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at kernel+0x100 in specimen.cu:4
result: failed: cudaErrorLaunchFailure
========= ERROR SUMMARY: 6 errors
"""
RACECHECK = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at kernel+0x90 in specimen.cu:4
=========     and Read access at kernel+0xd0 in specimen.cu:5 [256 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = """========= COMPUTE-SANITIZER
result: right
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
"""


@pytest.mark.parametrize(
    ("status", "output", "words"),
    [
        (FOUND_EXIT, MEMCHECK, "line 4: Invalid __global__ read of size 4 bytes"),
        (FOUND_EXIT, RACECHECK, "line 4: Error: Race reported between Write access"),
        (0, CLEAN, "nothing"),
        (None, CLEAN, "did not end"),
        (1, "cannot start", "did not run: cannot start"),
    ],
)
def test_the_first_finding_is_told(status: int | None, output: str, words: str):
    assert sanitizer_words(status, output).startswith(words)


def test_both_tables_and_the_sums():
    rows = [
        Row("bugs/one", "race line 5", "race line 5", "ended", {"racecheck": "line 5: Error: Race"}),
        Row("bugs/two", "race line 7", "nothing", "ended", {"racecheck": "nothing"}),
        Row("right/three", "right", "race line 2 (warning)", "right", {"racecheck": "nothing"}),
    ]
    text, markdown = tables(rows)
    assert " ".join(text.splitlines()[1].split()) == "bugs/one race line 5 race line 5 ended line 5: Error: Race"
    assert markdown.splitlines()[0] == "| specimen | planted | ours | bare on the GPU | racecheck |"
    assert summary(rows).splitlines() == [
        "CPU backend: 1 of 2 bugs told, 0 of 1 right ones accused",
        "compute-sanitizer, four tools together: 1 of 2 bugs told, 0 of 1 right ones accused",
        "right kernels bare on the GPU: 1 of 1 came out right",
    ]
