"""The kubelet's device plugin API, v1beta1: messages and methods, as k8s.io/kubelet publishes them in `api.proto`.

Described here by hand rather than generated: protoc's output would be tied to a version of protobuf, and longer. The
kubelet decodes by number and type, so these must never change; the cluster tests hold them to a real one.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

PACKAGE = VERSION = "v1beta1"
HEALTHY, UNHEALTHY = "Healthy", "Unhealthy"

REGISTER = "/v1beta1.Registration/Register"
SERVICE = "v1beta1.DevicePlugin"

# Message → fields in the order of their numbers: name and type, `*` for repeated.
_MESSAGES: dict[str, tuple[str, ...]] = {
    "Empty": (),
    "DevicePluginOptions": ("pre_start_required bool", "get_preferred_allocation_available bool"),
    "RegisterRequest": ("version string", "endpoint string", "resource_name string", "options DevicePluginOptions"),
    "ListAndWatchResponse": ("devices Device*",),
    "Device": ("ID string", "health string", "topology TopologyInfo"),
    "TopologyInfo": ("nodes NUMANode*",),
    "NUMANode": ("ID int64",),
    "PreferredAllocationRequest": ("container_requests ContainerPreferredAllocationRequest*",),
    "ContainerPreferredAllocationRequest": (
        "available_deviceIDs string*",
        "must_include_deviceIDs string*",
        "allocation_size int32",
    ),
    "PreferredAllocationResponse": ("container_responses ContainerPreferredAllocationResponse*",),
    "ContainerPreferredAllocationResponse": ("deviceIDs string*",),
    "AllocateRequest": ("container_requests ContainerAllocateRequest*",),
    "ContainerAllocateRequest": ("devices_ids string*",),
    "AllocateResponse": ("container_responses ContainerAllocateResponse*",),
    "ContainerAllocateResponse": (
        "envs Text*",
        "mounts Mount*",
        "devices DeviceSpec*",
        "annotations Text*",
        "cdi_devices CDIDevice*",
    ),
    # A map<string, string> is on the wire what a repeated message of key and value is.
    "Text": ("key string", "value string"),
    "Mount": ("container_path string", "host_path string", "read_only bool"),
    "DeviceSpec": ("container_path string", "host_path string", "permissions string"),
    "CDIDevice": ("name string",),
    "PreStartContainerRequest": ("devices_ids string*",),
    "PreStartContainerResponse": (),
}
_TYPES = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
}


def _field(number: int, text: str) -> FieldDescriptorProto:
    name, kind = text.split()
    label = FieldDescriptorProto.LABEL_REPEATED if kind.endswith("*") else FieldDescriptorProto.LABEL_OPTIONAL
    field = FieldDescriptorProto(name=name, number=number, label=label)
    if scalar := _TYPES.get(kind.rstrip("*")):
        field.type = scalar
    else:
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{PACKAGE}.{kind.rstrip('*')}"
    return field


def _pool() -> DescriptorPool:
    # A pool of its own: another package of this process may have registered the same names.
    file = FileDescriptorProto(name="deviceplugin/v1beta1/api.proto", package=PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        file.message_type.append(DescriptorProto(name=name, field=[_field(i, f) for i, f in enumerate(fields, 1)]))
    pool = DescriptorPool()
    pool.Add(file)
    return pool


_POOL = _pool()


def _class(name: str) -> Any:
    return GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))


Empty = _class("Empty")
DevicePluginOptions = _class("DevicePluginOptions")
RegisterRequest = _class("RegisterRequest")
ListAndWatchResponse = _class("ListAndWatchResponse")
Device = _class("Device")
TopologyInfo = _class("TopologyInfo")
NUMANode = _class("NUMANode")
PreferredAllocationRequest = _class("PreferredAllocationRequest")
ContainerPreferredAllocationRequest = _class("ContainerPreferredAllocationRequest")
PreferredAllocationResponse = _class("PreferredAllocationResponse")
ContainerPreferredAllocationResponse = _class("ContainerPreferredAllocationResponse")
AllocateRequest = _class("AllocateRequest")
ContainerAllocateRequest = _class("ContainerAllocateRequest")
AllocateResponse = _class("AllocateResponse")
ContainerAllocateResponse = _class("ContainerAllocateResponse")
Text = _class("Text")
Mount = _class("Mount")
DeviceSpec = _class("DeviceSpec")
CDIDevice = _class("CDIDevice")
PreStartContainerRequest = _class("PreStartContainerRequest")
PreStartContainerResponse = _class("PreStartContainerResponse")
