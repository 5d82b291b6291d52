"""A bus client that can do what libdbus prevents: send raw messages, without limits and without waiting."""
import array
import os
import select
import socket
import struct
import time

from jeepney.low_level import Endianness, Header, HeaderFields, Message, MessageFlag, MessageType, Parser

from users import effective

DRIVER = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
PROPERTIES, PEER = "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.Peer"
INTROSPECTABLE, OBJECTS = "org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.ObjectManager"
NAME = "org.btcall"
ROOT, CALLS, ROUTER, AUDIO = "/org/btcall", "/org/btcall/calls", "/org/btcall/router", "/org/btcall/audio"
SESSION, PAIRING = "/org/btcall/session", "/org/btcall/pairing"
SERIAL = 8


class Refused(Exception):
    """An error reply: its name, and its text."""

    def __init__(self, name, text):
        super().__init__("%s: %.200s" % (name, text))
        self.name, self.text = name, text


class Silence(Exception):
    """No reply in time."""


class Gone(Exception):
    """The bus has closed the connection."""


def message(kind, fields, signature="", body=(), flags=0):
    if signature:
        fields[HeaderFields.signature] = signature
    return Message(Header(Endianness.little, kind, flags, 1, -1, 0, fields), body)


def call_message(destination, path, interface, member, signature="", body=(), reply=True):
    fields = {HeaderFields.path: path, HeaderFields.member: member, HeaderFields.destination: destination}
    if interface:
        fields[HeaderFields.interface] = interface
    return message(MessageType.method_call, fields, signature, body,
                   MessageFlag(0) if reply else MessageFlag.no_reply_expected)


def signal_message(path, interface, member, signature="", body=()):
    fields = {HeaderFields.path: path, HeaderFields.interface: interface, HeaderFields.member: member}
    return message(MessageType.signal, fields, signature, body)


def serials(data, first):
    """Messages of one length in a row with serial numbers of their own.

    - Parameter data: bytearray of (length, messages).
    """
    length, content = data
    for index in range(len(content) // length):
        struct.pack_into("<I", content, index * length + SERIAL, first + index)
    return content


class Client:
    """One connection. Messages that are not a reply to a waiting call go to `inbox`."""

    def __init__(self, path, user=None, hello=True, timeout=20):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        with effective(user):
            self.socket.connect(path)
            identity = str(os.geteuid()).encode().hex().encode()
        self.parser, self.inbox, self.serial, self.name = Parser(), [], 0, None
        self.say(b"\0AUTH EXTERNAL " + identity + b"\r\n", b"OK")
        self.say(b"NEGOTIATE_UNIX_FD\r\n", b"AGREE_UNIX_FD")
        self.socket.sendall(b"BEGIN\r\n")
        if hello:
            self.name = self.call(*DRIVER, "Hello", timeout=timeout)[0]

    def say(self, line, expected):
        self.socket.sendall(line)
        answer = b""
        while not answer.endswith(b"\r\n"):
            data = self.socket.recv(256)
            if not data:
                raise Gone("during authentication")
            answer += data
        if not answer.startswith(expected):
            raise Refused("authentication", answer.decode())

    def close(self):
        self.socket.close()

    def fileno(self):
        return self.socket.fileno()

    # --- sending

    def send(self, content):
        """- Returns: the serial number of the message."""
        self.serial += 1
        descriptors = array.array("i")
        data = content.serialise(self.serial, descriptors)
        try:
            sent = self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)] if descriptors else [])
            self.socket.sendall(data[sent:])
        except (BrokenPipeError, ConnectionResetError):
            raise Gone("while sending") from None
        return self.serial

    def post(self, *arguments):
        """Sends a call without a reply."""
        self.send(call_message(*arguments, reply=False))

    def reply(self, request, signature="", body=()):
        if request.header.flags & MessageFlag.no_reply_expected:
            return
        fields = {HeaderFields.reply_serial: request.header.serial, HeaderFields.destination: sender(request)}
        self.send(message(MessageType.method_return, fields, signature, body))

    def refuse(self, request, name, text):
        fields = {HeaderFields.reply_serial: request.header.serial, HeaderFields.destination: sender(request),
                  HeaderFields.error_name: name}
        self.send(message(MessageType.error, fields, "s", (text,)))

    # --- receiving

    def read(self, timeout=0.0):
        """Messages received within the time, in seconds; at least those already present."""
        if not select.select([self.socket], [], [], timeout)[0]:
            return []
        try:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 18, 64)
        except (ConnectionResetError, BrokenPipeError):
            raise Gone("while receiving") from None
        if not data:
            raise Gone("at the end of the stream")
        self.parser.add_data(data, descriptors)
        return list(iter(self.parser.get_next_message, None))

    def call(self, *arguments, timeout=20):
        """A call and its reply: the body.

        - Throws: `Refused`, `Silence`, `Gone`.
        """
        serial, end = self.send(call_message(*arguments)), time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise Silence("%s: none in %g s" % (arguments[3], timeout))
            reply = None
            for arrived in self.read(left):
                if serial_answered(arrived) == serial:
                    reply = arrived
                else:
                    self.inbox.append(arrived)
            if reply:
                return result(reply)

    def get(self, path, interface, name, timeout=20):
        return self.call(NAME, path, PROPERTIES, "Get", "ss", (interface, name), timeout=timeout)[0][1]

    def set(self, path, interface, name, signature, value):
        self.call(NAME, path, PROPERTIES, "Set", "ssv", (interface, name, (signature, value)))

    def metrics(self):
        """The daemon's metrics, by name and labels."""
        text = self.call(NAME, ROOT, "org.btcall.Manager1", "Metrics")[0]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line[:1] != "#"}

    def settings(self):
        """The daemon's settings, by key."""
        listed = self.call(NAME, ROOT, "org.btcall.Manager1", "ListSettings")[0]
        return {setting["key"][1]: {key: value[1] for key, value in setting.items()} for setting in listed}


def result(reply):
    if reply.header.message_type is MessageType.error:
        raise Refused(reply.header.fields[HeaderFields.error_name],
                      reply.body[0] if reply.body and isinstance(reply.body[0], str) else "")
    return reply.body


def sender(content):
    return content.header.fields.get(HeaderFields.sender)


def member(content):
    return content.header.fields.get(HeaderFields.member)


def serial_answered(content):
    return content.header.fields.get(HeaderFields.reply_serial)
