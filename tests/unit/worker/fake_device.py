"""A device in plain memory whose kernels are Python functions: what the code above a device is tested with."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from judge.backends.base import (
    BufferLabel,
    DeviceFault,
    DeviceProperties,
    KernelAttributes,
    Launch,
    LaunchOutcome,
)

Kernel = Callable[["FakeDevice", Launch], LaunchOutcome | None]

ATTRIBUTES = KernelAttributes(static_shared_bytes=0, max_threads_per_block=1024, parameter_bytes=0)


@dataclass
class FakeDevice:
    """kernels: what runs under each symbol. Allocations start as 0xCD bytes."""

    kernels: Mapping[str, Kernel]
    kind: str = "cpu"
    kernel_attributes: Mapping[str, KernelAttributes] = field(default_factory=dict)
    load_fault: DeviceFault | None = None

    def __post_init__(self) -> None:
        self.properties = DeviceProperties(kind=self.kind, name="fake", arch="fake_1")
        self.memory: dict[int, bytearray] = {}
        self.labels: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self.launched: list[Launch] = []
        self.next_address = 1 << 20
        self.loaded: tuple[bytes, str] | None = None
        self.prepared = b""
        self.code = b""

    def load(self, image: bytes, source: str, prepared: bytes = b"") -> None:
        if self.load_fault is not None:
            raise self.load_fault
        self.loaded = (image, source)
        self.prepared = prepared
        self.code = b"" if prepared else b"machine code of " + image

    def made_code(self) -> bytes:
        code, self.code = self.code, b""
        return code

    def attributes(self, kernel: str) -> KernelAttributes:
        if kernel not in self.kernels:
            raise KeyError(kernel)
        return self.kernel_attributes.get(kernel, ATTRIBUTES)

    def allocate(self, label: BufferLabel, size_bytes: int) -> int:
        address = self.next_address
        self.next_address += size_bytes + 4096 - size_bytes % 256
        self.memory[address] = bytearray(b"\xcd" * size_bytes)
        self.labels[label.name] = address
        self.sizes[label.name] = size_bytes
        return address

    def view(self, address: int, size_bytes: int) -> memoryview:
        for base, data in self.memory.items():
            if base <= address and address + size_bytes <= base + len(data):
                return memoryview(data)[address - base : address - base + size_bytes]
        raise AssertionError(f"{size_bytes} bytes at {address} are in no allocation")

    def upload(self, address: int, data: bytes | memoryview) -> None:
        self.view(address, memoryview(data).nbytes)[:] = data

    def download(self, address: int, size_bytes: int) -> bytes:
        return bytes(self.view(address, size_bytes))

    def poison(self, address: int, size_bytes: int, byte: int) -> None:
        self.view(address, size_bytes)[:] = bytes([byte]) * size_bytes

    def release_all(self) -> None:
        self.memory.clear()

    def launch(
        self, launch: Launch, *, time_limit_s: float, schedule: int = 0, patterns: bool = False
    ) -> LaunchOutcome:
        self.launched.append(launch)
        return self.kernels[launch.kernel](self, launch) or LaunchOutcome()


def planner(*rows: tuple[int, ...], arguments: tuple[bytes, ...] = ()) -> Kernel:
    """A launch planning kernel that writes these geometry rows (7 words each) and argument blocks."""

    def run(device: FakeDevice, launch: Launch) -> None:
        geometry, blocks = struct.unpack_from("<QQ", launch.arguments)
        for j, row in enumerate(rows):
            block = arguments[j] if j < len(arguments) else b""
            device.upload(geometry + 64 * j, struct.pack("<8q", *row, len(block)))
            if block:
                device.upload(blocks + 4096 * j, block)

    return run


def workspace_planner(*rows: tuple[int, int]) -> Kernel:
    """A workspace planning kernel that writes (element bytes, count) rows."""

    def run(device: FakeDevice, launch: Launch) -> None:
        (out,) = struct.unpack_from("<Q", launch.arguments)
        device.upload(out, b"".join(struct.pack("<qq", *row) for row in rows))

    return run
