"""Standard descriptors that are closed or never read, and a low limit of descriptors."""
import fcntl
import os
import resource
import socket
import time

from bus import AUDIO, CALLS, DRIVER, NAME, PROPERTIES, ROOT, SESSION, Client, Gone, Refused, call_message
from judge import Attack
from users import MEMBER, STRANGER
from world import Box

F_SETPIPE_SZ = 1031
# Descriptor limit of a small board, or of a unit with a low LimitNOFILE.
FEW = 64


class Standard(Attack):
    def box(self, prepare=None, error=None):
        box = Box(prepare=prepare, error=error)
        self.addCleanup(box.end)
        return box

    def judge(self, box, what):
        self.assertTrue(box.daemon.is_running(), "%s: btcalld ended with %s" % (what, box.daemon.program.returncode))
        self.assertTrue(box.pings(), "%s: no answer within 5 s" % what)
        self.assertEqual(box.daemon.end(10), 0, "%s: SIGTERM does not end it within 10 s" % what)

    def test_standard_error_that_is_a_full_pipe_holds_nothing_up(self):
        reading, writing = os.pipe()
        fcntl.fcntl(writing, F_SETPIPE_SZ, 4096)
        box = self.box(error=writing)
        os.close(writing)
        # Hundreds of log lines.
        client = box.client()
        for _ in range(100):
            client.post(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}", ("/p", {"name": ("s", "x" * 100)}))
            client.post(NAME, CALLS, "org.btcall.Calls1", "UnregisterProvider", "o", ("/p",))
        client.close()
        self.judge(box, "standard error is a full pipe")
        os.close(reading)

    def test_standard_error_whose_reader_has_gone_ends_nothing(self):
        reading, writing = os.pipe()
        box = self.box(error=writing)
        os.close(writing)
        os.close(reading)
        client = box.client()
        client.call(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}", ("/p", {"name": ("s", "x")}))
        client.close()
        self.judge(box, "the reader of standard error has gone")

    def test_closed_standard_descriptors_become_nobodys_connection(self):
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            def close():
                for descriptor in closed:
                    os.close(descriptor)
            box = self.box(close)
            what = "started without the descriptors %s" % (closed,)
            for descriptor in (0, 1, 2):
                try:
                    target = os.readlink("/proc/%d/fd/%d" % (box.daemon.process, descriptor))
                except FileNotFoundError:
                    continue
                self.assertFalse(target.startswith(("socket:", "anon_inode:", "pipe:", "/memfd:")),
                                 "%s: %d is now %s" % (what, descriptor, target))
            client = box.client()
            client.call(NAME, CALLS, "org.btcall.Calls1", "RegisterProvider", "oa{sv}", ("/p", {"name": ("s", "x")}))
            client.close()
            self.judge(box, what)

    def test_a_daemon_with_few_descriptors_stays_on_the_bus_and_does_not_spin(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW))
        box = self.box(few)
        watcher = box.client(STRANGER)
        question = (*DRIVER, "GetNameOwner", "s", (NAME,))
        owner = watcher.call(*question)[0]
        clients, kept = [], []
        # Everything that takes a descriptor of the daemon: by a member, and by connections to its socket.
        for _ in range(4):
            clients.append(Client(box.bus_path, MEMBER))
        requests = ((NAME, ROOT, "org.btcall.Manager1", "SubscribeLog"),
                    (NAME, AUDIO, "org.btcall.Audio1", "OpenInjection", "a{sv}", ({},)),
                    (NAME, AUDIO, "org.btcall.Audio1", "OpenPlayback", "a{sv}", ({"to": ("s", "page")},)),
                    (NAME, SESSION, "org.btcall.Session1", "Activate", "a{sv}", ({},)))
        for _ in range(20):
            for client in clients:
                for request in requests:
                    try:
                        kept += [value for value in client.call(*request, timeout=5) if isinstance(value, int)]
                    except Refused:
                        pass
        for _ in range(48):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            connection.settimeout(0.5)
            try:
                connection.connect(box.path("run", "pcm.sock"))
            except OSError:
                break
            kept.append(connection.detach())
        ran, _ = box.daemon.scheduled()
        time.sleep(1)
        spent = (box.daemon.scheduled()[0] - ran) / 1e9
        self.assertLess(spent, 0.5, "without a free descriptor it is busy with nothing")
        self.assertTrue(box.pings(), "no answer within 5 s")
        # A stranger's messages carry as many descriptors as the bus allows.
        stranger, null = Client(box.bus_path, STRANGER), os.open("/dev/null", os.O_RDWR)
        for _ in range(40):
            try:
                stranger.send(call_message(NAME, ROOT, PROPERTIES, "Get", "h" * 16, (null,) * 16, False))
            except Gone:
                break
        time.sleep(0.5)
        self.assertTrue(box.pings(), "no answer within 5 s to others")
        self.assertEqual(watcher.call(*question)[0], owner, "it was thrown off the bus")
        for descriptor in [*kept, null]:
            os.close(descriptor)
        for client in [*clients, stranger, watcher]:
            client.close()
        self.judge(box, "after that")
