import BTCall
import BTCallAPI
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

/// The lines that a callback has got.
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
        func `S4.7 library: the callback gets the log from the first line, and standard error is silent`()
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
            // The daemon starts later, and sends its log as soon as it answers.
            try await daemon.start()
            try await eventually("its log comes here") { daemon.errors.contains("the log goes to ") }
            let before = daemon.errors
            try await eventually("it has appeared") { (try? await bridge.status()) != nil }
            try await bridge.deactivate()
            try await eventually("its line is here") { messages.has("btcalld", "inactive") }
            #expect(messages.all.first { $0.text == "inactive" }?.level == .notice)
            // A second bridge of the process does not double the lines.
            let other = try await daemon.bridge()
            try await other.activate()
            try await eventually("its line is here") { messages.has("btcalld", "active") }
            try await bridge.deactivate()
            try await eventually("it is inactive again") { messages.all.count { $0.text == "inactive" } >= 2 }
            #expect(messages.all.count { $0.text == "active" } == 1)
            #expect(daemon.errors == before)
            // The older bridge delivered the lines; now the other one does.
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
            try await eventually("the line is logged") { daemon.errors.hasSuffix("notice btcalld: inactive\n") }
            #expect(messages.all.count == last)
            await other.close()
            try await daemon.stop()
        }

        @Test func `When a program that reads the log dies the daemon logs to standard error again`() async throws {
            let daemon = try await DaemonProcess()
            try await daemon.start()
            let bridge = try await daemon.bridge()
            try await eventually("it has appeared") { (try? await bridge.status()) != nil }
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
            try await eventually("the daemon has noticed it") { daemon.errors.contains("no longer goes to") }
            try await bridge.activate()
            try await eventually("standard error is back") { daemon.errors.hasSuffix("notice btcalld: active\n") }
            await bridge.close()
            try await daemon.stop()
        }

        @Test func `At most eight programs read the log`() async throws {
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
                try await eventually("a place is free again") {
                    await box.error(BTCallPath.manager, interface, BTCallName.Manager.subscribeLog) == nil
                }
                // A reader that writes into its socket or shuts down its direction does no harm.
                let last = held.removeFirst()
                _ = send(last.descriptor, "hello", 5, 0)
                shutdown(last.descriptor, Int32(SHUT_WR))
                try await eventually("it has left") {
                    box.log.containing("no longer goes to").count >= 2
                }
            }
        }
    }
}
