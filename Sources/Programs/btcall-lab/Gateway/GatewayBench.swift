import BluetoothSockets
import BluetoothTypes
import ControlLoop
import HandsFree
import JSONText
import Telephony

/// `btcall-lab gateway`: obeys a driver, and has one ``GatewayLink`` for each headset.
@ControlPlane
final class GatewayBench {
    enum Ending: Hashable, Sendable {
        /// The driver ended it, has gone, or was told that the gateway is not supported.
        case done
        /// A message is invalid; the text says why.
        case malformed(String)
    }

    /// A longer line is not a message.
    static let lineLimit = 1 << 20
    /// Most bytes queued for a driver that does not read.
    private static let outputLimit = 1 << 22

    private let control: RFCOMMChannel
    private var line: [UInt8] = []
    private var lineNumber = 0
    private var ending: Ending?
    private var waiter: CheckedContinuation<Ending, Never>?

    /// Nil before `configure`. Changes that apply to all headsets are made here, too, for later headsets.
    private var configuration: AudioGatewayConfiguration?
    private var calls = CallSnapshot.empty
    /// The +CLCC index of each call.
    private var indices: [CallID: Int] = [:]
    private var startedAt: [CallID: Instant] = [:]
    private var links: [Int: GatewayLink] = [:]
    /// Codecs learnt about each headset in earlier connections.
    private var memories: [Int: CodecMemory] = [:]
    private var lastID = 0

    /// - Parameter descriptor: the control connection; ownership passes.
    init(control descriptor: Int32) throws(SystemError) {
        control = try RFCOMMChannel(descriptor: descriptor, outputLimit: Self.outputLimit)
        control.onBytes = { [weak self] bytes in self?.received(bytes) }
        control.onClosed = { [weak self] reason in
            self?.end(
                reason == .outputOverflow
                    ? .malformed("the driver reads nothing: \(Self.outputLimit) bytes wait") : .done)
        }
    }

    /// Runs until the end; all messages have been sent then.
    func run() async -> Ending {
        let ending: Ending
        if let already = self.ending {
            ending = already
        } else {
            ending = await withCheckedContinuation { waiter = $0 }
        }
        let limit = ControlLoop.now.advanced(by: .seconds(2))
        while control.isOpen, control.pendingBytes > 0, ControlLoop.now < limit {
            await ControlLoop.shared.sleep(for: .milliseconds(2))
        }
        control.close()
        return ending
    }

    private func end(_ ending: Ending) {
        guard self.ending == nil else { return }
        self.ending = ending
        // Nobody reads further messages of the links.
        for link in links.sorted(by: { $0.key < $1.key }).map(\.value) { link.end(.ourselves) }
        waiter?.resume(returning: ending)
        waiter = nil
    }

    private func report(_ report: GatewayReport) {
        guard ending == nil else { return }
        control.write(Array(report.line.utf8))
    }

    // MARK: Messages

    private func received(_ bytes: [UInt8]) {
        for byte in bytes {
            guard ending == nil else { return }
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                if line.count > Self.lineLimit {
                    end(.malformed("message \(lineNumber + 1): longer than \(Self.lineLimit) bytes"))
                }
                continue
            }
            lineNumber += 1
            let message = line
            line = []
            if message.contains(where: { $0 > 0x20 }) { handle(message) }
        }
    }

    private func handle(_ line: [UInt8]) {
        do throws(MessageRefusal) {
            try handle(try GatewayMessage(line: line))
        } catch {
            switch error {
            case .malformed(let why): end(.malformed("message \(lineNumber): \(why)"))
            case .unsupported(let why):
                report(.unsupported(why))
                end(.done)
            }
        }
    }

    private func handle(_ message: GatewayMessage) throws(MessageRefusal) {
        switch message {
        case .quit: return end(.done)
        case .configure(let setup):
            guard configuration == nil else { throw .malformed("\"op\": configure comes once") }
            configuration = setup.configuration
            update(setup.calls)
            return
        case .linkUp, .calls, .event, .reply: break
        }
        guard configuration != nil else { throw .malformed("\"op\": configure comes first") }
        switch message {
        case .linkUp(let number, let path): try open(number, path)
        case .calls(let table, let isSwapped):
            update(table)
            for (_, link) in links.sorted(by: { $0.key < $1.key }) {
                link.callsChanged(calls, isSwapped: isSwapped)
            }
        case .event(let number, let event):
            remember(event)
            links[number]?.happened(event)
        case .reply(let id, let outcome):
            // An answer to an unknown request changes nothing.
            _ = links.values.first { $0.replied(id, outcome) }
        case .quit, .configure: break
        }
    }

    /// Keeps the box's state for headsets that connect later.
    private func remember(_ event: GatewayMessage.Event) {
        switch event {
        case .indicators(let values):
            for (indicator, value) in values { configuration?.indicators[indicator] = value }
        case .inbandRing(let isOn): configuration?.inbandRing = isOn
        case .hfIndicator(let id, let isOn):
            guard let indicator = HFIndicator(rawValue: id), configuration?.hfIndicators[indicator] != nil else {
                return
            }
            configuration?.hfIndicators[indicator] = isOn
        case .audioWanted, .audioIncoming, .audioClosed, .linkLost, .volume, .voiceRecognition: break
        }
    }

    // MARK: Calls

    /// Calls keep their index; a call whose id is not in 1…7 gets the lowest free one.
    private func update(_ table: [GatewayCall]) {
        let ids = Set(table.map(\.id))
        indices = indices.filter { ids.contains($0.key) }
        for call in table where indices[call.id] == nil && (1...7).contains(call.id.value) {
            let index = Int(call.id.value)
            if !indices.values.contains(index) { indices[call.id] = index }
        }
        for call in table where indices[call.id] == nil {
            indices[call.id] = (1...).first { index in !indices.values.contains(index) }
        }
        calls = CallSnapshot(
            table.map { call in
                Call(
                    id: call.id, provider: "driver", direction: call.direction, state: call.state,
                    details: call.details, index: indices[call.id] ?? 1, isConference: call.isConference)
            })
        startedAt = startedAt.filter { ids.contains($0.key) }
        let now = ControlLoop.now
        for call in table where call.state == .active || call.state == .held {
            startedAt[call.id] = startedAt[call.id] ?? now
        }
    }

    // MARK: Links

    private func open(_ number: Int, _ path: String) throws(MessageRefusal) {
        // The headset reconnects before its end was noticed.
        links[number]?.end(.peer)
        guard var configuration else { return }
        configuration.codecMemory = memories[number] ?? CodecMemory()
        do throws(SystemError) {
            let link = try GatewayLink(
                number: number, descriptor: try UnixStream.connect(path),
                gateway: AudioGateway(configuration: configuration, calls: calls, startedAt: startedAt),
                environment: GatewayLink.Environment(
                    report: { [weak self] report in self?.report(report) },
                    nextID: { [weak self] in self?.nextID() ?? 0 },
                    dialed: { [weak self] in self?.dialed($0) },
                    ended: { [weak self] in self?.ended(number) }))
            links[number] = link
            link.start()
        } catch {
            throw .malformed("link_up: nobody listens at \"\(path)\": \(error)")
        }
    }

    private func ended(_ number: Int) {
        memories[number] = links.removeValue(forKey: number)?.codecMemory
    }

    private func nextID() -> Int {
        lastID += 1
        return lastID
    }

    /// Keeps the last dialled number, which belongs to the box.
    private func dialed(_ number: String) {
        configuration?.lastDialed = number
        for link in links.values { link.setLastDialed(number) }
    }
}
