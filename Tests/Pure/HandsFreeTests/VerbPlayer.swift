import BluetoothSockets
import BluetoothTypes
import ControlLoop
import Foundation
import Glibc
import HandsFree
import Telephony
import TestSupport

@testable import BTCallLab

/// Plays a dialogue through `btcall-lab gateway`, as the driver and the headset at the other ends of real sockets.
///
/// Both sides run on the control loop, so that a step's effects are complete when the sockets are idle.
@ControlPlane
final class VerbPlayer {
    enum Outcome: Sendable {
        case held
        /// The protocol cannot express part of it, or it takes too long in real time.
        case notPlayed(String)
        case mismatch(String)
    }

    private struct Stop: Error {
        let outcome: Outcome
    }

    private static let longestWait = Duration.milliseconds(6500)

    private let dialogue: Dialogue
    private let steps: [Dialogue.Step]
    private let folder: String
    private let control: RFCOMMChannel
    private let listener: Int32
    private var headset: RFCOMMChannel?
    private var heard: [UInt8] = []
    private var told: [UInt8] = []
    private var request: Int?
    private var audioRequest: (id: Int, codec: String)?
    private var isEstablished = false
    private var got: [Dialogue.Output] = []

    static func play(_ dialogue: Dialogue) async -> Outcome {
        do {
            let player = try VerbPlayer(dialogue)
            defer { player.close() }
            let bench = try player.startBench()
            let ending = Task { @ControlPlane in await bench.run() }
            try await player.play()
            player.say(#"{"op":"quit"}"#)
            guard await ending.value == .done else { return .mismatch("\(dialogue.name): ended with an error") }
            return .held
        } catch let stop as Stop {
            return stop.outcome
        } catch let error as VerbWords.Unspeakable {
            return .notPlayed(error.description)
        } catch {
            return .mismatch("\(dialogue.name): \(error)")
        }
    }

    private var gatewayEnd: Int32

    private init(_ dialogue: Dialogue) throws {
        self.dialogue = dialogue
        steps = try Self.merged(dialogue)
        folder = NSTemporaryDirectory() + "btcall-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw SystemError("socketpair") }
        gatewayEnd = ends[1]
        control = try RFCOMMChannel(descriptor: ends[0], outputLimit: 1 << 24)
        listener = try UnixListener.open(folder + "/0", isBlocking: false)
        control.onBytes = { [unowned self] in self.told += $0 }
    }

    private func close() {
        control.close()
        headset?.close()
        Glibc.close(listener)
        // Nothing depends on it.
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func startBench() throws -> GatewayBench {
        try GatewayBench(control: gatewayEnd)
    }

    // MARK: - The dialogue

    /// A tone has no reply in the protocol: the actions after its `done` arrive with the tone.
    private static func merged(_ dialogue: Dialogue) throws -> [Dialogue.Step] {
        var steps: [Dialogue.Step] = []
        var isToneDue = false
        var total = Duration.zero
        for step in dialogue.steps {
            if isToneDue {
                guard case .completed(.done)? = step.input, !steps.isEmpty else {
                    throw notPlayed("a tone that is refused")
                }
                steps[steps.count - 1].outputs += step.outputs
            } else {
                steps.append(step)
            }
            isToneDue = step.outputs.contains { $0.kind == .request && $0.text.hasPrefix("dtmf") }
            guard case .wait(let duration)? = step.input else { continue }
            total += duration
            guard duration >= .milliseconds(50), duration.components.attoseconds % 50_000_000_000_000_000 == 0 else {
                throw notPlayed("a wait to the millisecond")
            }
        }
        guard total <= longestWait else { throw notPlayed("waits of \(total)") }
        return steps
    }

    private static func notPlayed(_ why: String) -> Stop { Stop(outcome: .notPlayed(why)) }

    private func play() async throws {
        say(#"{"op":"configure","ag":\#(try VerbWords.configuration(dialogue))}"#)
        try await connect()
        if steps.first?.input != nil { try await compare(nil) }
        for step in steps {
            if let input = step.input { try await perform(input) }
            try await compare(step)
        }
    }

    private func connect() async throws {
        say(#"{"op":"link_up","link":0,"path":"\#(folder)/0"}"#)
        await settle()
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { throw SystemError("accept") }
        let channel = try RFCOMMChannel(descriptor: descriptor, outputLimit: 1 << 24)
        channel.onBytes = { [unowned self] in self.heard += $0 }
        channel.onClosed = { [unowned self] _ in
            self.note(.close, "")
            self.headset = nil
        }
        headset = channel
        await settle()
    }

    private func perform(_ input: Dialogue.Input) async throws {
        switch input {
        case .bytes(let bytes): headset?.write(bytes)
        case .calls(let calls): say(#"{"op":"calls","swapped":false,"calls":\#(try VerbWords.table(calls))}"#)
        case .completed(let outcome):
            guard let id = request else { throw Self.notPlayed("no request is pending") }
            request = nil
            switch outcome {
            case .done: say(#"{"op":"reply","id":\#(id),"ok":true}"#)
            case .failed(let error): say(#"{"op":"reply","id":\#(id),"ok":false,"cme":\#(error.code)}"#)
            }
        case .audioOpened(let codec):
            // A link of the headset is open as soon as it is accepted.
            guard let pending = audioRequest else { break }
            guard pending.codec == codec.word else { throw Self.notPlayed("a link with another codec") }
            audioRequest = nil
            say(#"{"op":"reply","id":\#(pending.id),"ok":true}"#)
        case .audioFailed(let failure):
            guard let pending = audioRequest else { throw Self.notPlayed("a link that was accepted and fails") }
            guard failure == .refused || failure == .failed else { throw Self.notPlayed("failure \(failure)") }
            audioRequest = nil
            say(#"{"op":"reply","id":\#(pending.id),"ok":false}"#)
        case .wait(let duration): await ControlLoop.shared.sleep(for: duration)
        case .serviceLevelConnection(let features, let codecs): try await connect(features, codecs)
        case .reconnect:
            headset?.close()
            headset = nil
            request = nil
            audioRequest = nil
            let limit = ControlLoop.now.advanced(by: .seconds(5))
            repeat {
                await settle()
                handleAll()
            } while isEstablished && ControlLoop.now < limit
            // The driver ends the audio link: in the dialogues it ends with the headset.
            got = got.filter { $0.kind != .link }
            heard = []
            say(#"{"op":"event","link":0,"event":\#(try VerbWords.network(dialogue))}"#)
            try await connect()
        case .indicator, .speakerVolume, .microphoneVolume, .inbandRing, .voiceRecognition, .hfIndicator, .audioWanted,
            .audioUnwanted, .audioClosed, .audioIncoming, .virtualCall, .reconfigured:
            guard let event = VerbWords.event(input) else { throw Self.notPlayed("\(input)") }
            say(#"{"op":"event","link":0,"event":\#(event)}"#)
        }
        await settle()
    }

    private func connect(_ features: String, _ codecs: String?) async throws {
        let lines =
            ["AT+BRSF=\(features)"] + (codecs.map { ["AT+BAC=\($0)"] } ?? [])
            + [
                "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?", "AT+BIND=1,2", "AT+BIND=?", "AT+BIND?",
                "AT+CLIP=1", "AT+CCWA=1",
            ]
        for line in lines { headset?.write(Array("\(line)\r".utf8)) }
        await settle()
        handleAll()
        got = []
        guard isEstablished else { throw Stop(outcome: .mismatch("\(dialogue.name): no service level connection")) }
    }

    // MARK: - Sockets

    private func say(_ message: String) {
        control.write(Array((message + "\n").utf8))
    }

    /// Until both sides have read everything.
    private func settle() async {
        repeat {
            await ControlLoop.shared.sleep(for: .zero)
        } while [control, headset].contains { $0.map(Self.isBusy) == true }
    }

    private static func isBusy(_ channel: RFCOMMChannel) -> Bool {
        guard channel.isOpen else { return false }
        var unread: Int32 = 0
        var unsent: Int32 = 0
        _ = ioctl(channel.descriptor, UInt(FIONREAD), &unread)
        _ = ioctl(channel.descriptor, UInt(TIOCOUTQ), &unsent)
        return unread > 0 || unsent > 0 || channel.pendingBytes > 0
    }

    private func note(_ kind: Dialogue.Output.Kind, _ text: String) {
        got.append(Dialogue.Output(kind: kind, text: text))
    }

    private func handleAll() {
        let lines = String(decoding: heard, as: UTF8.self).components(separatedBy: "\r\n")
        heard = Array((lines.last ?? "").utf8)
        for line in lines.dropLast() where !line.isEmpty { note(.gateway, line) }
        let messages = String(decoding: told, as: UTF8.self).components(separatedBy: "\n")
        told = Array((messages.last ?? "").utf8)
        for message in messages.dropLast() { handle(message) }
    }

    private func handle(_ message: String) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(message.utf8)) as? [String: Any],
            let output = VerbWords.output(object)
        else {
            return note(.fault, message)
        }
        switch (object["op"] as? String, object["kind"] as? String) {
        case ("slc", _):
            isEstablished = object["up"] as? Bool == true
            if !isEstablished { return }
        case ("request", "sco_connect"):
            audioRequest = (object["id"] as? Int ?? 0, object["codec"] as? String ?? "")
        case ("request", _): request = object["id"] as? Int
        default: break
        }
        got.append(output)
    }

    // MARK: - Comparison

    /// Lines, requests and events each in their order, because they arrive on two sockets.
    private func compare(_ step: Dialogue.Step?) async throws {
        let expected = try (step?.outputs ?? []).compactMap { output throws(Stop) in
            guard output.kind != .fault else { throw Self.notPlayed("a fault") }
            return VerbWords.expected(output)
        }
        let limit = ControlLoop.now.advanced(by: .seconds(5))
        handleAll()
        while got.count < expected.count, ControlLoop.now < limit {
            await ControlLoop.shared.sleep(for: .milliseconds(5))
            await settle()
            handleAll()
        }
        defer { got = [] }
        if isSame(expected, got) { return }
        func list(_ outputs: [Dialogue.Output]) -> String { outputs.map { "\n    \($0)" }.joined() }
        throw Stop(
            outcome: .mismatch(
                """
                \(dialogue.file):\(step?.line ?? dialogue.line): \(step?.text ?? "(start)")
                  expected\(list(expected))
                  came\(list(got))
                """))
    }

    private func isSame(_ expected: [Dialogue.Output], _ got: [Dialogue.Output]) -> Bool {
        func part(_ outputs: [Dialogue.Output], _ kinds: Set<Dialogue.Output.Kind>) -> [Dialogue.Output] {
            outputs.filter { kinds.contains($0.kind) }
        }
        for kinds: Set<Dialogue.Output.Kind> in [[.gateway, .close], [.request, .link, .fault]] {
            let (wanted, came) = (part(expected, kinds), part(got, kinds))
            guard wanted.count == came.count, zip(wanted, came).allSatisfy({ $0.describes($1) }) else { return false }
        }
        let (wanted, came) = (part(expected, [.event]), part(got, [.event]))
        guard !dialogue.comparesAllEvents else {
            return wanted.count == came.count && zip(wanted, came).allSatisfy { $0.describes($1) }
        }
        var rest = came[...]
        for event in wanted {
            guard let index = rest.firstIndex(where: { event.describes($0) }) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }
}
