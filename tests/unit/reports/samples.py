"""Reports as the pipeline makes them, for tests of the renderings."""

from judge.records import (
    BackendReport,
    CaseReport,
    CompileMessage,
    CompileReport,
    Counters,
    Diagnosis,
    DiagnosisKind,
    ErrorSummary,
    FailureCell,
    FailureMap,
    KernelResources,
    KeyCell,
    KeyMap,
    LaunchReport,
    Mismatch,
    ProblemReference,
    Report,
    SubmissionReport,
    Timing,
)
from judge.verdict import Verdict

CPU = BackendReport(kind="cpu", device="PTX on the CPU", arch="compute_90", isolation="none")


def make_report(verdict: Verdict = Verdict.ACCEPTED, **changes: object) -> Report:
    settings: dict[str, object] = {
        "judge_version": "0.1.0",
        "submission": SubmissionReport(name="mine.cu", sha256="ab" * 32, source_bytes=100),
        "problem": ProblemReference(id="flash-forward", version="0123456789ab"),
        "verdict": verdict,
        "message": "",
        "backend": CPU,
        "seed": 7,
        "compile": CompileReport(ok=True, seconds=0.31),
        "cases": (make_case(),),
        "seconds": 1.25,
    }
    return Report(**(settings | changes))  # type: ignore[arg-type]


def make_case(verdict: Verdict = Verdict.ACCEPTED, **changes: object) -> CaseReport:
    settings: dict[str, object] = {
        "name": "book",
        "group": "sample",
        "verdict": verdict,
        "backend": "cpu",
        "parameters": {"BH": 8, "N": 1000, "scale": 0.125, "causal": True},
        "seconds": 0.42,
        "error": ErrorSummary(max_abs=3.1e-7, norm_rel=2.2e-7, naive_multiple=1.04, total=512000),
    }
    return CaseReport(**(settings | changes))  # type: ignore[arg-type]


def wrong_report() -> Report:
    tail = make_case(
        Verdict.WRONG_ANSWER,
        name="tile-plus-1",
        message="64 of 4224 elements differ; the first is O[0, 32, 0]: got nan, want 0.1234.",
        parameters={"BH": 2, "N": 33, "D": 64, "causal": False},
        error=ErrorSummary(
            max_abs=0.5,
            norm_rel=0.1,
            naive_multiple=12345.6,
            mismatches=64,
            total=4224,
            first=Mismatch(output="O", index=(0, 32, 0), got="nan", want=0.12345678),
            pattern="only BH = 0; only the last index of N (32)",
        ),
        diagnoses=(
            Diagnosis(
                kind=DiagnosisKind.OUT_OF_BOUNDS,
                message="Thread reads K one row past its end.",
                line=12,
                source="float k = K[(j * 32 + r) * D + c];",
                kernel="flash_attn_fwd<64>",
                block=(3, 0, 0),
                thread=(5, 0, 0),
                buffer="K",
                index=(0, 33, 5),
                occurrences=64,
                hint="Guard the load of the last tile.",
            ),
            Diagnosis(
                kind=DiagnosisKind.MUTANT_MATCH,
                message="Your output equals a known mistake: write the tail. [tail_counted]",
                hint="Write the tail.",
            ),
        ),
        replay="judge test mine.cu --problem flash-forward --case tile-plus-1 --seed 7 --backend cpu",
    )
    return make_report(
        Verdict.WRONG_ANSWER, message=f"case {tail.name}: {tail.message}", cases=(make_case(), tail), replay=tail.replay
    )


def keys_report(paged: bool = False) -> Report:
    """A wrong answer whose error comes from one tile of one head, or from one page of two sequences."""
    sentence = "In 6 of 8 failing rows looked at the error is what leaving out keys 32 to 63 gives."
    cells = (
        KeyCell(row=1, column=2, tile=1, rows=4, looked_at=4, share=0.9999, left_out=1.0, index=(1, 64)),
        KeyCell(row=1, column=3, tile=1, rows=1, looked_at=3, share=0.95, left_out=-1.02, index=(1, 97), key=40),
        KeyCell(row=1, column=3, tile=4, rows=1, looked_at=3, share=0.99, left_out=0.25, index=(1, 99)),
    )
    rows, columns, keys, tile = 2, 130, 130, 32
    if paged:
        sentence = "In all 3 failing rows looked at the error is what leaving out page 40 of 2 sequences gives."
        cells = (
            KeyCell(row=0, column=1, tile=40, block=7, rows=1, looked_at=1, share=1.0, left_out=1.0, index=(0, 1)),
            KeyCell(row=1, column=0, tile=40, block=9, rows=2, looked_at=2, share=1.0, left_out=1.0, index=(1, 0)),
        )
        rows, columns, keys, tile = 2, 2, 1000, 16
    found = FailureMap(
        output="out" if paged else "O",
        row_axis="num_seqs" if paged else "BH",
        column_axis="num_heads" if paged else "N",
        rows=rows,
        columns=columns,
        row_step=1,
        column_step=1 if paged else 32,
        cells=tuple(
            FailureCell(row=r, column=c, wrong=1, total=32, index=(r, c, 0), got=1.0, want=0.0)
            for r, c in sorted({(cell.row, cell.column) for cell in cells})
        ),
        keys=KeyMap(
            keys=keys,
            keys_in_tile=tile,
            paged=paged,
            down=0 if paged else 1,
            looked_at=sum({(cell.row, cell.column): cell.looked_at for cell in cells}.values()),
            explained=sum(cell.rows for cell in cells),
            sentence=sentence,
            cells=cells,
        ),
    )
    first = Mismatch(output=found.output, index=(1, 0, 0), got=1.0, want=0.0)
    error = ErrorSummary(mismatches=8, total=4224, first=first, max_abs=1.0, map=found)
    case = make_case(Verdict.WRONG_ANSWER, name="tile-plus-1", error=error)
    return make_report(Verdict.WRONG_ANSWER, message="case tile-plus-1: 8 differ", cases=(case,))


def compile_error_report() -> Report:
    errors = (
        CompileMessage(line=3, column=9, message='identifier "fooo" is undefined'),
        CompileMessage(line=2, column=1, message="variable is never used", severity="warning"),
    )
    compiled = CompileReport(ok=False, seconds=0.1, errors=errors)
    return make_report(Verdict.COMPILE_ERROR, message="line 3: undefined", compile=compiled, cases=())


def timed_report() -> Report:
    case = make_case(
        name="bench-64x4096",
        group="bench",
        backend="cuda",
        timing=Timing(median_us=812.4, p10_us=810.0, p90_us=820.1, samples=200, rel_ci95=0.004, cold=True),
        bandwidth_gbs=3817.2,
        roofline_fraction=0.953,
        read_amplification=1.0,
        counters=Counters(flops=1),
    )
    kernels = (KernelResources(name="gqa<128>", registers=96, shared_bytes=4096, local_bytes=0, spill_bytes=0),)
    launches = (LaunchReport(text="gqa<D><<<1, 2>>>(q)", line=4, kernel="gqa<D>", grid=(8, 64, 1), block=(128, 1, 1)),)
    compiled = CompileReport(ok=True, seconds=1.0, cached=True, kernels=kernels)
    return make_report(cases=(make_case(), case), compile=compiled, launches=launches)
