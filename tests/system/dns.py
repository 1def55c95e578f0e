"""A server of the DNS for tests: it knows a few SRV and A records, and where it listens nothing else does."""
import socket
import struct
import threading

A, SRV = 1, 33
PORT = 53


def labels(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".") if part) + b"\0"


class Dns:
    """`services` is {name: [(priority, weight, port, host)]}, `hosts` is {name: address}. Needs root for its port."""

    def __init__(self, address, services, hosts):
        self.records = {(name, SRV): [struct.pack(">HHH", *numbers) + labels(host) for *numbers, host in found]
                        for name, found in services.items()}
        self.records |= {(name, A): [socket.inet_aton(host)] for name, host in hosts.items()}
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, PORT))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            question, who = self.socket.recvfrom(4096)
            if not question:
                return
            self.socket.sendto(self.answer(question), who)

    def answer(self, question):
        parts, at = [], 12
        while question[at]:
            parts.append(question[at + 1:at + 1 + question[at]].decode().lower())
            at += 1 + question[at]
        kind, = struct.unpack_from(">H", question, at + 1)
        name = ".".join(parts)
        self.asked.append((name, kind))
        found = self.records.get((name, kind), [])
        known = any(one == name for one, _ in self.records)
        head = struct.pack(">HHHHHH", struct.unpack_from(">H", question)[0], 0x8180 if known else 0x8183, 1, len(found), 0, 0)
        body = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(data)) + data for data in found)
        return head + question[12:at + 5] + body

    def close(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()
