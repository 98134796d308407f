"""How each replica of a run is started: what to run, where, at which address, with which folders.

Addresses are chosen once and written down, so a replica that is started again is found where its peers expect it.
"""

from __future__ import annotations

import json
from pathlib import Path

from shoal.local.command import argv_of, environment_of, working_directory
from shoal.local.manifests import Wanted
from shoal.local.ports import HOST, NoPortsError, choose, one_at_a_time
from shoal.local.process import Launch, LaunchError
from shoal.local.runs import Run, all_runs, read_json, replace_file, runs_folder
from shoal.local.volumes import Mounts, mounts_of
from shoal.resources import Role, Strategy, TFJob
from shoal.resources.code import CODE_PATH
from shoal.tf import protocol
from shoal.training import ReplicaId, replica_ids, tf_config
from shoal.training.duties import leader

DEFAULT_GRACE_SECONDS = 30.0
"""Kubernetes' `terminationGracePeriodSeconds`."""


class Plan:
    """The plan of one run. `addresses` are `host:port` by replica, and grow with the job."""

    def __init__(self, run: Run, wanted: Wanted) -> None:
        self.run = run
        self.others = wanted.others
        self.addresses = _written_addresses(run)

    def launch(self, job: TFJob, id: ReplicaId, attempt: int) -> Launch:
        """The launch of one attempt. Raises LaunchError where the manifest asks for what this machine has not."""
        self._reserve_addresses(job)
        container = job.replicas[id.role].container
        mounts = self._mounts(job, id)
        env = environment_of(job, id, container, self.others, mounts, self._given(job, id, attempt))
        return Launch(
            name=str(id),
            argv=argv_of(container, id, env, mounts),
            env=env,
            cwd=working_directory(container, mounts, self._start(job)),
            log=self.run.log(str(id), attempt),
        )

    def listens(self, job: TFJob, id: ReplicaId) -> bool:
        """Whether the replica has a port for its peers. A coordinating chief is only a client until it trains."""
        if id.role is Role.EVALUATOR or job.strategy is Strategy.INDEPENDENT:
            return False
        return not (id.role is Role.CHIEF and job.strategy in (Strategy.PARAMETER_SERVER, Strategy.IN_GRAPH))

    def grace_seconds(self, job: TFJob, id: ReplicaId) -> float:
        """How long the replica may take to end after SIGTERM."""
        spec = job.replicas.get(id.role)
        wanted = spec.template["spec"].get("terminationGracePeriodSeconds") if spec else None
        return DEFAULT_GRACE_SECONDS if wanted is None else float(wanted)

    def local_path(self, job: TFJob, path: str) -> Path:
        """The folder that stands for a path in the leader's container."""
        return Path(self._mounts(job, leader(job)).translate(path))

    def event_folders(self, job: TFJob) -> list[Path]:
        """Where replicas may write event files: the volumes, and what the manifest names beside them."""
        named = job.spec.tensor_board.log_dirs.values() if job.spec.tensor_board else ()
        outside = [self.local_path(job, folder) for folder in named]
        return [self.run.volumes, *(folder for folder in outside if self.run.volumes not in folder.parents)]

    def _start(self, job: TFJob) -> Path:
        """Where a user's scripts are."""
        return self.local_path(job, job.spec.code.folder) if job.spec.code else self.run.source

    def _mounts(self, job: TFJob, id: ReplicaId) -> Mounts:
        spec = job.replicas[id.role]
        mounts = mounts_of(job, spec, spec.container, id, self.run.volumes, self.others)
        return Mounts({**mounts.folders, CODE_PATH: self.run.code}) if job.spec.code else mounts

    def _given(self, job: TFJob, id: ReplicaId, attempt: int) -> dict[str, str]:
        given = {
            protocol.JOB: job.name,
            protocol.REPLICA: str(id),
            protocol.ATTEMPT: str(attempt),
            protocol.LEADER: str(leader(job)),
            protocol.STRATEGY: job.strategy.value,
            protocol.PROGRESS_FILE: str(self.run.progress_file(str(id), attempt)),
        }
        config = tf_config(job, id, self.addresses)
        return given if config is None else {**given, protocol.TF_CONFIG: config}

    def _reserve_addresses(self, job: TFJob) -> None:
        missing = [id for id in replica_ids(job) if id not in self.addresses]
        if not missing:
            return
        with one_at_a_time(runs_folder() / ".ports.lock"):
            taken = {_port(address) for other in all_runs() for address in _written_addresses(other).values()}
            try:
                ports = choose(len(missing), taken)
            except NoPortsError as fault:
                raise LaunchError(str(fault)) from fault
            self.addresses |= {id: f"{HOST}:{port}" for id, port in zip(missing, ports, strict=True)}
            told = {str(id): address for id, address in self.addresses.items()}
            replace_file(self.run.addresses_file, json.dumps(told, indent=1))


def _written_addresses(run: Run) -> dict[ReplicaId, str]:
    """The addresses that the run has; none where its file is damaged, and then they are chosen anew."""
    try:
        written = {ReplicaId.parse(name): str(told) for name, told in (read_json(run.addresses_file) or {}).items()}
        return {id: address for id, address in written.items() if _port(address)}
    except (ValueError, AttributeError):
        return {}


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
