"""GPU tests are taken out where there is no GPU, so that a run without one has no skips to read past."""

import signal

import pytest

from judge.blas import spare_the_cores
from judge.gpu import gpu_present

spare_the_cores()


def pytest_configure() -> None:
    # A shell starts what runs in its background with Ctrl-C ignored, and every process below inherits that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if gpu_present():
        return
    wanted = [item for item in items if item.get_closest_marker("gpu") is None]
    taken_out = [item for item in items if item.get_closest_marker("gpu") is not None]
    if taken_out:
        config.hook.pytest_deselected(items=taken_out)
        items[:] = wanted
