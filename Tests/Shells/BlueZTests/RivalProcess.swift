import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing

/// A process of a given name that is a client of a bus: `dbus-send` under another name, waiting for an answer that does not
/// come before the test allows it.
@ControlPlane
final class RivalProcess {
    /// Set when the process is on the bus.
    let joined = Signalled()
    private(set) var processID: pid_t = 0
    private let release = Signalled()
    private let directory: String

    init(named name: String, on address: BusAddress, waitingFor connection: BusConnection) throws {
        directory = "/tmp/btcall-rival-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        let program = "\(directory)/\(name)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: "/usr/bin/dbus-send", toPath: program)
        let wait = ExportedInterface.Method("Wait") { [joined, release] _ throws(BusError) in
            joined.set()
            await release.wait()
            return []
        }
        connection.export([ExportedInterface("org.btcall.Test", methods: [wait])], at: "/wait")
        let bus = "\(address)"
        let destination = try #require(connection.uniqueName)
        let words: [String] = [
            program, "--bus=\(bus)", "--print-reply", "--dest=\(destination)", "/wait", "org.btcall.Test.Wait",
        ]
        let arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        try #require(posix_spawn(&processID, program, nil, nil, arguments, environ) == 0)
    }

    isolated deinit {
        end()
        // A directory of the test's own; if it remains, it is one file in /tmp.
        try? FileManager.default.removeItem(atPath: directory)
    }

    func end() {
        guard processID > 0 else { return }
        kill(processID, SIGKILL)
        waitpid(processID, nil, 0)
        processID = 0
        release.set()
    }
}

/// An event that happens once, awaited with a deadline.
@ControlPlane
final class Signalled {
    private let events = EventQueue<Bool>()

    func set() { events.push(true) }
    func value() async throws { _ = try await events.next() }
    func wait() async {
        // Without the event the waiting handler has nothing left to do.
        _ = try? await events.next(within: .seconds(60))
    }
}
