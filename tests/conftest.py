"""GPU tests are taken out where there is no GPU, so that a run without one has no skips to read past."""

import pytest

from judge.gpu import gpu_present


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if gpu_present():
        return
    wanted = [item for item in items if item.get_closest_marker("gpu") is None]
    taken_out = [item for item in items if item.get_closest_marker("gpu") is not None]
    if taken_out:
        config.hook.pytest_deselected(items=taken_out)
        items[:] = wanted
