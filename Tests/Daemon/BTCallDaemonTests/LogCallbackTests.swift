import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import CBTCall
import ControlLoop
import DBus
import Diagnostics
import Foundation
import Synchronization
import TestSupport
import Testing

/// What a callback has got.
private final class Messages: Sendable {
    struct Message: Equatable {
        let module: String
        let text: String
        let level: LogLevel
        let context: [String: String]
    }

    private let messages = Mutex<[Message]>([])

    var all: [Message] { messages.withLock { $0 } }
    var callback: CallBridge.LogMessageCallback {
        { module, message, level, context in
            self.messages.withLock {
                $0.append(Message(module: module, text: message, level: level, context: context))
            }
        }
    }

    func has(_ module: String, _ text: String) -> Bool { all.contains { $0.module == module && $0.text == text } }
}

extension DaemonTests {
    @Suite(.serialized) @ControlPlane struct LogCallbackTests {
        @Test
        func
            `S4.7 library: the callback has the log from the first line, and standard error is silent`()
            async throws
        {
            let messages = Messages()
            let daemon = try await DaemonProcess()
            CallBridge.logMessageCallback = messages.callback
            defer { CallBridge.logMessageCallback = nil }
            let bridge = try await daemon.bridge()
            let first = try #require(messages.all.first { $0.text.contains("\(daemon.bus.address)") })
            #expect(first.module == "btcall.dbus" && first.level == .debug && first.context.isEmpty)
            #expect(first.text.hasPrefix("connected to the bus"))
            // The daemon comes later, and gives its log as soon as it can be asked.
            try await daemon.start()
            try await eventually("its log comes here") { daemon.errors.contains("the log goes to ") }
            let before = daemon.errors
            try await eventually("it is there") { (try? await bridge.status()) != nil }
            try await bridge.deactivate()
            try await eventually("its line is here") { messages.has("btcalld", "inactive") }
            #expect(messages.all.first { $0.text == "inactive" }?.level == .notice)
            // Another bridge of the process does not make two of each.
            let other = try await daemon.bridge()
            try await other.activate()
            try await eventually("its line is here") { messages.has("btcalld", "active") }
            try await bridge.deactivate()
            try await eventually("it is inactive again") { messages.all.count { $0.text == "inactive" } >= 2 }
            #expect(messages.all.count { $0.text == "active" } == 1)
            #expect(daemon.errors == before)
            // The elder bridge brought them; now the other one does.
            await bridge.close()
            try await other.activate()
            try await eventually("the other bridge brings them") {
                try await other.deactivate()
                try await other.activate()
                return messages.all.count { $0.text == "active" } > 1
            }
            CallBridge.logMessageCallback = nil
            try await eventually("standard error is back") {
                try await other.deactivate()
                try await other.activate()
                return daemon.errors.hasSuffix("notice btcalld: active\n")
            }
            let last = messages.all.count
            try await other.deactivate()
            try await eventually("the line is there") { daemon.errors.hasSuffix("notice btcalld: inactive\n") }
            #expect(messages.all.count == last)
            await other.close()
            try await daemon.stop()
        }

        @Test func `A program that has the log and dies gives the daemon its standard error back`() async throws {
            let daemon = try await DaemonProcess()
            try await daemon.start()
            let bridge = try await daemon.bridge()
            try await eventually("it is there") { (try? await bridge.status()) != nil }
            var monitor: RunningProgram? = try Program(daemon.bus.address).start("monitor", "--log", "--json")
            try await eventually("its log goes to the program") { daemon.errors.contains("the log goes to ") }
            let before = daemon.errors
            try await bridge.deactivate()
            try await eventually("the program prints it") {
                monitor?.objects.contains { $0["message"] as? String == "inactive" } == true
            }
            #expect(daemon.errors == before)
            #expect(monitor?.errors == "")
            monitor = nil
            try await eventually("the daemon has seen it") { daemon.errors.contains("does not go to") }
            try await bridge.activate()
            try await eventually("standard error is back") { daemon.errors.hasSuffix("notice btcalld: active\n") }
            await bridge.close()
            try await daemon.stop()
        }

