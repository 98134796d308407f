"""The parts a process can play in a TensorFlow cluster, and how manifests spell them."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A job name of `tf.train.ClusterSpec`, in the order in which Shoal lists replicas."""

    CHIEF = "chief"
    PS = "ps"
    WORKER = "worker"
    EVALUATOR = "evaluator"


class ReplicaType(StrEnum):
    """A key of `tfReplicaSpecs`, as Kubeflow spells it. Manifests may use any case."""

    CHIEF = "Chief"
    MASTER = "Master"
    PS = "PS"
    WORKER = "Worker"
    EVALUATOR = "Evaluator"

    @property
    def role(self) -> Role:
        """TensorFlow 2 knows no `master`: it is the chief."""
        return Role.CHIEF if self is ReplicaType.MASTER else Role(self.value.lower())

    @classmethod
    def _missing_(cls, value: object) -> ReplicaType | None:
        return cls.parse(value) if isinstance(value, str) else None

    @classmethod
    def parse(cls, text: str) -> ReplicaType | None:
        """The type that `text` names in any case, or None."""
        return next((kind for kind in cls if kind.value.lower() == text.lower()), None)
