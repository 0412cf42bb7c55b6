"""Makes, asks for and removes a workspace; prints what came, in order. Reads address, authority, token and PodInfo as JSON."""

import importlib
import json
import sys

import grpc

messages = importlib.import_module("cloud_ide_pb2")
services = importlib.import_module("cloud_ide_pb2_grpc")

given = json.load(sys.stdin)
info = given["info"]
credentials = grpc.ssl_channel_credentials(given["ca"].encode())
channel = grpc.secure_channel(given["address"], credentials)
service = services.CloudIdeServiceStub(channel)


def call(method, message, token=given["token"]):
    """The answer's fields in their order, or the name of the status code."""
    try:
        metadata = [("authorization", f"Bearer {token}")]
        answer = getattr(service, method)(message, timeout=30, metadata=metadata)
        return [getattr(answer, field.name) for field in answer.DESCRIPTOR.fields]
    except grpc.RpcError as error:
        return error.code().name


limit = messages.ResourceLimit(**info.pop("resourceLimit"))
wanted = messages.PodInfo(**info, resourceLimit=limit)
query = messages.QueryOption(name=info["name"], namespace=info["namespace"])
print(
    json.dumps(
        [
            call("createSpaceAndWaitForRunning", wanted),
            call("createSpaceAndWaitForRunning", wanted),
            call("getPodSpaceStatus", query),
            call("deleteSpace", query),
            call("getPodSpaceStatus", query),
            call("getPodSpaceStatus", query, "nobodys"),
            call("createSpaceAndWaitForRunning", messages.PodInfo(name="x")),
        ]
    )
)
