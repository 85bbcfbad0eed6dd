"""Clocks, temperature, power and throttle reasons through NVML, where NVML is installed and answers."""

from collections.abc import Callable
from typing import Any

from judge.timing.sampling import Conditions

_REASONS = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000010: "sync boost",
    0x0000000000000020: "temperature",
    0x0000000000000040: "hardware temperature limit",
    0x0000000000000080: "power brake",
    0x0000000000000002: "clocks set by an application",
}
"""Bits of NVML's clock event reasons that mean less than full speed; idle and display settings are none."""


def reasons_of(bits: int) -> tuple[str, ...]:
    """The words for a set of NVML's clock event reasons."""
    return tuple(words for bit, words in _REASONS.items() if bits & bit)


def conditions_reader(pci_bus_id: str) -> Callable[[], Conditions]:
    """A function that reads the state of the GPU at that PCI address; all None without NVML."""
    try:
        import pynvml
    except ImportError:
        return Conditions
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())
    except pynvml.NVMLError:
        return Conditions

    def value(read: Callable[..., Any], *arguments: Any) -> int | None:
        try:
            return int(read(handle, *arguments))
        except pynvml.NVMLError:
            return None

    reasons = getattr(pynvml, "nvmlDeviceGetCurrentClocksEventReasons", None) or (
        pynvml.nvmlDeviceGetCurrentClocksThrottleReasons
    )

    def read() -> Conditions:
        milliwatts = value(pynvml.nvmlDeviceGetPowerUsage)
        return Conditions(
            clock_mhz=value(pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_SM),
            memory_clock_mhz=value(pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_MEM),
            temperature_c=value(pynvml.nvmlDeviceGetTemperature, pynvml.NVML_TEMPERATURE_GPU),
            power_w=None if milliwatts is None else milliwatts / 1000,
            limited_by=reasons_of(value(reasons) or 0),
        )

    return read
