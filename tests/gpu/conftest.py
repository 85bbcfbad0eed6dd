"""Everything in this folder needs an NVIDIA GPU and is skipped where there is none."""

from pathlib import Path

import pytest

from judge.gpu import gpu_present

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason="needs an NVIDIA GPU")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            if not gpu_present():
                item.add_marker(skip)
