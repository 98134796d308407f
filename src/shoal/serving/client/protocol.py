"""The messages of TensorFlow Serving that a client needs, without TensorFlow.

The generated ones import all of TensorFlow, which takes three seconds and half a gigabyte, for a few fields. Those are
declared here, in proto3's own words; their numbers are the protocol, and a test compares each with the generated ones.
Fields that a client does not read are left out, since protobuf skips what it does not know. Enumerations are int32 and
`oneof` is plain fields: both are the same on the wire.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

PACKAGE = "shoal.client"

MESSAGES = """
message Dim { int64 size = 1; }
message TensorShapeProto { repeated Dim dim = 2; bool unknown_rank = 3; }
message TensorProto {
  int32 dtype = 1;
  TensorShapeProto tensor_shape = 2;
  bytes tensor_content = 4;
  repeated float float_val = 5;
  repeated double double_val = 6;
  repeated int32 int_val = 7;
  repeated bytes string_val = 8;
  repeated float scomplex_val = 9;
  repeated int64 int64_val = 10;
  repeated bool bool_val = 11;
  repeated double dcomplex_val = 12;
  repeated int32 half_val = 13;
  repeated uint32 uint32_val = 16;
  repeated uint64 uint64_val = 17;
  bytes float8_val = 18;
}
message Int64Value { int64 value = 1; }
message ModelSpec { string name = 1; Int64Value version = 2; string signature_name = 3; string version_label = 4; }
message PredictRequest {
  ModelSpec model_spec = 1;
  map<string, TensorProto> inputs = 2;
  repeated string output_filter = 3;
}
message PredictResponse { map<string, TensorProto> outputs = 1; ModelSpec model_spec = 2; }
message GetModelMetadataRequest { ModelSpec model_spec = 1; repeated string metadata_field = 2; }
message Any { string type_url = 1; bytes value = 2; }
message GetModelMetadataResponse { ModelSpec model_spec = 1; map<string, Any> metadata = 2; }
message TensorInfo { string name = 1; int32 dtype = 2; TensorShapeProto tensor_shape = 3; }
message SignatureDef {
  map<string, TensorInfo> inputs = 1;
  map<string, TensorInfo> outputs = 2;
  string method_name = 3;
  map<string, TensorProto> defaults = 4;
}
message SignatureDefMap { map<string, SignatureDef> signature_def = 1; }
message GetModelStatusRequest { ModelSpec model_spec = 1; }
message StatusProto { int32 error_code = 1; string error_message = 2; }
message ModelVersionStatus { int64 version = 1; int32 state = 2; StatusProto status = 3; }
message GetModelStatusResponse { repeated ModelVersionStatus model_version_status = 1; }
"""

_MESSAGE = re.compile(r"message (\w+) \{(.*?)\}", re.DOTALL)
_FIELD = re.compile(r"(repeated )?(?:map<string, (\w+)>|(\w+)) (\w+) = (\d+);")


def _classes() -> Mapping[str, Any]:
    file = FileDescriptorProto(name="shoal/client.proto", package=PACKAGE, syntax="proto3")
    for name, body in _MESSAGE.findall(MESSAGES):
        message = file.message_type.add(name=name)
        for repeated, value, kind, field, number in _FIELD.findall(body):
            if value:  # a map is a list of entries on the wire
                entry = "".join(map(str.capitalize, field.split("_"))) + "Entry"
                nested = message.nested_type.add(name=entry)
                nested.options.map_entry = True
                _add(nested, "key", 1, "string")
                _add(nested, "value", 2, value)
                _add(message, field, int(number), f"{name}.{entry}", True)
            else:
                _add(message, field, int(number), kind, bool(repeated))
    pool = DescriptorPool()
    pool.Add(file)
    return {
        each.name: GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{each.name}")) for each in file.message_type
    }


def _add(message: DescriptorProto, name: str, number: int, kind: str, repeated: bool = False) -> None:
    label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
    field = message.field.add(name=name, number=number, label=label)
    if kind[0].islower():
        field.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
    else:
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{PACKAGE}.{kind}"


CLASSES = _classes()
"""The class of each message by its name."""
