"""Values for a fuzzer that knows clocks, limits, sizes, and the daemon's state."""
import glob
import os
import re
import time
import xml.etree.ElementTree

from bus import INTROSPECTABLE, OBJECTS, PEER, PROPERTIES
from world import FORGED, REPOSITORY

BITS = {"y": (8, False), "n": (16, True), "q": (16, False), "i": (32, True), "u": (32, False), "x": (64, True), "t": (64, False)}
EXTREMES = [0, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 1 << 62, 1 << 53, 1 << 32, 1 << 31, (1 << 31) - 1, 10 ** 12, 10 ** 18]
UNITS = [1, 10 ** 3, 10 ** 6, 10 ** 9]
SIGNATURES = ["s", "o", "b", "y", "n", "q", "i", "u", "x", "t", "d", "g", "as", "ao", "a{sv}", "aa{sv}", "v", "ay", "au", "ad", "(si)",
              "a(sv)", "a{us}", "av", "aaas"]
SIZES = [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 149, 150, 151, 197, 198, 199, 255, 256, 1023, 1025, 4095, 4096, 4097, 65535, 65537]
STANDARD = [(INTROSPECTABLE, "Introspect", ""), (PEER, "Ping", ""), (PEER, "GetMachineId", ""),
            (OBJECTS, "GetManagedObjects", ""), (PROPERTIES, "Get", "ss"), (PROPERTIES, "GetAll", "s"),
            (PROPERTIES, "Set", "ssv")]
TEXTS = ["", " ", "\t", "\r\n", "\n" + FORGED, "a\r\n" + FORGED + "\n", "\x1b[31mred\x1b]0;title\x07", "\x7f", "\x9b31m",
         "\u202eevil", "\u2028" + FORGED, "\U000e0001", "\U0010ffff", "e" + "\u0301" * 40, "%00", "%0A", "%s%n%d", "%",
         "../../../etc/passwd",
         "/dev/zero", "/proc/self/mem", "/dev/tty", "|id", "file:/tmp/x", "tee:'|id'", "plug:\"|id\"", "null", "none", "nan", "inf", "-inf",
         "1e999", "0x7fffffff", "-0", "+1", "01", "true", "yes", "\"", "'", ";", "#", "[x]", "=", "tel:", "sip:", "sip:a@b", "tel:+1",
         "bluetooth", "bluetooth:", "0123456789ABCD*#", "AT+CHUP\r"]


def wrapped(number, bits, signed):
    """Wraps a number like a processor with that many bits."""
    number %= 1 << bits
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def clocks():
    """The clocks of the machine and their differences, in nanoseconds."""
    wall, monotonic, boot = (time.clock_gettime_ns(clock) for clock in
                             (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME))
    return [0, wall, monotonic, boot, wall - monotonic, wall - boot, wall + monotonic]


