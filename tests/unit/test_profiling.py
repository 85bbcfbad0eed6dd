"""What NVIDIA's tools print, read back: kernels, metrics, hot lines, findings; and tools that are not there."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from judge import profiling
from judge.backends.base import ModuleImage
from judge.cli.main import app
from judge.errors import MachineError
from judge.problem import Role
from judge.profiling import (
    SanitizeReport,
    SanitizerFinding,
    ToolFailedError,
    ToolMissingError,
    read_findings,
    read_hot_lines,
    read_metrics,
    required_tool,
)
from judge.reports.profiling import render_findings
from judge.reports.style import Style
from judge.tools import find_tool
from judge.worker.alone import frames_of
from judge.worker.messages import BufferSpec, CaseRequest, case_frame, load_frame, parse_case, parse_load
from judge.worker.wire import encode

RAW = """==PROF== Connected to process 77 (/usr/bin/python3)
==PROF== Profiling "gqa_decode": 0%....100% - 1 pass
{"verdict": null, "message": ""}
==PROF== Disconnected from process 77
"ID","Process ID","Kernel Name","gpu__time_duration.sum","launch__registers_per_thread","dram__bytes_read.sum"
"","","","ns","register/thread","Gbyte"
"0","77","void partial<64>(const float *, float *)","1,234,500","40","1.07"
"1","77","merge","2,000","32","0.01"
"""


def test_durations_are_read_in_their_own_unit():
    kernels = read_metrics(RAW)
    assert [kernel.kernel for kernel in kernels] == ["void partial<64>(const float *, float *)", "merge"]
    assert [kernel.duration_us for kernel in kernels] == [1234.5, 2.0]
    assert {(m.name, m.value, m.unit) for m in kernels[1].metrics} == {
        ("duration", "2,000", "ns"),
        ("registers a thread", "32", "register/thread"),
        ("DRAM read", "0.01", "Gbyte"),
    }
    assert read_metrics(RAW.replace('"ns"', '"us"'))[1].duration_us == 2000


@pytest.mark.parametrize("text", ["", "==ERROR== ERR_NVGPUCTRPERM", '"ID","Kernel Name"\n"",""\n', "\x00"])
def test_output_without_a_table_gives_no_kernel(text):
    assert read_metrics(text) == ()


def test_a_missing_permission_is_told_with_its_fix():
    assert "NVreg_RestrictProfilingToAdminUsers=0" in str(ToolFailedError("ncu", "==ERROR== ERR_NVGPUCTRPERM - see"))
    assert "It said: one / two" in str(ToolFailedError("ncu", "one\n\n two"))


SOURCE = "// a\n__global__ void k(float* out) {\n  out[1000] = 1;\n}\n"

SAMPLES = """==PROF== Disconnected
"File Path","/common.cuh"
"Function Name","void k(float *)"
"Line No","Source","Address","Source","Warp Stall Sampling (All Samples)","# Samples","Instructions Executed"
"3","of another file","-","-","500","500","4"
"File Path","/submission.cu"
"Function Name","void k(float *)"
"Line No","Source","Address","Source","Warp Stall Sampling (All Samples)","# Samples","Instructions Executed"
"2","__global__ void k(float* out) {","-","-","30","30","4"
"","","0x7efb4f7a0c00","      LDC R1, c[0x0][0x28]","30","30","4"
"","","...","...","-","-","-"
"3","  printf("a","b"); out[1000] = 1;","-","-","85","88","8"
"","","0x7efb4f7a0c10","      STG.E [R2], R1","85","88","8"
"4","}","-","-","0","0","1"
"99","not in the file","-","-","10","10","1"
"Function Name","void other(float *)"
"Line No","Source","Address","Source","Warp Stall Sampling (All Samples)","# Samples","Instructions Executed"
"3","  printf("a","b"); out[1000] = 1;","-","-","2","2","8"
"""


def test_the_hottest_lines_come_first_with_their_share():
    lines = read_hot_lines(SAMPLES, SOURCE)
    assert [(line.line, line.samples) for line in lines] == [(3, 90), (2, 30)]
    assert lines[0].source == "out[1000] = 1;"
    assert lines[0].share == pytest.approx(90 / 130)
    assert read_hot_lines("nothing", SOURCE) == ()


MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at k(float *)+0x90 in submission.cu:3
=========     by thread (0,0,0) in block (1,0,0)
=========     Access at 0x7f00 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: [0x2f] in libcuda.so.1
=========
========= Invalid __global__ read of size 8 bytes
=========     at k(float *)+0xa0 in somewhere
=========
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
"""


