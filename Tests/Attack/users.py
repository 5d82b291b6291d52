"""Users of the attack, in the mount name space of this process alone, and work done as one of them."""
import ctypes
import grp
import json
import os
import pwd
import resource
import select
import signal
import socket
import subprocess
import time
import traceback

PR_SET_PDEATHSIG = 1
DAEMON, MEMBER, STRANGER = "btcall", "member", "stranger"
LONGEST_MESSAGE = 1 << 18


def make(directory):
    """Users btcall, member (in group btcall) and stranger (in no group), of whatever the machine has by these names already.

    - Parameter directory: gets the copies of passwd and group that are mounted over those of the machine.
    """
    names = (DAEMON, MEMBER, STRANGER)
    taken = {entry.pw_uid for entry in pwd.getpwall()} | {entry.gr_gid for entry in grp.getgrall()}
    free = iter([number for number in range(60100, 60000, -1) if number not in taken])
    numbers = {name: next(free) for name in names}
    passwd = [line for line in lines("/etc/passwd") if line.split(":")[0] not in names]
    group = [line for line in lines("/etc/group") if line.split(":")[0] not in names]
    for name in names:
        passwd.append("%s:x:%d:%d::/nonexistent:/usr/sbin/nologin" % (name, numbers[name], numbers[name]))
        group.append("%s:x:%d:%s" % (name, numbers[name], MEMBER if name == DAEMON else ""))
    for file, content in (("passwd", passwd), ("group", group)):
        copy = os.path.join(directory, file)
        with open(copy, "w") as output:
            output.write("\n".join(content) + "\n")
        subprocess.run(["mount", "--bind", copy, "/etc/" + file], check=True)


def lines(file):
    with open(file) as content:
        return content.read().split("\n")[:-1]


def end_with_parent():
    """Makes the kernel end this process when its parent has gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def become(user):
    """Switches the calling process to that user."""
    entry = pwd.getpwnam(user)
    os.setgroups(os.getgrouplist(user, entry.pw_gid))
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def raise_priority(priority):
    """The priority of an application with audio; where the machine refuses, the usual one."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        pass


class effective:
    """`with effective(user):` makes connections with that user's credentials."""

    def __init__(self, user):
        self.user = user

    def __enter__(self):
        if self.user:
            self.groups, entry = os.getgroups(), pwd.getpwnam(self.user)
            os.setgroups(os.getgrouplist(self.user, entry.pw_gid))
            os.setegid(entry.pw_gid)
            os.seteuid(entry.pw_uid)

    def __exit__(self, *_):
        if self.user:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(self.groups)


class Failed(Exception):
    """The exit of another process of the attack."""


def send(channel, value, descriptors=()):
    socket.send_fds(channel, [json.dumps(value).encode()], list(descriptors))


def receive(channel):
    """- Returns: the value and its descriptors; None at the end."""
    data, descriptors, _, _ = socket.recv_fds(channel, LONGEST_MESSAGE, 16)
    return (json.loads(data), descriptors) if data else (None, descriptors)


class Process:
    """A process that does one task as a user, and reports the result."""

    def __init__(self, work, user=None, priority=None, descriptors=256):
        """- Parameters:
          - work: is called with this end's channel in the new process; what it returns (JSON) is the result.
          - descriptors: that it may have open.
        """
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = os.fork()
        if self.process:
            theirs.close()
            return
        status = 1
        try:
            end_with_parent()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            self.channel.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, max(descriptors, 4096)))
            if priority:
                raise_priority(priority)
            if user:
                become(user)
            send(theirs, {"result": work(theirs)})
            status = 0
        except BaseException:
            try:
                send(theirs, {"failed": traceback.format_exc()})
            except OSError:
                pass
        os._exit(status)

    def ask(self, *words, descriptors=(), timeout=60):
        """Sends a request to a serving process; returns its answer and the descriptors."""
        send(self.channel, words, descriptors)
        return self.answer(timeout)

    def answer(self, timeout):
        if not select.select([self.channel], [], [], timeout)[0]:
            raise Failed("no answer within %d s" % timeout)
        value, descriptors = receive(self.channel)
        if value is None or "failed" in value:
            raise Failed(value["failed"] if value else "the process is gone")
        return value["result"], descriptors

    def result(self, timeout=120):
        """The result of the work, once it has ended."""
        try:
            return self.answer(timeout)[0]
        finally:
            self.end()

    def is_done(self):
        return bool(select.select([self.channel], [], [], 0)[0])

    def end(self):
        """Kills it unless it has ended; a second call does nothing."""
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            self.process = None
        self.channel.close()


def serve(channel, answers, sources, tick=None, interval=0.01):
    """Main loop of a process that answers requests until its channel is closed.

    - Parameters:
      - answers: by word, a function that gets the other words and the descriptors; what it returns is the result, or a pair with a
        list of descriptors.
      - sources: returns what to wait for as pairs of a socket and a function that is called when it can be read.
      - tick: is called at least each `interval` seconds.
    """
    while True:
        ready = dict(sources())
        for readable in select.select([channel, *ready], [], [], interval)[0]:
            if readable is not channel:
                ready[readable]()
                continue
            words, descriptors = receive(channel)
            if words is None:
                return None
            result = answers[words[0]](*words[1:], *([descriptors] if descriptors else []))
            if isinstance(result, tuple):
                send(channel, {"result": result[0]}, result[1])
                for descriptor in result[1]:
                    os.close(descriptor)
            else:
                send(channel, {"result": result})
        if tick:
            tick()


def eventually(condition, limit=10, interval=0.02):
    """- Returns: the final value; false when it was never true within the limit, in seconds."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(interval)
