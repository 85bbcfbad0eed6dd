"""Are the inputs that a problem generates those that its buffers declare?

A float16 array for a bfloat16 buffer has the right number of bytes and the wrong numbers, so the bytes that a kernel
gets prove nothing.
"""

from collections.abc import Iterator

from judge.problem import Arrays, Case, Problem


def declaration_faults(problem: Problem, case: Case, inputs: Arrays) -> Iterator[str]:
    """Each difference between the inputs of a case and the buffers, as a sentence."""
    declared = {buffer.name: buffer for buffer in problem.inputs}
    for name in sorted(set(declared) ^ set(inputs)):
        yield f"{case.name}: {name} is {'not generated' if name in declared else 'generated, but no input buffer'}"
    for name, buffer in declared.items():
        if name not in inputs:
            continue
        array, shape = inputs[name], buffer.extent(case.parameters)
        if array.dtype != buffer.numpy_dtype:
            kept = " (how NumPy keeps bfloat16: judge.bfloat16)" if buffer.dtype == "bf16" else ""
            yield f"{case.name}: {name} is generated as {array.dtype}; {buffer.dtype} is {buffer.numpy_dtype}{kept}"
        if array.shape != shape:
            yield f"{case.name}: {name} is generated in shape {array.shape}; it is declared as {shape}"