def test_findings_name_their_line_of_the_submission():
    first, second = read_findings(MEMCHECK, SOURCE)
    assert (first.message, first.line) == ("Invalid __global__ write of size 4 bytes", 3)
    assert first.source == "out[1000] = 1;"
    assert "by thread (0,0,0) in block (1,0,0)" in first.details
    assert not any("host" in detail.lower() for detail in first.details)
    assert (second.message, second.line) == ("Invalid __global__ read of size 8 bytes", None)
    assert read_findings("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", SOURCE) == ()


def test_findings_are_shown_inert():
    finding = SanitizerFinding(message="bad \x1b[2J", line=3, source="out\x07[0]", details=("by thread",))
    report = SanitizeReport(problem="p", submission="s", case="c", tool="memcheck", findings=(finding,))
    text = render_findings(report, Style())
    assert "    3 | " in text
    assert not {"\x1b", "\x07"} & set(text)
    nothing = report.model_copy(update={"findings": ()})
    assert "memcheck found nothing" in render_findings(nothing, Style())


def test_a_tool_that_is_not_there_is_told_with_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(profiling, "gpu_present", lambda: False)
    with pytest.raises(MachineError, match=r"and ncu needs one\. Without one `judge stats` counts"):
        required_tool("ncu", "Nsight Compute")
    with pytest.raises(MachineError, match="Without one `judge test` finds races"):
        required_tool("compute-sanitizer", "cuda-sanitizer-api")
    monkeypatch.setattr(profiling, "gpu_present", lambda: True)
    monkeypatch.setattr(profiling, "find_tool", lambda name: None)
    with pytest.raises(ToolMissingError, match="comes with the CUDA toolkit, or as Nsight Compute"):
        required_tool("ncu", "Nsight Compute")
    ended = CliRunner().invoke(app, ["profile", "problems/splitk-merge/starter.cu"])
    assert isinstance(ended.exception, ToolMissingError)
    ended = CliRunner().invoke(app, ["sanitize", "problems/splitk-merge/starter.cu"])
    assert isinstance(ended.exception, ToolMissingError)
    assert ended.exception.exit_code == 3
    program = tmp_path / "ncu"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.undo()


def test_a_tool_on_the_path_is_found(monkeypatch, tmp_path):
    program = tmp_path / "compute-sanitizer"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_tool("compute-sanitizer") == program


def test_the_frames_in_a_file_come_back(tmp_path):
    request = CaseRequest(
        name="c",
        workspace_kernel="",
        launch_kernel="l",
        launches=(),
        parameters=(),
        buffers=(BufferSpec("x", "f32", "float", (70_000,), Role.INPUT, 4),),
        inputs={"x": np.arange(70_000, dtype=np.float32)},
    )
    with (tmp_path / "frames").open("wb") as file:
        for header, blobs in (load_frame(ModuleImage(b"cubin" * 50_000, "source", {"k": "_k"})), case_frame(request)):
            file.writelines(encode(json.loads(json.dumps(header)), blobs))
    load, case = frames_of(tmp_path / "frames")
    assert parse_load(load)[0].image == b"cubin" * 50_000
    assert parse_case(case).inputs["x"].tobytes() == request.inputs["x"].tobytes()
