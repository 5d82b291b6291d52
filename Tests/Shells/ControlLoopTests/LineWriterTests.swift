import BluetoothTypes
import CBTCall
import ControlLoop
import Glibc
import TestSupport
import Testing

/// Standard error that nobody reads. Each test ends at once, or never: a writer that waits would hang.
@Suite(.timeLimit(.minutes(1))) struct LineWriterTests {
    /// Bytes that are available, or arrive within the moment that a terminal of a busy machine needs to pass them on.
    private func read(_ descriptor: Int32) -> String {
        let moment: Int32 = isatty(descriptor) == 1 ? 500 : 0
        var text = ""
        var piece = [UInt8](repeating: 0, count: 65536)
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&ready, 1, moment) > 0, ready.revents & Int16(POLLIN) != 0 {
            let count = Glibc.read(descriptor, &piece, piece.count)
            guard count > 0 else { break }
            text += String(decoding: piece[..<count], as: UTF8.self)
        }
        return text
    }

    private func ends(_ kind: String) throws -> (reader: Int32, writer: Int32) {
        switch kind {
        case "pipe":
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            return (ends[0], ends[1])
        case "terminal":
            let reader = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            var number: UInt32 = 0
            var isLocked: Int32 = 0
            // TIOCSPTLCK and TIOCGPTN, which Swift does not import.
            try #require(ioctl(reader, 0x4004_5431, &isLocked) == 0 && ioctl(reader, 0x8004_5430, &number) == 0)
            let writer = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
            try #require(writer >= 0)
            return (reader, writer)
        default:
            let pair = try socketPair()
            return (pair.0, pair.1)
        }
    }

    @Test(arguments: ["pipe", "socket", "terminal"])
    func `a writer does not wait for a stuck reader, and later says how many lines were lost`(_ kind: String) throws {
        let (reader, writer) = try ends(kind)
        let ours = dup(writer)
        defer { for end in [reader, writer, ours] { close(end) } }
        let flags = fcntl(writer, F_GETFL)
        // As btcalld does it; a pipe works even without.
        if kind == "terminal" { btcall_detach_descriptor(ours) }
        let lines = LineWriter(ours)
        let text = String(repeating: "x", count: 100)
        for number in 0..<20_000 { lines.write("\(number) \(text)\n") }
        // Flags of other processes were not changed.
        #expect(fcntl(writer, F_GETFL) == flags && flags & O_NONBLOCK == 0)
        let before = read(reader).split(whereSeparator: \.isNewline)
        let whole = before.filter { $0.hasSuffix(" \(text)") }
        #expect(whole.count > 20 && whole.count < 20_000)
        for (number, line) in whole.enumerated() { #expect(line == "\(number) \(text)") }
        lines.write("again\n")
        let after = read(reader).split(whereSeparator: \.isNewline).suffix(2)
        let lost = 20_000 - whole.count
        // Of the last line a terminal may have taken all but the line feed.
        let said = (kind == "terminal" ? [lost, lost + 1] : [lost]).map {
            "warning btcall.log: \($0) lines were lost: nobody read standard error"
        }
        #expect(after.count == 2 && said.contains(String(after.first ?? "")) && after.last == "again")
        lines.write("and again\n")
        #expect(read(reader).split(whereSeparator: \.isNewline) == ["and again"])
    }

    @Test func `lines for a reader that has gone do not count as lost`() throws {
        let (reader, writer) = try socketPair()
        defer { close(writer) }
        close(reader)
        LineWriter(writer).write("line\n")
    }

    @Test func `a foreign writer that fills the pipe again and again does not stop it`() throws {
        let (reader, writer) = try ends("pipe")
        defer { for end in [reader, writer] { close(end) } }
        // An open file of its own, so that its flag is not shared.
        let foreign = open("/proc/self/fd/\(writer)", O_WRONLY | O_NONBLOCK)
        try #require(foreign >= 0)
        defer { close(foreign) }
        let lines = LineWriter(writer)
        let block = [UInt8](repeating: 0x2E, count: 4096)
        for number in 0..<1000 {
            while write(foreign, block, block.count) > 0 {}
            lines.write("\(number)\n")
            if number % 100 == 0 { _ = read(reader) }
        }
    }
}

@Suite struct DetachTests {
    @Test func `standard error is detached from processes that share it, and never blocks`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let ours = dup(ends[1])
        defer { close(ours) }
        btcall_detach_descriptor(ours)
        #expect(fcntl(ours, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(ends[1], F_GETFL) & O_NONBLOCK == 0)
        let block = [UInt8](repeating: 0x2E, count: 4096)
        while write(ours, block, block.count) > 0 {}
        #expect(errno == EAGAIN)
        // A regular file stays unchanged.
        let file = open("/dev/null", O_WRONLY)
        defer { close(file) }
        btcall_detach_descriptor(file)
        #expect(fcntl(file, F_GETFL) & O_NONBLOCK == 0)
    }
}
