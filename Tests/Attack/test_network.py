"""Sockets of this machine's network: readers of the daemon's metrics, and programs that pretend to be baresip for btcall-baresip."""
import select
import socket
import time

from bus import NAME, ROOT, Refused
from judge import Attack
from test_state import set_value
from users import MEMBER, STRANGER, Process
from world import CONFIGURATION, Box, Follower, wrong_lines


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Network(Attack):
    def test_clients_that_are_slow_do_not_keep_others_from_the_metrics(self):
        port = free_port()
        box = Box(CONFIGURATION + "[metrics]\nport = %d\n" % port)
        self.addCleanup(box.end)

        def occupy(_):
            """As many connections as allowed, each reopened as soon as it is closed."""
            slow = []
            while True:
                while len(slow) < 40:
                    try:
                        slow.append(socket.create_connection(("127.0.0.1", port), 1))
                        if len(slow) % 2:
                            slow[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
                    except OSError:
                        break
                closed = select.select(slow, [], [], 0.01)[0]
                slow = [client for client in slow if client not in closed]
        work = Process(occupy, STRANGER)
        self.addCleanup(work.end)
        time.sleep(0.5)
        begin, text = time.monotonic(), b""
        while b"# EOF" not in text and time.monotonic() - begin < 10:
            with socket.create_connection(("127.0.0.1", port), 2) as client:
                client.settimeout(5)
                try:
                    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
                    while data := client.recv(65536):
                        text += data
                except OSError:
                    time.sleep(0.2)
        self.assertIn(b"# EOF", text, "nobody else gets the metrics")
        self.assertLess(time.monotonic() - begin, 5, "the metrics came after so many seconds")
        work.end()
        self.assertTrue(box.pings())
        self.assertEqual(box.daemon.end(10), 0)

    def test_requests_for_metrics_at_random_hurt_nobody(self):
        port, draw = free_port(), self.random
        requests = [b"GET " + b"/" * 70000, b"\r\n" * 5000, b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 3000,
                    b"POST /metrics HTTP/9\r\n\r\n"]
        with self.watched() as there:
            client = there.client(MEMBER)
            try:
                set_value(client, "metrics.port", str(port))
            except Refused:
                self.skipTest("the port is set by the configuration file only")
            end = time.monotonic() + self.seconds(1)
            while time.monotonic() < end:
                try:
                    with socket.create_connection(("127.0.0.1", port), 2) as connection:
                        connection.settimeout(2)
                        connection.sendall(draw.choice(requests + [draw.randbytes(draw.randrange(9000))]))
                        if draw.random() < 0.5:
                            connection.recv(4096)
                except OSError:
                    time.sleep(0.005)
            client.call(NAME, ROOT, "org.btcall.Manager1", "ResetSetting", "s", ("metrics.port",))
            client.close()

    def test_a_baresip_that_says_anything_hurts_nobody(self):
        draw, listener = self.random, socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(4)
        box = Box()
        self.addCleanup(box.end)
        follower = Follower(box.work, listener.getsockname()[1])
        self.addCleanup(follower.end)
        numbers = ["-1", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e999", "NaN", "0", "4294967296"]

        def text():
            number, word = draw.choice(numbers), draw.choice(["\\u0000", "\\n" + "error btcalld: forged", "\\u001b[31m", "x" * 70000, "a"])
            event = draw.choice(["CALL_INCOMING", "CALL_ESTABLISHED", "CALL_CLOSED", "CALL_RINGING", "REGISTER_OK", word])
            return draw.choice([
                '{"event":true,"type":"%s","class":"call","id":"%s","peeruri":"sip:%s","peerdisplayname":"%s","direction":"incoming"}'
                % (event, word, word, word),
                '{"response":true,"ok":true,"data":"%s","token":%s}' % (word, number), "[" * 5000, "{" * 5000, number, '"%s' % word,
                '{"event":true,"type":"%s","param":%s}' % (event, number)]).encode()

        def piece():
            content = text()
            length = draw.choice([str(len(content)), str(len(content)), str(len(content)), draw.choice(numbers), "999999999", ""])
            return length.encode() + b":" + content + draw.choice([b",", b",", b"", b";"]) if draw.random() < 0.9 else draw.randbytes(300)
        end, connection, sent = time.monotonic() + self.seconds(2), None, 0
        while time.monotonic() < end:
            if connection is None:
                if not select.select([listener], [], [], 0.5)[0]:
                    continue
                connection, _ = listener.accept()
                connection.setblocking(False)
            try:
                for _ in range(draw.randrange(1, 50)):
                    sent += connection.send(piece())
                if select.select([connection], [], [], 0.001)[0] and not connection.recv(1 << 16):
                    raise ConnectionError
                if draw.random() < 0.02:
                    raise ConnectionError
            except BlockingIOError:
                time.sleep(0.001)
            except OSError:
                connection.close()
                connection = None
        print("# %d bytes" % sent, flush=True)
        listener.close()
        if connection:
            connection.close()
        self.assertTrue(follower.is_running(), "btcall-baresip ended with %s" % follower.program.returncode)
        self.assertEqual(wrong_lines(follower.lines()), [])
        self.assertEqual(follower.end(10), 0)
        self.assertTrue(box.daemon.is_running(), "btcalld ended with %s" % box.daemon.program.returncode)
        self.assertTrue(box.pings(), "no answer within 5 s")
        self.assertEqual(wrong_lines(box.daemon.lines()), [])
        self.assertEqual(box.daemon.end(10), 0)
