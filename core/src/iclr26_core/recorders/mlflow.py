"""The MLflow recorder: config as parameters, steps and results as metrics, artifacts, one nested run per claim.

``MlflowClient`` only: no fluent API, no autologging, no active run, so that a host's own use of MLflow is left alone.
Metrics are sent in batches of at most 1000, MLflow's own limit.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from iclr26_core.errors import MissingExtra
from iclr26_core.hooks import hookimpl
from iclr26_core.record import to_json
from iclr26_core.recorders.flat import NOT_ALLOWED, flat

if TYPE_CHECKING:
    from iclr26_core.claims import Claim
    from iclr26_core.options import Options
    from iclr26_core.run import Run

BATCH = 1000
PARAMETER_LENGTH = 6000
STATUS = {"ok": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}


class MlflowRecorder:
    """Writes a run to an MLflow store.

    Args:
        options: ``tracking_uri``, else ``MLFLOW_TRACKING_URI``, else ``sqlite:///<out>/mlflow.db`` with its artifacts
            in ``<out>/mlartifacts``

    Raises:
        MissingExtra: MLflow is not installed
    """

    def __init__(self, options: Options) -> None:
        if importlib.util.find_spec("mlflow") is None:
            raise MissingExtra("mlflow", package="iclr26-core", extra="mlflow")
        given = options.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
        self._out = options.out.resolve()
        self.uri = given or f"sqlite:///{self._out / 'mlflow.db'}"
        self._artifacts = None if given else (self._out / "mlartifacts").as_uri()
        self._client: Any = None
        self._pending: list[Any] = []
        self._run_id = self._home = ""
        self._last_step = 0

    @hookimpl
    def iclr26_run_started(self, run: Run) -> None:
        """Create the MLflow run with the config as parameters: below its parent, else in ``iclr26/<method>``."""
        from mlflow import MlflowClient
        from mlflow.entities import Param

        record = run.record
        with FileLock(self._out / ".mlflow.lock"):  # two runs at once would both make the store and the experiment
            self._client = MlflowClient(tracking_uri=self.uri)
            parent = self._find(record.parent) if record.parent else None
            self._home = parent.info.experiment_id if parent else self._experiment(record.method["name"])
        tags = {f"iclr26.{key}": str(value) for key, value in record.method.items()}
        tags |= {"iclr26.job": record.job, "iclr26.run_id": record.run_id, "iclr26.seed": str(record.seed)}
        if parent:  # in its experiment, because MLflow nests runs within one experiment only
            tags |= {"mlflow.parentRunId": parent.info.run_id}
        self._run_id = self._create(record.run_id, tags)
        settings = flat({**record.config, "seed": record.seed, "device": run.options.device})
        params = [Param(name, value[:PARAMETER_LENGTH]) for name, value in settings.items()]
        for start in range(0, len(params), 100):
            self._client.log_batch(self._run_id, params=params[start : start + 100])

    @hookimpl
    def iclr26_run_metrics(self, run: Run, step: int, metrics: Mapping[str, float]) -> None:
        """Queue the metrics of a step; a full batch is sent."""
        self._queue(metrics, step)
        self._last_step = max(self._last_step, step)
        while len(self._pending) >= BATCH:
            self._send()

    @hookimpl
    def iclr26_claim_judged(self, run: Run, claim: Claim) -> None:
        """Write a claim as a nested run with its verdict as a tag."""
        tags = {
            "mlflow.parentRunId": self._run_id,
            "iclr26.verdict": claim.verdict,
            "iclr26.statement": claim.statement,
        }
        child = self._create(claim.id, tags)
        if claim.measured is not None:
            for name in ("value", "low", "high"):
                self._client.log_metric(child, f"measured.{name}", getattr(claim.measured, name))
        self._client.log_text(child, to_json(claim.as_dict(), indent=1), "claim.json")
        self._client.set_terminated(child, "FINISHED")

    @hookimpl
    def iclr26_run_finished(self, run: Run) -> None:
        """Send what is left, the results, the artifacts and the record; then close the run."""
        if not self._run_id:  # interrupted before it began
            return
        record = run.record
        step = self._last_step  # not 0: MLflow takes the value of the last step for the result
        try:
            self._queue({name: metric["value"] for name, metric in record.metrics.items()}, step)
            for baseline, metrics in record.baselines.items():
                self._queue({f"{baseline}/{name}": metric["value"] for name, metric in metrics.items()}, step)
            while self._pending:
                self._send()
            for name in record.artifacts:
                self._client.log_artifact(self._run_id, str(run.out / name))
            self._client.log_text(self._run_id, to_json(vars(record), indent=1), "record.json")
        finally:
            self._client.set_terminated(self._run_id, STATUS[record.status])

    def _create(self, name: str, tags: Mapping[str, str]) -> str:
        run = self._client.create_run(self._home, tags=dict(tags), run_name=name)
        return str(run.info.run_id)

    def _experiment(self, method: str) -> str:
        name = f"iclr26/{method}"
        found = self._client.get_experiment_by_name(name)
        if found is None:
            return str(self._client.create_experiment(name, artifact_location=self._artifacts))
        return str(found.experiment_id)

    def _find(self, run_id: str) -> Any:
        """Return the MLflow run that has our id, or None if it was not tracked here."""
        experiments = self._client.search_experiments(filter_string="name LIKE 'iclr26/%'")
        ids = [experiment.experiment_id for experiment in experiments]
        found = self._client.search_runs(ids, f"tags.`iclr26.run_id` = '{run_id}'", max_results=1)
        return found[0] if found else None

    def _queue(self, metrics: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = time.time_ns() // 1_000_000
        self._pending += [Metric(NOT_ALLOWED.sub("_", name), value, now, step) for name, value in metrics.items()]

    def _send(self) -> None:
        batch, self._pending = self._pending[:BATCH], self._pending[BATCH:]  # a batch that fails is not sent again
        self._client.log_batch(self._run_id, metrics=batch)
