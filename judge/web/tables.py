"""Tables of a report as CSV, the twins of its pictures. A cell that a spreadsheet would compute is made text."""

import csv
import io
from collections.abc import Iterable, Sequence

from judge.records import Report
from judge.reports.style import one_line
from judge.web.blocktable import DrawnTable
from judge.web.failuremap import element, place
from judge.web.keymap import blamed, part

_COMPUTED = ("=", "+", "-", "@", "\t", "\r")


def cases_csv(report: Report) -> str:
    """One row for each case on each backend."""
    head = ("case", "group", "backend", "verdict", "seconds", "wrong", "elements", "max_abs", "norm_rel",
            "read_amplification", "schedule")  # fmt: skip
    rows = [
        (
            case.name,
            case.group,
            case.backend,
            case.verdict.value,
            round(case.seconds, 4),
            case.error.mismatches if case.error else None,
            case.error.total if case.error else None,
            case.error.max_abs if case.error else None,
            case.error.norm_rel if case.error else None,
            case.read_amplification,
            case.schedule,
        )
        for case in report.cases
    ]
    return _csv(head, rows)


def counters_csv(report: Report) -> str:
    """Traffic of every buffer in every case of the CPU backend."""
    head = ("case", "buffer", "bytes_read", "unique_bytes_read", "read_amplification", "bytes_written")
    rows = [
        (case.name, name, one.bytes_read, one.unique_bytes_read, one.read_amplification, one.bytes_written)
        for case in report.cases
        if case.counters
        for name, one in case.counters.buffers.items()
    ]
    return _csv(head, rows)


def map_csv(report: Report) -> str:
    """The failure maps; only the head where there is none."""
    rows = [
        (case.name, place(case.error.map, c), c.wrong, c.total, element(case.error.map, c), c.got, c.want)
        for case in report.cases
        if case.error and case.error.map
        for c in case.error.map.cells
    ]
    return _csv(("case", "where", "wrong", "elements", "worst", "got", "want"), rows)


def keys_csv(report: Report) -> str:
    """The keys behind the errors; only the head where none are to blame."""
    head = ("case", "where", "keys", "tile", "block", "key", "rows", "looked_at", "left_out", "share")
    rows = [
        (
            case.name,
            part(mapped, cell),
            blamed(mapped.keys, cell),
            cell.tile,
            cell.block,
            cell.key,
            cell.rows,
            cell.looked_at,
            cell.left_out,
            cell.share,
        )
        for case in report.cases
        if case.error and (mapped := case.error.map) and mapped.keys
        for cell in mapped.keys.cells
    ]
    return _csv(head, rows)


def block_table_csv(drawn: DrawnTable | None) -> str:
    """The block table of the sequence that failed; only the head where there is none."""
    rows = [(drawn.sequence, r.logical, r.physical, r.tokens, r.remark) for r in drawn.rows] if drawn else []
    return _csv(("sequence", "logical_page", "physical_page", "tokens", "remark"), rows)


def times_csv(report: Report) -> str:
    """What was timed, with its interval."""
    head = ("case", "median_us", "p10_us", "p90_us", "rel_ci95", "samples", "noisy", "gbs", "roofline_fraction", "tier")
    rows = [
        (
            case.name,
            case.timing.median_us,
            case.timing.p10_us,
            case.timing.p90_us,
            case.timing.rel_ci95,
            case.timing.samples,
            case.timing.noisy,
            case.bandwidth_gbs,
            case.roofline_fraction,
            case.tier,
        )
        for case in report.cases
        if case.timing
    ]
    return _csv(head, rows)


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return written.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return "" if value is None else value
    shown = one_line(value)
    return f"'{shown}" if shown.startswith(_COMPUTED) and not _is_number(shown) else shown


def _is_number(text: str) -> bool:
    return text in {"-inf", "+inf"}
