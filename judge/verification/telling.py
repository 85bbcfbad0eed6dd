"""Which of many failing cases a report explains: the one a learner gets furthest with."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge.records import CaseReport, Diagnosis, DiagnosisKind
from judge.verdict import Verdict

_OTHER_LINE = re.compile(r"\bat line (\d+)\b")
_NUMBER = re.compile(r"\d+")
_RIGHT_VALUES = (Verdict.ACCEPTED, Verdict.REQUIREMENT_UNMET)

Fault = tuple[str, bool, frozenset[int], str, str]


def told_case(cases: Iterable[CaseReport], verdict: Verdict) -> CaseReport | None:
    """The smallest case with the verdict; before the others one whose wrong values are a known mistake, and first one
    that tells the mistake which most cases tell.

    None when no case has it. Small means small parameters: such a case can be followed by hand.
    """
    found = [case for case in cases if case.verdict is verdict]
    told = Counter(mistake for case in found for mistake in _mistakes_of(case))
    most = max(told.values(), default=0)
    likely = {mistake for mistake, count in told.items() if count == most}
    return min(found, key=lambda case: (likely.isdisjoint(_mistakes_of(case)), *_difficulty(case)), default=None)


def _mistakes_of(case: CaseReport) -> set[Fault]:
    return {fault_of(diagnosis) for diagnosis in case.diagnoses if is_match(diagnosis)}


def diagnoses_to_tell(case: CaseReport) -> list[Diagnosis]:
    """Faults before warnings, and the mistake that explains the values before what only describes them."""
    return sorted(case.diagnoses, key=lambda d: (d.warning, d.kind is not DiagnosisKind.MUTANT_MATCH))


@dataclass(frozen=True)
class Finding:
    """A fault with the cases it was found in, told in the words of the first of them."""

    diagnosis: Diagnosis
    cases: tuple[str, ...]


def findings_of(cases: Iterable[CaseReport], told: CaseReport | None = None) -> list[Finding]:
    """Every fault of the cases once, those of the explained case first. A warning never stands for an error."""
    found: dict[Fault, tuple[Diagnosis, list[str]]] = {}
    for case in sorted(cases, key=lambda case: case is not told):
        for diagnosis in diagnoses_to_tell(case):
            found.setdefault(fault_of(diagnosis), (diagnosis, []))[1].append(case.name)
    return [Finding(diagnosis, tuple(dict.fromkeys(names))) for diagnosis, names in found.values()]


def fault_of(diagnosis: Diagnosis) -> Fault:
    """What two diagnoses have in common that tell the same fault, whatever threads and counts they name.

    A race is the same one from either of its lines. The words of a known mistake are its own; other messages
    differ by the numbers of a case, so that the fix tells them apart.
    """
    lines = other_lines(diagnosis) | ({diagnosis.line} if diagnosis.line is not None else set())
    if diagnosis.kind is DiagnosisKind.MUTANT_MATCH:
        words = diagnosis.message.partition("]")[0]
    else:
        words = _NUMBER.sub("#", diagnosis.hint or diagnosis.message)
    return diagnosis.kind.value, diagnosis.warning, frozenset(lines), diagnosis.buffer or "", words


def other_lines(diagnosis: Diagnosis) -> set[int]:
    """Lines that its words name beside its own."""
    return {int(number) for number in _OTHER_LINE.findall(diagnosis.message)} - {diagnosis.line or 0}


def hint_for(case: CaseReport | None, verdict: Verdict) -> str:
    """The next step: of the first diagnosis that has one, else of the verdict."""
    hints = [d.hint for d in diagnoses_to_tell(case) if d.hint and not d.warning] if case else []
    return hints[0] if hints else verdict.text.next_step


def failed_cases(cases: Sequence[CaseReport]) -> str:
    """How many cases failed, in brackets; empty where the told one is the only one."""
    not_run = sum(case.verdict is Verdict.NOT_RUN for case in cases)
    failed = sum(case.verdict is not Verdict.ACCEPTED for case in cases) - not_run
    parts = [f"{failed} of {len(cases)} cases not accepted"] if failed > 1 else []
    parts += [f"{not_run} not run"] if not_run else []
    return f" ({', '.join(parts)})" if parts else ""


def is_explained(case: CaseReport) -> bool:
    """True when the values of the case were found to be those of a known mistake."""
    return any(map(is_match, case.diagnoses))


def is_match(diagnosis: Diagnosis) -> bool:
    """True for one that says which known mistake gives the values of a case."""
    return diagnosis.kind is DiagnosisKind.MUTANT_MATCH


def keys_to_blame(cases: Sequence[CaseReport], told: CaseReport | None) -> str:
    """The sentence on the keys that an error comes from: of the explained case, else of the first that has one."""
    ordered = sorted(cases, key=lambda case: case is not told)
    for case in ordered if told is not None else ():
        keys = case.error.map.keys if case.error and case.error.map else None
        if keys is not None and keys.sentence:
            return keys.sentence if case is told else f"Case {case.name}: {keys.sentence}"
    return ""


def reads_to_tell(case: CaseReport) -> float | None:
    """The read amplification where it means something: of right values, or where it is what the case fails for."""
    return case.read_amplification if case.verdict in _RIGHT_VALUES else None


def wrong_to_tell(case: CaseReport) -> str:
    """How many elements are wrong, or that only their mean error is; empty where nothing is."""
    if case.error is None:
        return ""
    if case.error.mismatches:
        return f"{case.error.mismatches:,}".replace(",", " ")
    return "mean error" if case.verdict is Verdict.WRONG_ANSWER else ""


def naive_multiple_to_tell(case: CaseReport) -> float | None:
    """The error over that of plain float32 where the values are right; of wrong ones it is millions."""
    return case.error.naive_multiple if case.error is not None and case.verdict in _RIGHT_VALUES else None


def _difficulty(case: CaseReport) -> tuple[bool, int]:
    sizes = (value for value in case.parameters.values() if isinstance(value, int) and not isinstance(value, bool))
    return (not is_explained(case), math.prod(sizes))
