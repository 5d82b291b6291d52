"""A minimal client of the system bus for programs of the lab: a minimal Python has no library for D-Bus.

Values are packed by the caller: `text`, `padded` and struct. Messages are little-endian.
"""
import array
import os
import socket
import struct
import sys

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_TO, DESTINATION, SENDER, SIGNATURE, DESCRIPTORS = range(1, 10)
NUMBERS = (REPLY_TO, DESCRIPTORS)


def padded(data, size):
    return data + b"\0" * (-len(data) % size)


def text(value):
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def message(kind, serial, fields, signature="", body=b""):
    if signature:
        fields[SIGNATURE] = signature
    packed = b""
    for code, value in sorted(fields.items()):
        packed = padded(packed, 8) + bytes([code, 1])
        if code == SIGNATURE:
            packed += b"g\0" + bytes([len(value)]) + value.encode() + b"\0"
        elif code in NUMBERS:
            packed += b"u\0" + struct.pack("<I", value)
        else:
            packed += (b"o\0" if code == PATH else b"s\0") + text(value)
    head = b"l" + bytes([kind, 0, 1]) + struct.pack("<III", len(body), serial, len(packed))
    return padded(head + packed, 8) + body


class Bus:
    """A connection to the system bus. Not for several threads."""

    def __init__(self, path="/run/dbus/system_bus_socket"):
        self.socket, self.serial, self.waiting, self.received = socket.socket(socket.AF_UNIX), 0, [], []
        self.socket.connect(path)
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
        if not self.socket.recv(256).startswith(b"OK"):
            sys.exit("the bus refuses the connection")
        self.socket.sendall(b"NEGOTIATE_UNIX_FD\r\n")
        if not self.socket.recv(256).startswith(b"AGREE"):
            sys.exit("the bus passes no descriptors")
        self.socket.sendall(b"BEGIN\r\n")
        self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")

    def send(self, kind, fields, signature="", body=b""):
        self.serial += 1
        self.socket.sendall(message(kind, self.serial, fields, signature, body))
        return self.serial

    def call(self, destination, path, interface, member, signature="", body=b""):
        """Calls a method. Returns the reply's body and descriptors; ends the program with the error's name if it fails."""
        serial = self.send(CALL, {DESTINATION: destination, PATH: path, INTERFACE: interface, MEMBER: member}, signature, body)
        while True:
            kind, fields, body, descriptors = self._receive()
            if fields.get(REPLY_TO) != serial:
                self.waiting.append((kind, fields, body, descriptors))
            elif kind == ERROR:
                sys.exit(f"{interface}.{member}: {fields.get(ERROR_NAME)}: {body[4:-1].decode(errors='replace')}")
            else:
                return body, descriptors

    def answer(self, fields, signature="", body=b""):
        """Answers the call that has these fields."""
        self.send(RETURN, {REPLY_TO: fields["serial"], DESTINATION: fields[SENDER]}, signature, body)

    def receive(self):
        """The next message: kind, fields by code, and its serial as "serial", body, descriptors."""
        return self.waiting.pop(0) if self.waiting else self._receive()

    def _receive(self):
        head = self._exactly(16)
        body_size, serial, fields_size = struct.unpack("<III", head[4:])
        data = self._exactly(fields_size + -fields_size % 8 + body_size)
        fields, at = {"serial": serial}, 0
        while at < fields_size:
            at += -at % 8
            code, kind = data[at], data[at + 2:at + 3]
            at += 4
            if kind == b"g":
                size = data[at]
                fields[code] = data[at + 1:at + 1 + size].decode()
                at += size + 2
            else:
                at += -at % 4
                number, = struct.unpack_from("<I", data, at)
                fields[code] = number if kind == b"u" else data[at + 4:at + 4 + number].decode()
                at += 4 if kind == b"u" else number + 5
        count = fields.get(DESCRIPTORS, 0)
        descriptors, self.received = self.received[:count], self.received[count:]
        return head[1], fields, data[fields_size + -fields_size % 8:], descriptors

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            more, ancillary, _, _ = self.socket.recvmsg(count - len(data), socket.CMSG_SPACE(64))
            if not more:
                sys.exit("the bus has closed the connection")
            data += more
            for level, kind, payload in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    numbers = array.array("i")
                    numbers.frombytes(payload[:len(payload) - len(payload) % numbers.itemsize])
                    self.received += numbers
        return data
