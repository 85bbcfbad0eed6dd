"""The preview of launches: values as C++ has them, and no guess where only the compiler knows."""

import time
from html import escape

import pytest

from judge.web.expressions import Unknown, evaluate
from judge.web.geometry import preview


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7 / -2", -3),
        ("1 << 4 | 3", 19),
        ("N > 32 ? 64 : 32", 64),
        ("N == 33 && !0", 1),
        ("cdiv(N, 32)", 2),
        ("std::min(N, 8)", 8),
        ("max(1, N)", 33),
        ("sizeof(float) * N", 132),
        ("static_cast<int>(N)", 33),
        ("(int)N + 1", 34),
        ("size_t(N)", 33),
        ("0x10u", 16),
        ("010u", 8),
        ("~0", -1),
        ("6 & 3 ^ 1", 3),
    ],
)
def test_an_expression_has_the_value_that_cpp_gives_it(text, value):
    assert evaluate(text, {"N": 33}) == value


@pytest.mark.parametrize(
    "text",
    ["", "M", "1 +", "1 / 0", "5 % 0", "f(N)", "1.5 * N", "sizeof(T)", "N)", "1 << 80", "a ? b", "x[1]", "'c'",
     "1e3", "9223372036854775807 * 2", "+".join("1" * 500), "__import__('os')", "089"],
)  # fmt: skip
def test_what_is_not_known_is_said_not_guessed(text):
    with pytest.raises(Unknown, match=r"."):
        evaluate(text, {"N": 33})


def of(source, problems, case="book"):
    problem = problems["flash-forward"]
    return preview(source, problem, problem.case(case))


def test_a_launch_is_computed_from_parameters_and_the_files_own_constants(problems):
    source = (
        "// @launch f<D><<<dim3((N + kQ - 1) / kQ, BH), WARPS * 32, 2 * kQ * D * sizeof(float)>>>(Q)\n"
        "constexpr int kQ = 64;\n#define WARPS 4\n"
    )
    (launch,) = of(source, problems).launches
    assert (launch.grid, launch.block, launch.shared_bytes) == ((16, 8, 1), (128, 1, 1), 32768)
    assert (launch.blocks, launch.threads) == (128, 128)
    # 228 KiB of an SM hold six blocks of 33 KiB.
    assert (launch.resident_blocks, tuple(launch.limited_by)) == (6, ("shared memory",))
    assert launch.occupancy == pytest.approx(24 / 64)
    assert not launch.unknown


def test_the_case_decides(problems):
    source = "// @launch f<<<N, D>>>(Q)\n"
    grids = [of(source, problems, case).launches[0].grid for case in ("three-keys", "book")]
    assert grids == [(3, 1, 1), (1000, 1, 1)]


def test_without_a_launch_line_it_is_the_problems(problems):
    told = of("__global__ void k() {}", problems)
    assert told.default
    assert told.launches[0].grid == (16, 8, 1)


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("<<<1, 1025>>>", "at most 1024"),
        ("<<<1, dim3(1, 1, 65)>>>", "block.z is 65"),
        ("<<<0, 32>>>", "grid.x is 0"),
        ("<<<dim3(1, 70000), 32>>>", "grid.y is 70000"),
        ("<<<1, 32, 300000>>>", "300000 bytes of shared memory"),
    ],
)
def test_what_no_device_allows_is_refused_while_typing(problems, line, refused):
    (launch,) = of(f"// @launch f{line}(Q)\n", problems).launches
    assert any(refused in reason for reason in launch.refused)


def test_a_line_that_cannot_be_read_is_told_with_its_number(problems):
    told = of("int x;\n// @launch f<<<1>>>(Q)\n", problems)
    assert (told.line, told.launches) == (2, ())
    assert told.error


@pytest.mark.parametrize("text", ["((((" * 200, "1 ? " * 200, "-" * 390 + "1", "(" * 399])
def test_nesting_ends_in_words(problems, text):
    (launch,) = of(f"constexpr int x = {text};\n// @launch f<<<x, 32>>>(Q)\n", problems).launches
    assert launch.grid is None or launch.grid == (1, 1, 1)


def test_the_page_shows_it_with_and_without_javascript(site):
    page = "/problems/flash-forward"
    source = "// @launch f<<<BH, 100>>>(Q)\n"
    whole = site.post(f"{page}/launches", page, source=source, case="book").text
    assert "8 × 1 × 1 = 8 blocks" in whole
    assert escape(source) in whole
    data = site.form(page) | {"source": source, "case": "book"}
    part = site.client.post(f"{page}/launches", data=data, headers={"HX-Request": "true"}).text
    assert "<html" not in part
    assert "100 threads, 4 warps" in part
    assert "4 threads are left in the last warp" in part


@pytest.mark.parametrize(
    "text",
    ["static\n" * 30_000, "const " * 40_000, "const" + " " * 200_000, "constexpr int a =" * 12_000, "#define " * 30_000,
     "".join(f"constexpr int a{n} = a{n - 1} + 1;\n" for n in range(6_000)), " \t" * 100_000],
)  # fmt: skip
def test_a_long_source_is_previewed_while_one_waits(problems, text):
    began = time.process_time()
    of(text + "\n// @launch f<<<1, 32>>>(Q)\n", problems)
    assert time.process_time() - began < 5
