import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import CallControl
import Configuration
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// Access rights on a bus with the shipped policy file.
    @Suite(.enabled(if: OtherUser.canBe, OtherUser.condition)) @ControlPlane struct AccessTests {
        /// Interfaces that the daemon offers, each with an object that has it.
        private static let interfaces = [
            (BTCallName.Interface.manager, BTCallPath.manager), (BTCallName.Interface.pairing, BTCallPath.manager),
            (BTCallName.Interface.router, BTCallPath.router), (BTCallName.Interface.session, BTCallPath.session),
            (BTCallName.Interface.audio, BTCallPath.audio), (BTCallName.Interface.calls, BTCallPath.calls),
            (BTCallName.Interface.call, BTCallPath.calls + "/one"),
            (BTCallName.Interface.headset, BTCallPath.headsets + "/one"),
        ]
        /// Interfaces that programs offer; the daemon has none of them.
        private static let foreign: Set = [
            BTCallName.Interface.callProvider, BTCallName.Interface.contactResolver,
            BTCallName.Interface.audioConfigurator, BTCallName.Interface.video,
        ]
        private static let properties = "org.freedesktop.DBus.Properties"

        /// A bus to which every user may connect, with the shipped policy.
        ///
        /// - Parameter group: the group with full access, in place of `btcall`, which does not exist while tests run.
        private func run(
            group: String = "btcall", body: (Box) async throws -> Void
        ) async throws {
            let file = try String(
                contentsOf: InterfaceFile.directory.appending(path: "org.btcall.conf"), encoding: .utf8)
            let start = try #require(file.range(of: "<busconfig>")).upperBound
            let end = try #require(file.range(of: "</busconfig>")).lowerBound
            let policies = String(file[start..<end]).replacing("group=\"btcall\"", with: "group=\"\(group)\"")
            try await Box.run(
                rules: "<allow user=\"*\"/>", policies: policies,
                configure: { $0.group = group }, body: body)
        }

        /// The paragraph of a page about one member: from its heading to the next one.
        private static func paragraph(_ member: String, _ page: String) -> String? {
            let headings = ["\n`\(member)` `(", "\n### `\(member)("]
            guard let start = headings.compactMap({ page.range(of: $0) }).first else { return nil }
            let rest = page[start.upperBound...]
            let ends = ["\n`", "\n#"].compactMap { rest.range(of: $0)?.lowerBound }
            return String(rest[..<(ends.min() ?? rest.endIndex)])
        }

        @Test func `Every member has the access that its page says: each is called as another user`() async throws {
            try await run { box in
                var calls: [[String]] = []
                var expected: [(member: String, isOpen: Bool)] = []
                let files = try FileManager.default.contentsOfDirectory(atPath: InterfaceFile.directory.path())
                let names = Set(files.filter { $0.hasSuffix(".xml") }.map { String($0.dropLast(4)) })
                #expect(names == Set(Self.interfaces.map(\.0)).union(Self.foreign))
                for (interface, path) in Self.interfaces {
                    let page = try String(
                        contentsOf: InterfaceFile.directory.appending(path: "\(interface).md"), encoding: .utf8)
                    let file = try InterfaceFile(interface)
                    for method in file.methods.keys.sorted() {
                        let paragraph = try #require(Self.paragraph(method, page), "\(interface).\(method)")
                        calls.append([path, "\(interface).\(method)"])
                        let words = paragraph.replacing("\n  ", with: " ")
                        expected.append(("\(interface).\(method)", words.contains("Everybody may ask.")))
                    }
                    calls.append([path, "\(Self.properties).GetAll", "string:\(interface)"])
                    expected.append(("GetAll \(interface)", true))
                    for property in file.properties.keys.sorted() {
                        calls.append([path, "\(Self.properties).Get", "string:\(interface)", "string:\(property)"])
                        expected.append(("Get \(interface).\(property)", true))
                        calls.append([
                            path, "\(Self.properties).Set", "string:\(interface)", "string:\(property)",
                            "variant:boolean:true",
                        ])
                        expected.append(("Set \(interface).\(property)", false))
                    }
                }
                for member in ["Introspectable.Introspect", "Peer.Ping", "ObjectManager.GetManagedObjects"] {
                    calls.append([BTCallPath.manager, "org.freedesktop.DBus.\(member)"])
                    expected.append((member, true))
                }
                let answers = try await OtherUser.nobody(box.address)(calls)
                for (answer, (member, isOpen)) in zip(answers, expected) {
                    #expect(answer.isDenied != isOpen, "\(member): \(answer.text)")
                }
                #expect(expected.count { $0.isOpen && !$0.member.contains(" ") } == 8, "\(expected)")
            }
        }

        @Test func `A member of the group may do everything`() async throws {
            try await run(group: "daemon") { box in
                let member = try OtherUser.daemon(box.address)
                var calls: [[String]] = []
                for (interface, path) in Self.interfaces {
                    calls += try InterfaceFile(interface).methods.keys.sorted().map { [path, "\(interface).\($0)"] }
                }
                // Most calls without arguments are refused, by the daemon and for their arguments.
                for (call, answer) in zip(calls, try await member(calls)) {
                    #expect(!answer.isDenied, "\(call): \(answer.text)")
                }
            }
        }

        /// Calls of a user that would reveal the other party of a call.
        private func questions(_ call: String) -> [[String]] {
            let interface = "string:\(BTCallName.Interface.call)"
            return [
                [BTCallPath.manager, "org.freedesktop.DBus.ObjectManager.GetManagedObjects"],
                [call, "\(Self.properties).GetAll", interface], [call, "\(Self.properties).GetAll", "string:"],
                [call, "\(Self.properties).Get", interface, "string:Number"],
                [call, "\(Self.properties).Get", interface, "string:Name"],
                [call, "\(Self.properties).Get", interface, "string:Handle"],
                [call, "\(Self.properties).Get", interface, "string:RemoteAddress"],
                [call, "\(Self.properties).Get", interface, "string:Contact"],
                [BTCallPath.calls, "\(BTCallName.Interface.calls).Log", "uint32:0"],
            ]
        }

        private func isTelling(_ answer: OtherUser.Answer) -> Bool {
            answer.text.contains("5550100") || answer.text.contains("Gate")
        }

        @Test func `Others see that a call exists but not the other party, unless callers = everybody`() async throws {
            try await run { box in
                let registration = try await box.register()
                let past = try await registration.reportIncoming(number: "5550100", name: "Gate")
                try await registration.update(past, .ended)
                _ = try await registration.reportIncoming(number: "5550100", name: "Gate")
                let call = try #require(box.daemon.calls.calls.first).path
                let nobody = OtherUser.nobody(box.address)
                let answers = try await nobody(questions(call))
                for (question, answer) in zip(questions(call), answers) {
                    #expect(!isTelling(answer), "\(question): \(answer.text)")
                }
                // The existence and the state of the call are visible.
                #expect(answers[0].text.contains(call))
                #expect(answers[1].text.contains("ringing"))
                #expect(!answers[1].isError)
                #expect(answers[3].isDenied && answers[3].text.contains("privacy"))
                // This process is root and sees it, through the library as well.
                #expect(try await box.bridge.calls.list().map(\.number) == ["5550100"])
                #expect(try await box.bridge.calls.list().map(\.name) == ["Gate"])
                try await box.bridge.setSetting("privacy.callers", to: "everybody")
                for (question, answer) in zip(questions(call), try await nobody(questions(call))).prefix(7) {
                    #expect(isTelling(answer), "\(question): \(answer.text)")
                }
                try await box.bridge.setSetting("privacy.callers", to: "group")
                let answer = try await nobody(call, "\(Self.properties).GetAll", "string:")
                #expect(!isTelling(answer) && answer.text.contains("ringing"), "\(answer.text)")
            }
        }

        @Test func `A member of the group sees the other party of a call`() async throws {
            try await run(group: "daemon") { box in
                let registration = try await box.register()
                _ = try await registration.reportIncoming(number: "5550100", name: "Gate")
                let call = try #require(box.daemon.calls.calls.first).path
                let member = try OtherUser.daemon(box.address)
                for (question, answer) in zip(questions(call), try await member(questions(call))).prefix(7) {
                    #expect(isTelling(answer), "\(question): \(answer.text)")
                }
                let nobody = OtherUser.nobody(box.address)
                let answer = try await nobody(call, "\(Self.properties).GetAll", "string:")
                #expect(!isTelling(answer) && answer.text.contains("ringing"), "\(answer.text)")
            }
        }
    }

    /// Signals that go to everybody on the bus.
    @Suite @ControlPlane struct CallerSignalTests {
        /// Every signal of the daemon about calls.
        @ControlPlane
        private final class Listener {
            private(set) var signals: [BusSignal] = []
            private var subscription: Subscription?

            init(_ bus: BusConnection) async throws {
                subscription = bus.subscribe(sender: BTCallName.bus) { [weak self] in self?.signals.append($0) }
                _ = try await bus.owner(of: BTCallName.bus)
            }

            var text: String { signals.map { "\($0.member) \($0.arguments)" }.joined(separator: "\n") }

            func close() { subscription?.cancel() }
        }

        private func call(_ box: Box, _ listener: Listener) async throws {
            let registration = try await box.register()
            let call = try await registration.reportIncoming(number: "5550100", name: "Gate")
            try await registration.update(call, .active)
            try await registration.update(call, .ended)
            try await eventually("it has ended") { listener.signals.contains { $0.member == "CallRemoved" } }
        }

        @Test func `No signal names the other party of a call, and all signals still arrive`() async throws {
            try await Box.run { box in
                let listener = try await Listener(box.client)
                try await call(box, listener)
                #expect(!listener.text.contains("5550100") && !listener.text.contains("Gate"), "\(listener.text)")
                for member in ["InterfacesAdded", "CallAdded", "IncomingCall", "StateChanged", "CallRemoved"] {
                    #expect(listener.signals.contains { $0.member == member }, "\(member)")
                }
                let added = try #require(listener.signals.first { $0.member == "CallAdded" })
                #expect(added.arguments[1]["State"] == .string("ringing"))
                #expect(added.arguments[1]["Number"] == nil)
                listener.close()
            }
        }

        @Test func `With callers = everybody signals have all properties`() async throws {
            try await Box.run(
                configure: { $0.callers = .everybody },
                body: { box in
                    let listener = try await Listener(box.client)
                    try await call(box, listener)
                    for member in ["InterfacesAdded", "CallAdded", "IncomingCall", "PropertiesChanged"] {
                        #expect(
                            listener.signals.contains { $0.member == member && "\($0.arguments)".contains("5550100") },
                            "\(member)")
                    }
                    listener.close()
                })
        }

        @Test func `A late name is signalled without its value, so that permitted clients can ask for it`() async throws
        {
            try await Box.run(
                configure: { $0.timeouts.contact = .milliseconds(20) },
                body: { box in
                    let (open, gate) = AsyncStream.makeStream(of: Void.self)
                    let resolution = try await box.bridge.resolveContacts { _ in
                        for await _ in open {}
                        return "Gate"
                    }
                    let registration = try await box.register()
                    let listener = try await Listener(box.client)
                    _ = try await registration.reportIncoming(number: "5550100")
                    gate.finish()
                    try await eventually("the name is signalled") {
                        listener.signals.contains {
                            $0.member == "PropertiesChanged"
                                && $0.arguments.last == .strings([BTCallName.Call.contact, BTCallName.Call.name])
                        }
                    }
                    #expect(!listener.text.contains("Gate"))
                    #expect(try await box.bridge.calls.list().map(\.name) == ["Gate"])
                    try await resolution.end()
                    listener.close()
                })
        }

        @Test func `The library announces a call with its other party, in the order of events`() async throws {
            try await Box.run { box in
                let events = await box.bridge.events()
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "5550100", name: "Gate")
                try await registration.update(call, .active)
                try await registration.update(call, .ended)
                var seen: [String] = []
                for await event in events {
                    switch event {
                    case .callAdded(let added): seen.append("added \(added.number ?? "") \(added.name ?? "")")
                    case .incomingCall(let added): seen.append("incoming \(added.handle ?? "") \(added.state)")
                    case .callStateChanged(_, let state, _): seen.append("\(state)")
                    case .callRemoved: seen.append("removed")
                    default: break
                    }
                    if seen.last == "removed" { break }
                }
                #expect(
                    seen == ["added 5550100 Gate", "incoming tel:5550100 ringing", "active", "ended", "removed"])
            }
        }
    }
}
