"""The records of `judge stats`: figures by launch, by buffer and by source line, and what to do about bad ones."""

from typing import Any, Literal

from pydantic import Field

from judge.records import Counters, LineCounters, Record


class Residency(Record):
    """What one SM of the architecture holds of a launch's blocks."""

    registers: int = Field(description="Of one thread.")
    shared_bytes: int = Field(description="Of one block, static and dynamic.")
    spill_bytes: int = Field(description="Bytes of spill stores and loads in the code, together.")
    blocks: int
    warps: int
    max_warps: int
    occupancy: float = Field(description="Resident warps over the SM's limit, 0 to 1.")
    limited_by: tuple[str, ...] = Field(description="Resources that allow no further block.")


class LaunchStatistics(Record):
    line: int | None = Field(default=None, description="Line of the @launch comment; null for the default launch.")
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared_bytes: int
    residency: Residency | None = Field(default=None, description="Null where no cubin could be made.")
    counters: Counters


class LineStatistics(LineCounters):
    source: str = Field(description="Text of the line, stripped.")


class Advice(Record):
    """One line of advice on one bad figure."""

    table: Literal["launches", "work", "buffers"]
    subject: str = Field(description="A kernel or a buffer.")
    message: str
    line: int | None = Field(default=None, description="The line that is worst in this figure.")


class Statistics(Record):
    """The whole answer of `judge stats`."""

    schema_version: Literal[1] = 1
    submission: str
    problem: str
    case: str
    parameters: dict[str, int | float | bool]
    arch: str
    minimum_bytes: int = Field(description="The least that any kernel moves in this case.")
    minimum_flops: int
    launches: tuple[LaunchStatistics, ...]
    counters: Counters = Field(description="All launches together.")
    lines: tuple[LineStatistics, ...] = ()
    advice: tuple[Advice, ...] = ()


def statistics_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the statistics."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Statistics.model_json_schema(mode="serialization"),
    }
