from judge.problem import Buffer, Case, Group, Parameter, Role
from judge.verification.coverage import missing_sizes
from tests.unit.verification.fakes import make_problem


def problem_of(parameter, sizes, group=Group.HIDDEN):
    cases = [Case(f"c{size}", group, {parameter: size}) for size in sizes]
    cases.append(Case("shown", Group.SAMPLE, {parameter: sizes[0]}))
    return make_problem(parameters=(Parameter(parameter, "int"),), cases=tuple(cases))


def test_lengths_at_which_bounds_break_are_asked_for():
    assert list(missing_sizes(problem_of("N", [1, 31, 32, 33, 1000]))) == []
    assert list(missing_sizes(problem_of("N", [31, 32, 33]))) == [
        "no case has sequence length N 1",
        "no case has sequence length N 1000",
    ]
    assert any("one below it" in text for text in missing_sizes(problem_of("N", [1, 31, 32, 1000])))


def test_bench_cases_do_not_count():
    cases = (Case("big", Group.BENCH, {"S": 1}), Case("shown", Group.SAMPLE, {"S": 2}))
    problem = make_problem(parameters=(Parameter("S", "int"),), cases=cases)
    assert "no case has number of splits S 1" in list(missing_sizes(problem))


def test_contexts_and_groups_of_a_decode_problem():
    problem = make_problem(
        buffers=(Buffer("context_lens", "i32", ("num_seqs",), Role.INPUT),),
        parameters=(Parameter("num_heads", "int"), Parameter("num_kv_heads", "int")),
        cases=(
            Case("shown", Group.SAMPLE, {"num_heads": 8, "num_kv_heads": 2}, extra={"contexts": (1, 15, 16, 17)}),
            Case("rest", Group.HIDDEN, {"num_heads": 7, "num_kv_heads": 1}, extra={"contexts": (4096,)}),
        ),
    )
    assert list(missing_sizes(problem)) == [
        "no case has context length 1000",
        "no case has query heads a KV head 1",
        "no case has query heads a KV head 8",
    ]


def test_both_groups_are_needed():
    problem = make_problem(cases=(Case("only", Group.HIDDEN, {"R": 1, "C": 1}),))
    assert list(missing_sizes(problem)) == ["there is no sample case"]
