"""GPU tests are taken out where there is no GPU, so that a run without one has no skips to read past.

Files that take minutes come first: several processes share a run file by file, and none of them shall begin such a
file when the others are through.
"""

import signal
from pathlib import Path

import pytest

from judge.blas import spare_the_cores
from judge.gpu import gpu_present

spare_the_cores()

HERE = Path(__file__).parent
LONG = (
    "problems/test_verification_dense.py",
    "problems/test_verification_decode.py",
    "redteam/test_catalogue.py",
    "service/test_serve.py",
    "behaviour/test_cli_verify.py",
    "web/test_browser.py",
    "service/test_kills.py",
    "zoo/test_zoo.py",
    "behaviour/cpu/test_corpus.py",
    "behaviour/cpu/test_tensor_forms.py",
    "behaviour/test_comparing.py",
    "behaviour/test_pipeline.py",
    "service/test_faults.py",
    "service/test_cluster.py",
    "service/test_openapi.py",
    "behaviour/test_readme.py",
)
"""Longest first."""


def pytest_configure() -> None:
    # A shell starts what runs in its background with Ctrl-C ignored, and every process below inherits that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    order = {HERE / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path, len(LONG)))
    if gpu_present():
        return
    wanted = [item for item in items if item.get_closest_marker("gpu") is None]
    taken_out = [item for item in items if item.get_closest_marker("gpu") is not None]
    if taken_out:
        config.hook.pytest_deselected(items=taken_out)
        items[:] = wanted
