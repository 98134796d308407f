"""TensorBoard as a Deployment that reads storage, and a Service: of a job's `tensorBoard`, or of a TensorBoard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shoal.kubernetes.claims import claims, pod_volumes
from shoal.kubernetes.cluster_config import Object
from shoal.kubernetes.labels import COMPONENT, TENSORBOARD, Owner, job_labels, object_name, owner_labels
from shoal.kubernetes.security import restrict
from shoal.kubernetes.web_app import PORT_NAME, Volumes, deployment, ingress, pod_template, prefix, service
from shoal.resources import TensorBoard, TFJob
from shoal.resources.tensorboard import BOARD_CONTAINER

IMAGE = "tensorflow/tensorflow:2.21.0"
PORT = 6006


def tensorboard(job: TFJob) -> list[Object]:
    """The objects of the job's TensorBoard; none where it wants none."""
    board = job.spec.tensor_board
    if board is None:
        return []
    name = object_name(job, "tensorboard")
    labels = {**job_labels(job), COMPONENT: "tensorboard"}
    added = _read_only(job)
    spec: Object = {
        "containers": [_container(board.log_dirs, added)],
        "volumes": added.volumes,
    }
    restrict(spec)
    template = {"metadata": {"labels": labels}, "spec": spec}
    return [deployment(job, name, labels, labels, template), service(job, name, labels, labels)]


def render_board(board: TensorBoard) -> Iterator[Object]:
    """Claims on NFS, Deployment, Service, and an Ingress where it is asked for."""
    yield from claims(board)
    labels, selector = owner_labels(board), {TENSORBOARD: board.name}
    added = _read_only(board)
    own = _container(board.spec.log_dirs, added, board.spec.image or IMAGE, prefix(board))
    template = pod_template(board, selector, own, added)
    template["spec"].setdefault("automountServiceAccountToken", False)
    yield deployment(board, board.name, labels, selector, template)
    yield service(board, board.name, labels, selector)
    if (wanted := ingress(board)) is not None:
        yield wanted


def _container(log_dirs: Mapping[str, str], added: Volumes, image: str = IMAGE, path_prefix: str = "") -> Object:
    folders = ",".join(f"{run}:{folder}" for run, folder in log_dirs.items())
    command = ["tensorboard", f"--logdir_spec={folders}", "--bind_all", f"--port={PORT}"]
    return {
        "name": BOARD_CONTAINER,
        "image": image,
        "command": [*command, f"--path_prefix={path_prefix}"] if path_prefix else command,
        "ports": [{"name": PORT_NAME, "containerPort": PORT}],
        "volumeMounts": added.mounts,
        "readinessProbe": {"httpGet": {"path": f"{path_prefix}/", "port": PORT_NAME}},
    }


def _read_only(owner: Owner) -> Volumes:
    volumes, mounts = pod_volumes(owner)
    return Volumes(volumes, [{**mount, "readOnly": True} for mount in mounts])
