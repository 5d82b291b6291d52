"""Sockets of this machine's network: programs that pretend to be baresip for btcall-baresip."""
import select
import socket
import time

from judge import Attack
from world import Box, Follower, wrong_lines


class Network(Attack):
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
