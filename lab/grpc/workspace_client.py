"""Makes calls of the Workspace service; prints what came, in order. Reads address, authority, token and calls as JSON."""

import importlib
import json
import sys

import grpc

messages = importlib.import_module("cloud_ide_pb2")
services = importlib.import_module("cloud_ide_pb2_grpc")

given = json.load(sys.stdin)
credentials = grpc.ssl_channel_credentials(given["ca"].encode())
channel = grpc.secure_channel(given["address"], credentials)
service = services.CloudIdeServiceStub(channel)


def message_of(method, fields):
    """A PodInfo for a creation, a QueryOption for all else."""
    if method != "createSpaceAndWaitForRunning":
        return messages.QueryOption(**fields)
    limit = messages.ResourceLimit(**fields.pop("resourceLimit", {}))
    return messages.PodInfo(**fields, resourceLimit=limit)


def call(method, fields, token=given["token"]):
    """The answer's fields in their order, or the name of the status code and its message."""
    try:
        metadata = [("authorization", f"Bearer {token}")]
        answer = getattr(service, method)(
            message_of(method, fields), timeout=given["seconds"], metadata=metadata
        )
        return [getattr(answer, field.name) for field in answer.DESCRIPTOR.fields]
    except grpc.RpcError as error:
        return {"code": error.code().name, "details": error.details()}


print(json.dumps([call(*one) for one in given["calls"]]))
