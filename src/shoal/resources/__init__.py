"""What users write: typed models of the resources, read from YAML or JSON with every fault named at once.

for document in load("job.yaml"):
    if document.job:
        print(document.job.name, document.job.strategy)
"""

from shoal.resources.base import Metadata
from shoal.resources.code import ClaimArchive, CodeSpec, ConfigMapArchive, GitSource
from shoal.resources.convert import convert
from shoal.resources.document import Document, Known, Other, parse, parse_board, parse_server, parse_workbench
from shoal.resources.errors import Fault, ManifestError
from shoal.resources.loading import dump, load
from shoal.resources.model_server import ModelServer, ModelServerSpec, ServerPhase, ServerStatus
from shoal.resources.roles import ReplicaType, Role
from shoal.resources.status import (
    Condition,
    ConditionType,
    FirstFailure,
    JobStatus,
    Phase,
    Progress,
    ReplicaStatus,
)
from shoal.resources.tensorboard import BoardSpec, TensorBoard
from shoal.resources.tfjob import (
    KUBEFLOW_API,
    SHOAL_API,
    SHOAL_ONLY,
    CleanPodPolicy,
    GPURequest,
    NFSSource,
    ReplicaSpec,
    RestartPolicy,
    RunPolicy,
    SchedulingPolicy,
    ServerKind,
    ServeSpec,
    StorageClaim,
    Strategy,
    SuccessPolicy,
    TensorBoardSpec,
    TFJob,
    TFJobSpec,
)
from shoal.resources.web_app import AppPhase, AppStatus, PathIngress
from shoal.resources.workbench import Workbench, WorkbenchSpec

__all__ = [
    "KUBEFLOW_API",
    "SHOAL_API",
    "SHOAL_ONLY",
    "AppPhase",
    "AppStatus",
    "BoardSpec",
    "ClaimArchive",
    "CleanPodPolicy",
    "CodeSpec",
    "Condition",
    "ConditionType",
    "ConfigMapArchive",
    "Document",
    "Fault",
    "FirstFailure",
    "GPURequest",
    "GitSource",
    "JobStatus",
    "Known",
    "ManifestError",
    "Metadata",
    "ModelServer",
    "ModelServerSpec",
    "NFSSource",
    "Other",
    "PathIngress",
    "Phase",
    "Progress",
    "ReplicaSpec",
    "ReplicaStatus",
    "ReplicaType",
    "RestartPolicy",
    "Role",
    "RunPolicy",
    "SchedulingPolicy",
    "ServeSpec",
    "ServerKind",
    "ServerPhase",
    "ServerStatus",
    "StorageClaim",
    "Strategy",
    "SuccessPolicy",
    "TFJob",
    "TFJobSpec",
    "TensorBoard",
    "TensorBoardSpec",
    "Workbench",
    "WorkbenchSpec",
    "convert",
    "dump",
    "load",
    "parse",
    "parse_board",
    "parse_server",
    "parse_workbench",
]
