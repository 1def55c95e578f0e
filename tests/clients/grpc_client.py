#!/usr/bin/python3
"""A client of the controller that shares no code with Sluice: Debian's Python gRPC and the messages of proto/.

    grpc_client.py ADDRESS FOLDER VERB [ARGUMENT...]

FOLDER holds what `protoc --python_out=FOLDER` makes of proto/*.proto; SLURM_JWT a token of `scontrol token`. Prints JSON.
    submit SCRIPT PARTITION   the job's id
    list                      ids, names and states of all jobs
    watch JOB                 the states that the job goes through, until it has ended
    cancel JOB                how many jobs that were
A refusal is printed as {"code": gRPC's, "text": the controller's}, with exit status 1.
"""
import importlib
import json
import os
import sys

import grpc


class Controller:
    """The service, its methods found in the descriptors."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)
        self.service = importlib.import_module("services_pb2").DESCRIPTOR.services_by_name["Controller"]
        self.proof = [("authorization", "Bearer " + os.environ["SLURM_JWT"])]

    def call(self, name, **fields):
        method = self.service.methods_by_name[name]
        kinds = {kind: importlib.import_module(kind.file.name.replace(".proto", "_pb2")) for kind in (method.input_type, method.output_type)}
        request, reply = (getattr(kinds[kind], kind.name) for kind in (method.input_type, method.output_type))
        make = self.channel.unary_stream if method.server_streaming else self.channel.unary_unary
        stub = make(f"/{self.service.full_name}/{name}", request_serializer=request.SerializeToString, response_deserializer=reply.FromString)
        return stub(request(**fields), metadata=self.proof, timeout=60)


CANCEL = 8  # of SignalFlags: the job ends


def state_name(message):
    return message.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_number[message.state].name


def submit(controller, script, partition):
    spec = {"batch": True, "name": b"from-python", "work_dir": os.getcwd().encode(), "std_out": b"python-%j.out",
            "partitions": partition.encode(), "num_tasks": 1, "min_nodes": 1, "cpus_per_task": 1}
    with open(script, "rb") as text:
        return controller.call("SubmitJob", spec=spec, script=text.read(), environment=b"PATH=/usr/bin:/bin\0").job


def listed(controller):
    return [{"id": record.job.id, "name": record.job.spec.name.decode(), "state": state_name(record.job)}
            for chunk in controller.call("QueryJobs", all_states=True) for record in chunk.jobs]


def watch(controller, job):
    seen = []
    for update in controller.call("WatchJob", job=int(job)):
        name = state_name(update)
        if seen[-1:] != [name]:
            seen.append(name)
    return seen


def cancel(controller, job):
    return controller.call("CancelJobs", filter={"ids": [job.encode()]}, flags=CANCEL, each_id=True).outcomes[0].count


VERBS = {"submit": submit, "list": listed, "watch": watch, "cancel": cancel}


def main():
    address, folder, verb, *arguments = sys.argv[1:]
    sys.path.insert(0, folder)
    try:
        print(json.dumps(VERBS[verb](Controller(address), *arguments)))
    except grpc.RpcError as error:
        print(json.dumps({"code": error.code().name, "text": error.details()}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
