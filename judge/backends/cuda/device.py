"""A GPU as a Device, through CuPy's bindings of the driver and the runtime.

Only `cupy_backends` is imported: it binds the CUDA API and loads in 20 ms, where all of CuPy takes
half a second that a one-shot worker would pay for nothing. Memory comes straight from cudaMalloc,
never from a pool, so no block of an earlier case is handed out again unseen.
"""

import contextlib
import copy
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from judge.backends.base import (
    BufferLabel,
    DeviceFault,
    DeviceProperties,
    KernelAttributes,
    Launch,
    LaunchOutcome,
)
from judge.backends.cuda.faults import launch_fault
from judge.backends.cuda.printing import PrintCapture
from judge.errors import MachineError
from judge.timing.conditions import conditions_reader
from judge.timing.events import EventBench, launch_packed
from judge.timing.sampling import Conditions, RatesSample
from judge.verdict import Verdict

_Read = TypeVar("_Read")

PRINTF_FIFO_BYTES = 1 << 20
MALLOC_HEAP_BYTES = 64 << 20
LOCAL_MEMORY_SHARE = 0.5
"""Local memory of all resident threads may take this share of device memory."""

_TRIFLE = b".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry trifle()\n{\nret;\n}\n\0"
"""PTX, so that it is for every GPU."""

_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2
_NOT_READY = 600
_OUT_OF_MEMORY = 2


