"""Every problem, and every case that runs without a GPU, with its inputs."""

import functools

import pytest

from judge.catalogue import find_problems, load_problem
from judge.examples import case_generator

SEEDS = (20260, 7)
CASES = [
    pytest.param((problem_id, case.name), id=f"{problem_id}/{case.name}")
    for problem_id in find_problems()
    for case in load_problem(problem_id).cases
    if case.cpu
]


@functools.lru_cache(maxsize=4)
def inputs_of(problem_id, case_name, seed):
    problem = load_problem(problem_id)
    case = problem.case(case_name)
    return problem.generate(case, case_generator(case, seed))


@pytest.fixture(params=find_problems())
def problem(request):
    return load_problem(request.param)


@pytest.fixture(params=CASES, scope="module")
def example(request):
    """(problem, case, inputs) of one case."""
    problem_id, case_name = request.param
    problem = load_problem(problem_id)
    return problem, problem.case(case_name), inputs_of(problem_id, case_name, SEEDS[0])
