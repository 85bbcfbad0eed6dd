"""How well this machine can isolate a submission, found out by trying it in real boxes.

    isolated    namespaces of bubblewrap and seals, each of which holds by itself; limits work
    restricted  seals hold: no path can be opened, no socket or process made; but no namespaces
    none        something of that failed; the reasons say what

A single judging does not come here: its workers say for themselves how far they are cut off. This is
for `judge doctor`, a service's start, and everybody who decides whether to take strangers' work.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from judge.errors import MachineError
from judge.sandbox.bubblewrap import Absence, bubblewrap
from judge.sandbox.probing import Probe, probe_reach, probe_takings


class Tier(StrEnum):
    ISOLATED = "isolated"
    RESTRICTED = "restricted"
    NONE = "none"


MEANING = {
    Tier.ISOLATED: "a submission runs as another user, without files, network or processes of this machine",
    Tier.RESTRICTED: "a submission runs sealed on the CPU, without files, sockets and new processes, but in the "
    "machine's own namespaces; on a GPU nothing but its process is its own",
    Tier.NONE: "a submission runs as freely as your own programs do",
}


@dataclass(frozen=True)
class Isolation:
    """failures: what kept the tier from being isolated, empty otherwise. fix: what mends it, where that is known.

    probes: everything that was tried.
    """

    tier: Tier
    failures: tuple[str, ...] = ()
    fix: str = ""
    probes: tuple[Probe, ...] = ()


@cache
def isolation() -> Isolation:
    """The tier of this machine, probed once a process; takes about a second."""
    return probe_isolation()


def probe_isolation() -> Isolation:
    """The tier of this machine, probed now."""
    try:
        probes = (*probe_reach(), *probe_takings())
    except MachineError as error:
        return Isolation(Tier.NONE, (str(error),))
    return judge_probes(probes, bubblewrap())


def judge_probes(probes: tuple[Probe, ...], found: object) -> Isolation:
    """The tier that these probes allow. found: bubblewrap, or why there is none."""
    failed = [probe for probe in probes if not probe.held]
    failures = tuple(f"{probe.name}: {probe.text}" for probe in failed)
    if any(probe.layer == "sealed" for probe in failed):
        return Isolation(Tier.NONE, failures, probes=probes)
    if isinstance(found, Absence):
        return Isolation(Tier.RESTRICTED, (found.reason, *failures), found.fix, probes)
    return Isolation(Tier.RESTRICTED if failed else Tier.ISOLATED, failures, probes=probes)
