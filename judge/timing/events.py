"""CUDA events as a stopwatch, with the L2 swept cold before every sample.

The sweep reads a buffer several times the size of L2. It reads rather than writes: lines it leaves
behind are clean, so the timed kernel pays for no write-back of ours. While the sweep runs, the
launches of the sample are already queued behind it; the events around them then see device time
alone and no launch overhead of the host. After the second event the device must be idle.

Lines that a kernel marked to persist in L2 are made ordinary before the sweep.
"""

import ctypes
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any

from judge.backends.base import Launch
from judge.timing.sampling import Conditions, RatesSample

SWEEP_OVER_L2 = 4
LEAST_SWEEP_BYTES = 256 << 20
MOST_STREAM_BYTES = 1 << 30
"""Size of the buffer whose reading is the measured bandwidth, where an eighth of the memory is not less."""

F32_ROUNDS, F16_ROUNDS = 2048, 1024
_READ_BLOCKS_PER_SM = (2, 4, 8, 16)

Submit = Callable[[Launch], None]


def launch_packed(
    driver: Any,
    function: int,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared_bytes: int,
    arguments: bytes,
) -> None:
    """Queue a kernel on the default stream with a ready-made parameter block."""
    block_of_arguments = ctypes.create_string_buffer(arguments, len(arguments))
    size = ctypes.c_size_t(len(arguments))
    # CU_LAUNCH_PARAM_BUFFER_POINTER, the block, CU_LAUNCH_PARAM_BUFFER_SIZE, its size, CU_LAUNCH_PARAM_END
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(block_of_arguments), 2, ctypes.addressof(size), 0)
    pointer = ctypes.addressof(extra) if arguments else 0
    driver.launchKernel(function, *grid, *block, shared_bytes, 0, 0, pointer)


def persisting_reset() -> Callable[[], None]:
    """The driver's call that makes persisting L2 lines ordinary; CuPy binds no such call."""
    try:
        reset = ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache
    except (OSError, AttributeError):
        return lambda: None
    # An older device has no such lines and the call fails; then there is nothing to reset.

    def call() -> None:
        reset()

    return call


class EventBench:
    """A Bench on the default stream of the current device; owns a module, two buffers and two events.

    rulers: cubin of rulers.cu. submit: queues a launch of the submission. sms: multiprocessors of the device.
    Errors of the driver and the runtime pass through.
    """

    def __init__(
        self,
        driver: Any,
        runtime: Any,
        rulers: bytes,
        submit: Submit,
        conditions: Callable[[], Conditions],
        *,
        l2_bytes: int,
        sms: int,
        memory_bytes: int,
    ) -> None:
        self._driver, self._runtime, self._submit = driver, runtime, submit
        self.conditions = conditions
        self._sms = sms
        self._reset_persisting = persisting_reset()
        self._module = driver.moduleLoadData(rulers)
        self._functions = {
            name: driver.moduleGetFunction(self._module, f"judge_{name}")
            for name in ("read", "sweep", "copy", "f32", "f16", "empty", "refresh2", "refresh4")
        }
        self._sweep_bytes = max(SWEEP_OVER_L2 * l2_bytes, LEAST_SWEEP_BYTES)
        self._stream_bytes = max(self._sweep_bytes, min(MOST_STREAM_BYTES, memory_bytes // 8))
        self._buffers: list[int] = []
        self._sweep_buffer = self._zeroed(self._sweep_bytes)
        self._stream_buffer = self._zeroed(self._stream_bytes)
        self._sink = self._zeroed(256)
        self._start, self._stop = runtime.eventCreate(), runtime.eventCreate()
        self._read_blocks = sms * 4
        self._read_blocks = self._best_read_blocks()

    def _zeroed(self, size_bytes: int) -> int:
        address = int(self._runtime.malloc(size_bytes))
        self._buffers.append(address)
        self._runtime.memset(address, 0, size_bytes)
        return address

    def close(self) -> None:
        """Free the buffers; the module and the events go with the process."""
        for address in self._buffers:
            self._runtime.free(address)
        self._buffers.clear()
        self._driver.moduleUnload(self._module)

    def refresh(self, address: int, count: int, element_bytes: int, before: int, now: int) -> None:
        """Queue: turn the signs of seed `before` in a buffer into those of seed `now` (see fresh.py)."""
        if count:
            arguments = struct.pack("<4Q", address, count, before, now)
            self._launch(f"refresh{element_bytes}", 16 * self._sms, 256, arguments)

    def cold_sample(self, launches: Sequence[Launch]) -> float:
        def work() -> None:
            for launch in launches:
                self._submit(launch)

        # Each sweep hides the queueing of a few launches; long plans need more cover.
        return self._cold(work, 1 + len(launches) // 4)

    def rates_sample(self) -> RatesSample:
        half = self._stream_bytes // 32
        sink, blocks = self._sink, 8 * self._sms
        copy = struct.pack("<3Q", self._stream_buffer, self._stream_buffer + 16 * half, half)
        f32_us = self._cold(lambda: self._launch("f32", blocks, 256, struct.pack("<Qiff", sink, F32_ROUNDS, 0.999, 1)))
        f16_us = self._cold(lambda: self._launch("f16", blocks, 256, struct.pack("<Qi", sink, F16_ROUNDS)))
        threads = blocks * 256
        return RatesSample(
            read_gbs=self._stream_bytes / 1e3 / self._read_us(),
            copy_gbs=32 * half / 1e3 / self._cold(lambda: self._launch("copy", 4 * self._sms, 512, copy)),
            f32_tflops=threads * F32_ROUNDS * 32 / 1e6 / f32_us,
            f16_tflops=threads // 32 * F16_ROUNDS * 8 * 4096 / 1e6 / f16_us,
            overhead_us=self._cold(lambda: self._launch("empty", 1, 32, b"")),
        )

    def _read_us(self) -> float:
        vectors = self._stream_bytes // 16
        return self._cold(lambda: self._read("read", self._stream_buffer, vectors, self._read_blocks))

    def _read(self, how: str, address: int, vectors: int, blocks: int) -> None:
        never = int.from_bytes(os.urandom(4), "little") | 1
        self._launch(how, blocks, 512, struct.pack("<3QI", address, vectors, self._sink, never))

    def _best_read_blocks(self) -> int:
        """How many blocks read fastest on this device: the roof must be the best that reading can do."""
        times = {}
        for blocks in (self._sms * count for count in _READ_BLOCKS_PER_SM):
            self._read_blocks = blocks
            times[min(self._read_us() for _ in range(4))] = blocks
        return times[min(times)]

    def _cold(self, work: Callable[[], None], sweeps: int = 1) -> float:
        runtime = self._runtime
        # A figure starts on an idle device: work of ours that is still queued would be swept in.
        runtime.deviceSynchronize()
        self._reset_persisting()
        for _ in range(sweeps):
            self._read("sweep", self._sweep_buffer, self._sweep_bytes // 16, self._sms * 4)
        runtime.eventRecord(self._start, 0)
        work()
        runtime.eventRecord(self._stop, 0)
        # Not only the event: whatever a kernel left running has to end before its outputs are looked at.
        runtime.deviceSynchronize()
        milliseconds: float = runtime.eventElapsedTime(self._start, self._stop)
        return milliseconds * 1000.0

    def _launch(self, name: str, blocks: int, threads: int, arguments: bytes) -> None:
        launch_packed(self._driver, self._functions[name], (blocks, 1, 1), (threads, 1, 1), 0, arguments)