class CudaDevice:
    """One GPU in one worker process.

    capture: False leaves file descriptor 1 alone (a test that wants to see the output).
    Raises MachineError when there is no usable GPU.
    """

    def __init__(self, ordinal: int = 0, *, capture: bool = True) -> None:
        try:
            from cupy_backends.cuda.api import driver, runtime
        except ImportError as error:
            raise MachineError(f"CuPy is not installed: {error}") from error
        self._driver: Any = driver
        self._runtime: Any = runtime
        self._errors = (driver.CUDADriverError, runtime.CUDARuntimeError)
        self._ordinal = ordinal
        try:
            raw = self._open(ordinal)
            optin = runtime.deviceGetAttribute(runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal)
        except (*self._errors, RuntimeError) as error:
            raise MachineError(f"no usable GPU {ordinal}: {error}") from error
        self._raw = raw
        self.properties = _properties(raw, int(optin), str(runtime.deviceGetPCIBusId(ordinal)))
        self._allocations: list[int] = []
        self._functions: dict[str, int] = {}
        self._dynamic_bytes: dict[str, int] = {}
        """Dynamic shared memory that a kernel of this module may ask for so far."""
        self._module: int | None = None
        self._image = b""
        self._printed = PrintCapture() if capture else None

    def _open(self, ordinal: int) -> dict[str, Any]:
        runtime = self._runtime
        runtime.setDevice(ordinal)
        runtime.free(0)
        # Fixed sizes before anything is loaded: what a kernel can print or allocate is the same for all.
        runtime.deviceSetLimit(runtime.cudaLimitPrintfFifoSize, PRINTF_FIFO_BYTES)
        runtime.deviceSetLimit(runtime.cudaLimitMallocHeapSize, MALLOC_HEAP_BYTES)
        properties: dict[str, Any] = runtime.getDeviceProperties(ordinal)
        return properties

    def warm_up(self) -> None:
        """Do now what the first case would otherwise wait for: allocation, copy, fill, a module, a launch."""
        self._load_trifle()
        # Never freed: with the last small allocation of a case the driver would unmap the pages of all of them.
        self._runtime.malloc(1)
        address = self.allocate(BufferLabel("warm", 1, (256,), "internal"), 256)
        self.upload(address, bytes(256))
        self.poison(address, 256, 0)
        self.download(address, 256)
        self.release_all()
        self._runtime.deviceSynchronize()

    def _load_trifle(self) -> None:
        # With the first module the driver makes room for printf and malloc, which takes it 0.2 s. It stays loaded.
        with contextlib.suppress(*self._errors):
            module = self._driver.moduleLoadData(_TRIFLE)
            launch_packed(self._driver, self._driver.moduleGetFunction(module, "trifle"), (1, 1, 1), (1, 1, 1), 0, b"")
            self._runtime.deviceSynchronize()

    def load(self, image: bytes, source: str, prepared: bytes = b"") -> None:
        try:
            self._module = self._driver.moduleLoadData(image)
        except self._errors as error:
            if error.status == _OUT_OF_MEMORY:
                raise DeviceFault(
                    Verdict.MEMORY_LIMIT, "the module's __device__ arrays do not fit into the memory of the GPU"
                ) from error
            raise DeviceFault(Verdict.JUDGE_ERROR, f"the driver refused the compiled module: {error}") from error
        self._image = image
        self._functions, self._dynamic_bytes = {}, {}

    def renew(self) -> None:
        """Load the same module anew: what `__device__` variables kept is gone."""
        module, self._module = self._module, None
        if module is not None:
            self._checked(self._driver.moduleUnload, module)
        self.load(self._image, "")

    def rival(self, image: bytes) -> "CudaDevice":
        """The same device, context and allocations with a second module, for comparisons."""
        other = copy.copy(self)
        other._module, other._functions, other._dynamic_bytes = None, {}, {}
        other.load(image, "")
        return other

    def made_code(self) -> bytes:
        return b""

    def _function(self, kernel: str) -> int:
        if kernel not in self._functions:
            try:
                self._functions[kernel] = self._driver.moduleGetFunction(self._module, kernel)
            except self._driver.CUDADriverError as error:
                raise KeyError(kernel) from error
        return self._functions[kernel]

    def attributes(self, kernel: str) -> KernelAttributes:
        function, driver = self._function(kernel), self._driver

        def read(attribute: str) -> int:
            return int(driver.funcGetAttribute(getattr(driver, f"CU_FUNC_ATTRIBUTE_{attribute}"), function))

        return KernelAttributes(
            static_shared_bytes=read("SHARED_SIZE_BYTES"),
            max_threads_per_block=read("MAX_THREADS_PER_BLOCK"),
            # The binding has no call for it; the compiler checked the arguments against the kernel.
            parameter_bytes=0,
            local_bytes=read("LOCAL_SIZE_BYTES"),
            registers=read("NUM_REGS"),
        )

    def allocate(self, label: BufferLabel, size_bytes: int) -> int:
        try:
            address = int(self._runtime.malloc(max(size_bytes, 1)))
        except self._runtime.CUDARuntimeError as error:
            raise DeviceFault(
                Verdict.JUDGE_ERROR, f"no {size_bytes} bytes of device memory for {label.name}: {error}"
            ) from error
        self._allocations.append(address)
        return address

    def upload(self, address: int, data: bytes | memoryview) -> None:
        view = memoryview(data)
        if view.nbytes:
            self._checked(self._runtime.memcpy, address, _host_address(view), view.nbytes, _HOST_TO_DEVICE)

    def download(self, address: int, size_bytes: int) -> bytes:
        buffer = bytearray(size_bytes)
        if size_bytes:
            self._checked(self._runtime.memcpy, _host_address(memoryview(buffer)), address, size_bytes, _DEVICE_TO_HOST)
        return bytes(buffer)

    def poison(self, address: int, size_bytes: int, byte: int) -> None:
        if size_bytes:
            self._checked(self._runtime.memset, address, byte, size_bytes)

    def release_all(self) -> None:
        # In place: a rival shares the list.
        while self._allocations:
            self._checked(self._runtime.free, self._allocations.pop())

    def launch(
        self, launch: Launch, *, time_limit_s: float, schedule: int = 0, patterns: bool = False
    ) -> LaunchOutcome:
        """Run one kernel to its end. A kernel over its time leaves the device unusable (fatal)."""
        started = time.perf_counter()
        self._refuse_huge_local_memory(launch)
        try:
            self.submit(launch)
            self._wait(time_limit_s)
        except DeviceFault as fault:
            if fault.verdict != Verdict.TIME_LIMIT:
                fault.outcome = LaunchOutcome(seconds=time.perf_counter() - started, printed=self._take_printed())
            raise
        return LaunchOutcome(seconds=time.perf_counter() - started, printed=self._take_printed())

    def submit(self, launch: Launch) -> None:
        """Queue a kernel on the default stream without waiting for it."""
        try:
            function = self._function(launch.kernel)
            # What needs no asking, 48 KiB, is for static and dynamic shared memory together: so any size is asked for.
            if launch.shared_bytes > self._dynamic_bytes.get(launch.kernel, 0):
                attribute = self._driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                self._driver.funcSetAttribute(function, attribute, launch.shared_bytes)
                self._dynamic_bytes[launch.kernel] = launch.shared_bytes
            launch_packed(self._driver, function, launch.grid, launch.block, launch.shared_bytes, launch.arguments)
        except self._errors as error:
            raise launch_fault(error.status, str(error), while_running=False) from error

    def bench(self, rulers: bytes) -> "GuardedBench":
        """What times launches on this device. rulers: cubin of timing/rulers.cu. Close it before release_all()."""
        address = self._runtime.deviceGetPCIBusId(self._ordinal)
        try:
            bench = EventBench(
                self._driver,
                self._runtime,
                rulers,
                self.submit,
                conditions_reader(address),
                l2_bytes=int(self._raw["l2CacheSize"]),
                sms=int(self._raw["multiProcessorCount"]),
                memory_bytes=self.properties.memory_bytes,
            )
        except self._errors as error:
            raise DeviceFault(Verdict.JUDGE_ERROR, f"the timing of this GPU could not be set up: {error}") from error
        return GuardedBench(bench, self._errors, self._take_printed)

    def _wait(self, time_limit_s: float) -> None:
        runtime = self._runtime
        end = time.monotonic() + time_limit_s
        pause = 20e-6
        try:
            while True:
                state = runtime.streamQuery(0)
                if state != _NOT_READY:
                    break
                if time.monotonic() > end:
                    raise DeviceFault(
                        Verdict.TIME_LIMIT, f"the kernel did not end within {time_limit_s:.3g} s", fatal=True
                    )
                time.sleep(pause)
                pause = min(pause * 1.5, 2e-3)
            # Prints what device printf left in its buffer, and raises what the query only returned.
            runtime.deviceSynchronize()
        except runtime.CUDARuntimeError as error:
            raise launch_fault(error.status, str(error), while_running=True) from error

    def _refuse_huge_local_memory(self, launch: Launch) -> None:
        local = self.attributes(launch.kernel).local_bytes
        resident = int(self._raw["multiProcessorCount"]) * int(self._raw["maxThreadsPerMultiProcessor"])
        if local * resident > LOCAL_MEMORY_SHARE * self.properties.memory_bytes:
            raise DeviceFault(
                Verdict.LAUNCH_ERROR,
                f"{local} bytes of local memory a thread, {resident} threads resident: "
                f"{local * resident >> 20} MiB, the device has {self.properties.memory_bytes >> 20} MiB",
            )

    def _take_printed(self) -> str:
        return self._printed.take() if self._printed is not None else ""

    def _checked(self, call: Any, *arguments: int) -> None:
        try:
            call(*arguments)
        except self._errors as error:
            raise launch_fault(error.status, str(error), while_running=True) from error


