"""Runs a target of readers.py for a number of inputs or seconds, steered by outcomes, reproducible from its seed."""

import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.fuzz.readers import TARGETS

KEPT = 400
SLOW_S = 1.0
MAX_FINDINGS = 20


@dataclass
class Finding:
    """what: the exception, or how slow it was. number: of the input in its run. trace: where."""

    what: str
    number: int
    trace: str
    value: Any = None


@dataclass
class Campaign:
    """What a run saw. outcomes: how often each word for what happened came."""

    executions: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


def run_target(name: str, seed: int, *, executions: int = 1 << 62, seconds: float = 1e9) -> Campaign:
    """Until either figure is reached. A finding is kept once for each place it comes from."""
    target, random, grown = TARGETS[name], Random(seed), []
    campaign, began, places = Campaign(), time.monotonic(), set()
    while campaign.executions < executions and time.monotonic() - began < seconds:
        started = time.process_time()
        campaign.executions += 1
        try:
            value, outcome = target(random, grown)
        except Exception as error:
            trace = traceback.format_exc()
            frames = traceback.extract_tb(error.__traceback__)
            place = (type(error).__name__, frames[-1].filename, frames[-1].lineno)
            if place not in places and len(campaign.findings) < MAX_FINDINGS:
                places.add(place)
                local = error.__traceback__.tb_next.tb_frame.f_locals if error.__traceback__.tb_next else {}
                value = local.get("text", local.get("data", local.get("body")))
                campaign.findings.append(
                    Finding(f"{type(error).__name__}: {str(error)[:300]}", campaign.executions, trace, value)
                )
            continue
        spent = time.process_time() - started
        if spent > SLOW_S and ("slow", name, outcome) not in places and len(campaign.findings) < MAX_FINDINGS:
            places.add(("slow", name, outcome))
            campaign.findings.append(Finding(f"{spent:.1f} s of processor time", campaign.executions, "", value))
        if outcome not in campaign.outcomes:
            if len(grown) == KEPT:
                grown.pop(random.randrange(KEPT))
            grown.append(value)
        campaign.outcomes[outcome] += 1
    campaign.seconds = time.monotonic() - began
    return campaign