        @Test func `Whoever reads too slowly loses the oldest lines, and is told how many`() async throws {
            let (ours, theirs) = try #require(PacketSocketPair.open())
            let program = PassedDescriptor(taking: theirs)
            let reader = LogReader(taking: ours)
            var ends = 0
            try reader.start { _ in ends += 1 }
            let count = 3000
            for number in 0..<count {
                reader.take(LogLine(level: "info", module: "test", message: "\(number)", context: ["a": "b=c"]))
            }
            var numbers: [Int] = []
            var lost: [Int] = []
            try await eventually("the last line is here") {
                while let line = line(from: theirs) {
                    if line.module == "btcall.log" {
                        #expect(line.level == "warning")
                        lost.append(line.context["lost"].flatMap { Int($0) } ?? 0)
                    } else {
                        #expect(line.context == ["a": "b=c"] && line.level == "info")
                        numbers.append(Int(line.message) ?? -1)
                    }
                }
                return numbers.last == count - 1
            }
            #expect(lost.count == 1)
            #expect(numbers.count + lost.reduce(0, +) == count)
            #expect(numbers == numbers.sorted() && numbers.first == 0)
            #expect(Array(numbers.suffix(LogReader.mostWaiting)) == Array(count - LogReader.mostWaiting..<count))
            // From here on it is in time again.
            reader.take(LogLine(level: "info", module: "test", message: "again"))
            #expect(line(from: theirs)?.message == "again")
            close(program.take())
            try await eventually("the end is seen") { ends == 1 }
            reader.take(LogLine(level: "info", module: "test", message: "nobody"))
        }

        @Test func `A log line is read as it was written, whatever is in it`() throws {
            let lines = [
                LogLine(level: "notice", module: "btcalld", message: "active"),
                LogLine(level: "error", module: "m", message: "two\nlines = ü", context: ["b": "1=2", "a": ""]),
                LogLine(level: "", module: "", message: ""),
            ]
            for line in lines { #expect(LogLine(packet: line.packet) == line) }
            #expect(LogLine(packet: LogLine(level: "info", module: "m", message: "a\0b").packet)?.message == "a b")
            let long = LogLine(
                level: "info", module: "m", message: String(repeating: "x", count: 10_000),
                context: Dictionary(
                    uniqueKeysWithValues: (0..<99).map { ("\($0)", String(repeating: "y", count: 9999)) }))
            #expect(long.packet.count <= LogLine.longestPacket)
            #expect(LogLine(packet: long.packet)?.message.count == LogLine.longestText - 1)
            for bytes: [UInt8] in [[], [0], [0x41], [0x41, 0, 0x42]] { #expect(LogLine(packet: bytes) == nil) }
            #expect(LogLine(packet: [0xFF, 0, 0xFE, 0, 0xC3, 0, 0x61])?.context == [:])
        }

        @Test func `Eight programs may have the log`() async throws {
            try await Box.run { box in
                var held: [PassedDescriptor] = []
                let interface = BTCallName.Interface.manager
                let programs = try (0..<4).map { _ in try BusConnection(box.address) }
                defer { for program in programs { program.close() } }
                for number in 0..<8 {
                    let answer = try await programs[number / 2].call(
                        BTCallName.bus, BTCallPath.manager, interface, BTCallName.Manager.subscribeLog)
                    held.append(try #require(answer.first?.descriptorValue))
                }
                #expect(
                    await box.error(BTCallPath.manager, interface, BTCallName.Manager.subscribeLog)
                        == "org.btcall.Error.WrongState")
                held.removeLast()
                try await eventually("there is a place again") {
                    await box.error(BTCallPath.manager, interface, BTCallName.Manager.subscribeLog) == nil
                }
                // What a program writes into it, and that it ends its own direction, harms nobody.
                let last = held.removeFirst()
                _ = send(last.descriptor, "hello", 5, 0)
                shutdown(last.descriptor, Int32(SHUT_WR))
                try await eventually("it has left") {
                    box.log.containing("does not go to").count >= 2
                }
            }
        }
    }
}

/// The next line in a socket; nil: nothing there.
private func line(from descriptor: Int32) -> LogLine? {
    var bytes = [UInt8](repeating: 0, count: LogLine.longestPacket)
    let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
    return count > 0 ? LogLine(packet: bytes.prefix(count)) : nil
}
