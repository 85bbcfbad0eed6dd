"""The SM clock through NVML, where NVML is installed and answers."""

from collections.abc import Callable


def sm_clock_reader(pci_bus_id: str) -> Callable[[], int | None]:
    """A function that reads the SM clock in MHz of the GPU at that PCI address, or None without NVML."""
    try:
        import pynvml
    except ImportError:
        return _unknown
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())
    except pynvml.NVMLError:
        return _unknown

    def read() -> int | None:
        try:
            return int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))
        except pynvml.NVMLError:
            return None

    return read


def _unknown() -> int | None:
    return None
