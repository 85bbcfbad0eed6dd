"""Prometheus metrics on a port of their own. Labels are queues, verdicts and states, never users or problems."""

import time
from collections.abc import Iterable
from typing import Any

from prometheus_client import start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from judge.api.service import Service
from judge.store.database import StoreUnavailable
from judge.store.devices import devices
from judge.store.queue import running_attempts
from judge.store.submissions import waiting_by_queue
from judge.store.tallies import BUCKETS_S, OVER, read_tallies


class StoreCollector(Collector):
    """Reads the store when it is asked, so every server of a database tells the same."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterable[Any]:
        up = GaugeMetricFamily("judge_store_up", "Whether the database answers.")
        streams = GaugeMetricFamily("judge_event_streams", "Event streams that are open at this server.")
        streams.add_metric([], self._service.streams.open)
        try:
            families = self._read()
            up.add_metric([], 1)
        except StoreUnavailable:
            families = []
            up.add_metric([], 0)
        return [up, streams, *families]

    def _read(self) -> list[Any]:
        with self._service.database.read() as session:
            waiting = waiting_by_queue(session)
            running = len(running_attempts(session))
            states = [(device.kind, device.state) for device in devices(session)]
            tallies = read_tallies(session)
        now = time.time()
        depth = GaugeMetricFamily("judge_queue_waiting", "Submissions that wait.", labels=["queue"])
        oldest = GaugeMetricFamily("judge_queue_oldest_seconds", "How long the first of them waits.", labels=["queue"])
        for name, count, since in waiting:
            depth.add_metric([name], count)
            oldest.add_metric([name], max(now - since, 0.0))
        running_now = GaugeMetricFamily("judge_running", "Submissions being judged.")
        running_now.add_metric([], running)
        health = GaugeMetricFamily("judge_devices", "Devices by kind and state.", labels=["kind", "state"])
        for kind, state in sorted(set(states)):
            health.add_metric([kind, state], states.count((kind, state)))
        verdicts = CounterMetricFamily("judge_verdicts", "Verdicts given.", labels=["verdict"])
        faults = CounterMetricFamily("judge_faults", "Attempts that ended by a fault of the judge.", labels=["how"])
        for kind, label, count, _ in tallies:
            if kind in {"verdict", "fault"}:
                (verdicts if kind == "verdict" else faults).add_metric([label], count)
        times = [
            _histogram(tallies, "wait", "judge_wait_seconds", "From queued to claimed."),
            _histogram(tallies, "run", "judge_run_seconds", "From claimed to stored."),
        ]
        return [depth, oldest, running_now, health, verdicts, faults, *times]


def _histogram(tallies: Iterable[tuple[str, str, int, float]], kind: str, name: str, text: str) -> Any:
    counts = {label: (count, total) for one, label, count, total in tallies if one == kind}
    buckets, so_far = [], 0
    for label in [*(f"{limit:g}" for limit in BUCKETS_S), OVER]:
        so_far += counts.get(label, (0, 0.0))[0]
        buckets.append(("+Inf" if label == OVER else label, so_far))
    family = HistogramMetricFamily(name, text)
    family.add_metric([], buckets, sum_value=sum(total for _, total in counts.values()))
    return family


def serve_metrics(service: Service) -> Any:
    """Start answering on the port of the settings, in threads of its own; gives the server."""
    registry = CollectorRegistry()
    registry.register(StoreCollector(service))
    settings = service.settings
    server, _ = start_http_server(settings.metrics_port, settings.metrics_host, registry)
    return server