class GuardedBench:
    """An EventBench whose CUDA errors are faults of the kernel that was being timed."""

    def __init__(self, bench: EventBench, errors: tuple[type[Exception], ...], take_printed: Callable[[], str]) -> None:
        self._take_printed = take_printed
        self._bench = bench
        self._errors = errors

    def cold_sample(self, launches: Sequence[Launch]) -> float:
        return self._guarded(self._bench.cold_sample, launches)

    def rates_sample(self) -> RatesSample:
        return self._guarded(self._bench.rates_sample)

    def conditions(self) -> Conditions:
        return self._bench.conditions()

    def refresh(self, address: int, count: int, element_bytes: int, before: int, now: int) -> None:
        self._guarded(self._bench.refresh, address, count, element_bytes, before, now)

    def close(self) -> None:
        self._guarded(self._bench.close)
        # What timed repeats print is what the verified launch printed; the next case must not show it.
        self._take_printed()

    def _guarded(self, call: Callable[..., _Read], *arguments: Any) -> _Read:
        try:
            return call(*arguments)
        except self._errors as error:
            raise launch_fault(error.status, str(error), while_running=True) from error  # type: ignore[attr-defined]


def _host_address(view: memoryview) -> int:
    """Address of a view's bytes, which the caller keeps alive."""
    return int(np.frombuffer(view, np.uint8).ctypes.data)


def _properties(raw: dict[str, Any], shared_bytes: int, address: str) -> DeviceProperties:
    name = raw["name"]
    block, grid = raw["maxThreadsDim"], raw["maxGridSize"]
    return DeviceProperties(
        kind="cuda",
        name=name.decode() if isinstance(name, bytes) else str(name),
        arch=f"sm_{raw['major']}{raw['minor']}",
        warp_size=int(raw["warpSize"]),
        max_threads_per_block=int(raw["maxThreadsPerBlock"]),
        max_block=(int(block[0]), int(block[1]), int(block[2])),
        max_grid=(int(grid[0]), int(grid[1]), int(grid[2])),
        max_shared_bytes=shared_bytes,
        memory_bytes=int(raw["totalGlobalMem"]),
        address=address,
    )
