"""What the driver is handed for a launch, seen through a driver that only takes notes."""

import ctypes

from judge.timing.events import launch_packed


class Notes:
    def __init__(self):
        self.calls = []

    def launchKernel(self, function, *rest):
        *geometry, stream, parameters, extra = rest
        block = None
        if extra:
            words = (ctypes.c_void_p * 5).from_address(extra)
            assert (words[0], words[2], words[4]) == (1, 2, None)
            block = ctypes.string_at(words[1], ctypes.c_size_t.from_address(words[3]).value)
        self.calls.append((function, geometry, stream, parameters, block))


def test_the_argument_block_goes_as_it_is():
    driver = Notes()
    launch_packed(driver, 77, (1, 2, 3), (4, 5, 6), 7, b"\0parameters\0")
    assert driver.calls == [(77, [1, 2, 3, 4, 5, 6, 7], 0, 0, b"\0parameters\0")]


def test_a_kernel_without_parameters_gets_none():
    driver = Notes()
    launch_packed(driver, 77, (1, 1, 1), (1, 1, 1), 0, b"")
    assert driver.calls[0][-1] is None