def derived_times(bits=64, signed=True):
    """Every number near the clocks, units and extremes."""
    numbers = set()
    for unit in UNITS:
        for base in clocks():
            for extreme in EXTREMES:
                for sign in (1, -1):
                    for near in range(-3, 4):
                        numbers.add(wrapped(sign * (base // unit) + extreme + near, bits, signed))
                        # An extreme in another unit than the compared one.
                        numbers.add(wrapped(sign * (base // unit) + extreme // 1000 + near, bits, signed))
                        numbers.add(wrapped(sign * (base // unit) + extreme // 1000000 + near, bits, signed))
    return sorted(numbers)


class Interface:
    """One of the daemon's interfaces, by its XML and its page."""

    def __init__(self, file):
        node = xml.etree.ElementTree.parse(file).getroot().find("interface")
        self.name = node.get("name")
        self.methods = [(method.get("name"), "".join(argument.get("type") for argument in method.findall("arg")
                                                      if argument.get("direction") != "out"))
                        for method in node.findall("method")]
        self.properties = [(item.get("name"), item.get("type"), item.get("access")) for item in node.findall("property")]
        with open(file[:-3] + "md") as page:
            text = page.read()
        found = re.findall(r"`(\w+)` \(`([a-z{}()]+)`", text) + re.findall(r"^\| `(\w+)` \| `([a-z{}()]+)` \|", text, re.M)
        self.options = sorted(set(found))


def interfaces():
    return [Interface(file) for file in sorted(glob.glob(os.path.join(REPOSITORY, "dbus", "org.btcall.*.xml")))]


def documented_numbers():
    """Every number in pages and configuration: limits are among them."""
    numbers = set()
    for file in glob.glob(os.path.join(REPOSITORY, "dbus", "*.md")) + [os.path.join(REPOSITORY, "etc", "btcalld.conf")]:
        with open(file) as text:
            numbers |= {int(number) for number in re.findall(r"\d+", text.read()) if len(number) < 12}
    return sorted(numbers)


class Values:
    """Draws values of any type. `words` belong to the daemon's state: paths, addresses, keys, names."""

    def __init__(self, random, words=(), paths=()):
        self.random, self.words, self.paths = random, list(words), list(paths)
        self.numbers = documented_numbers()

    def number(self):
        draw = self.random
        kind = draw.randrange(5)
        if kind == 0:
            sign, unit = draw.choice([1, -1]), draw.choice(UNITS)
            return sign * (draw.choice(clocks()) // unit) + draw.choice([1, -1]) * draw.choice(EXTREMES) + draw.randint(-3, 3)
        if kind == 1:
            return draw.choice(self.numbers) + draw.randint(-1, 1)
        if kind == 2:
            return draw.choice([1, -1]) * (1 << draw.randrange(65)) + draw.randint(-1, 1)
        if kind == 3:
            return draw.choice(clocks()) // draw.choice(UNITS) + draw.choice([1, -1]) * draw.choice(self.numbers)
        return draw.randint(-3, 110)

    def real(self):
        return self.random.choice([0.0, -0.0, 1.0, -1.0, 0.5, -12.0, -90.0, float("nan"), float("inf"), float("-inf"), 5e-324, 1.8e308,
                                   2.0 ** 63, -2.0 ** 63, 2.0 ** 64, 1e19, 1.0000000000000002, float(self.number() % (1 << 900))])

    def text(self):
        draw = self.random
        kind = draw.randrange(8)
        if kind < 3 and self.words:
            return draw.choice(self.words)
        if kind == 3:
            return str(self.number())
        if kind == 4:
            return draw.choice(["a", "1", "é", "\u0301", "/a", "%", "a,", "\t"]) * draw.choice(SIZES)
        if kind == 5 and self.words:
            word = draw.choice(self.words)
            at = draw.randrange(len(word) + 1)
            return word[:at] + draw.choice(TEXTS) + word[at + draw.randrange(2):]
        return draw.choice(TEXTS)

    def path(self):
        if self.paths and self.random.random() < 0.8:
            return self.random.choice(self.paths)
        return self.random.choice(["/", "/a", "/org/btcall/calls/" + "0" * 36, "/org/bluez", "/x" * 500, "/_", "/org/freedesktop/DBus"])

    def value(self, signature, options=(), depth=0):
        """- Parameter options: names and types of a dictionary's entries."""
        draw = self.random
        if signature in BITS:
            return wrapped(self.number(), *BITS[signature])
        if signature == "b":
            return draw.random() < 0.5
        if signature == "d":
            return self.real()
        if signature == "s":
            return self.text()
        if signature == "o":
            return self.path()
        if signature == "g":
            return draw.choice(["", "s", "a{sv}", "v" * 255, "a" * 32 + "y", "(" * 32 + "y" + ")" * 32])
        if signature == "h":
            return draw.choice([0, 1, 2])
        if signature == "v":
            return self.variant(draw.choice(SIGNATURES if depth < 4 else "sux"), depth + 1)
        if signature == "a{sv}":
            return {key: value for key, value in (self.option(options, depth) for _ in range(draw.choice([0, 1, 1, 2, 3, 8])))}
        if signature == "a{us}":
            return {wrapped(self.number(), 32, False): self.text() for _ in range(draw.randrange(3))}
        if signature.startswith("("):
            return tuple(self.value(part, options, depth + 1) for part in signature[1:-1])
        return [self.value(signature[1:], options, depth + 1) for _ in range(draw.choice([0, 1, 2, 3, 16, 17] if depth < 2 else [0, 1]))]

    def variant(self, signature, depth=0):
        return (signature, self.value(signature, (), depth))

    def option(self, options, depth):
        if options and self.random.random() < 0.85:
            key, signature = self.random.choice(options)
            if self.random.random() < 0.85 and all(character in "ybnqiuxtdsoagv{}()" for character in signature):
                return key, self.variant(signature, depth + 1)
            return key, self.variant(self.random.choice(SIGNATURES), depth + 1)
        return self.text()[:4096], self.variant(self.random.choice(SIGNATURES), depth + 1)


def split(signature):
    """The complete types in a signature."""
    return re.findall(r"a\{\w+\}|aa\{\w+\}|a*\([^)]*\)|a*\w", signature)
