import BluetoothTypes
import HandsFree
import Talk
import TalkWords

/// Readers, keys and one floor, joined as the daemon joins them; bytes and time go in, what the floor does comes out.
struct TalkPlayer {
    /// A device of a dialogue.
    private struct Device {
        let id: TalkKeyID
        var key: TalkKey
        var at = ATTalkReader()
        var link = LinkTalkReader()
        var serial: SerialTalkReader?
        var notification: NotificationTalkReader?
        var deadline: Instant?
    }

    private var devices: [String: Device] = [:]
    private var names: [String] = []
    private(set) var floor: TalkFloor
    private var floorDeadline: Instant?
    private var now = Instant(milliseconds: 1000)
    private var lastRequest: UInt32 = 0
    private var outputs: [String] = []
    /// Bytes of serial ports go in one by one.
    private let isSplit: Bool

    init(_ dialogue: TalkDialogue, isSplit: Bool = false) throws {
        self.isSplit = isSplit
        floor = TalkFloor(dialogue.settings)
        for (name, words) in dialogue.devices {
            devices[name] = try Self.device(name, words, limit: dialogue.settings.limit)
            names.append(name)
        }
    }

    private static func device(_ name: String, _ words: [String], limit: Duration) throws -> Device {
        func patterns(_ word: String) -> [TalkPattern] {
            word == "-" ? [] : word.split(separator: ",").compactMap { TalkPattern(String($0)) }
        }
        let key = TalkKey(limit: limit)
        switch (words.first, words.count) {
        case ("board", 1): return Device(id: TalkKeyID(.board, name), key: key)
        case ("application", 1): return Device(id: TalkKeyID(.application, name), key: key)
        case ("at", 1), ("link", 1): return Device(id: TalkKeyID(.headset, name), key: key)
        case ("at", 3):
            var device = Device(id: TalkKeyID(.headset, name), key: key)
            device.at = ATTalkReader(
                press: [ATTalkPattern(words[1])].compactMap { $0 }, release: [ATTalkPattern(words[2])].compactMap { $0 }
            )
            return device
        case ("serial", 3):
            var device = Device(id: TalkKeyID(.button, name), key: key)
            device.serial = SerialTalkReader(press: patterns(words[1]), release: patterns(words[2]))
            return device
        case ("notification", 3):
            var device = Device(id: TalkKeyID(.button, name), key: key)
            device.notification = NotificationTalkReader(press: patterns(words[1]), release: patterns(words[2]))
            return device
        default: throw TalkDialogue.Mistake(description: "there is no device \(words)")
        }
    }

    /// Performs one step.
    ///
    /// - Returns: what the floor did, in words.
    mutating func play(_ step: TalkDialogue.Step) throws -> [String] {
        outputs = []
        let words = step.input
        func mistake() -> TalkDialogue.Mistake { .init(description: "line \(step.line): not understood: \(words)") }
        switch (words.first, words.dropFirst().first) {
        case ("call", "begins"): perform(floor.callBecameActive(at: now))
        case ("call", "ends"): perform(floor.callLeft(at: now))
        case ("granted", _): perform(floor.permissionAnswered(lastRequest, isGranted: true, at: now))
        case ("refused", _): perform(floor.permissionAnswered(lastRequest, isGranted: false, at: now))
        case ("revoked", _): perform(floor.revoked(at: now))
        case ("wait", let time?):
            guard let milliseconds = Int64(time) else { throw mistake() }
            wait(.milliseconds(milliseconds))
        case ("settings", _):
            var settings = floor.settings
            guard TalkDialogue.set(Array(words.dropFirst()), in: &settings) else { throw mistake() }
            perform(floor.configure(settings, at: now))
        case (let name?, _):
            guard devices[name] != nil else { throw mistake() }
            try play(Array(words.dropFirst()), at: name)
        case (nil, _): throw mistake()
        }
        return outputs
    }

    private mutating func play(_ words: [String], at name: String) throws {
        let mistake = TalkDialogue.Mistake(description: "\(name): not understood: \(words)")
        switch words.first {
        case "connects": perform(devices[name]?.key.appeared() ?? [], of: name)
        case "vanishes":
            devices[name]?.serial?.reset()
            devices[name]?.link = LinkTalkReader()
            perform(devices[name]?.key.vanished() ?? [], of: name)
        case "down": signal([.pressed], of: name)
        case "up": signal([.released], of: name)
        case "opens": signal([devices[name]?.link.opened(byHeadset: true)].compactMap { $0 }, of: name)
        case "opened": signal([devices[name]?.link.opened(byHeadset: false)].compactMap { $0 }, of: name)
        case "closes": signal([devices[name]?.link.closed()].compactMap { $0 }, of: name)
        case "sends":
            guard let event = Self.event(Array(words.dropFirst())) else { throw mistake }
            signal([devices[name]?.at.read(event)].compactMap { $0 }, of: name)
        case "bytes":
            for piece in isSplit ? Self.bytes(words).map({ [$0] }) : [Self.bytes(words)] {
                signal(devices[name]?.serial?.read(piece) ?? [], of: name)
            }
        case "notifies": signal([devices[name]?.notification?.read(Self.bytes(words))].compactMap { $0 }, of: name)
        case "floods":
            for _ in 0..<(Int(words.last ?? "") ?? 0) { signal([.pressed, .released], of: name) }
        default: throw mistake
        }
    }

    /// `talk 1`, `key`, `vr 0`, `event SOS 1`
    private static func event(_ words: [String]) -> AudioGateway.Event? {
        switch words.first {
        case "talk": .talkKey(words.last == "1")
        case "key": .button(.callKey)
        case "vr": .voiceRecognition(words.last == "1")
        case "event": .vendor(AudioGateway.VendorReport(words[1], Array(words.dropFirst(2))))
        default: nil
        }
    }

    /// Hexadecimal after `0x`, else text, in which `\r` and `\n` are line ends.
    private static func bytes(_ words: [String]) -> [UInt8] {
        words.dropFirst().flatMap { word in
            guard word.hasPrefix("0x") else {
                return Array(word.replacing("\\r", with: "\r").replacing("\\n", with: "\n").utf8)
            }
            let digits = Array(word.dropFirst(2))
            return stride(from: 0, to: digits.count, by: 2).compactMap { index in
                UInt8(String(digits[index..<min(index + 2, digits.count)]), radix: 16)
            }
        }
    }

    private mutating func signal(_ signals: [TalkSignal], of name: String) {
        for signal in signals { perform(devices[name]?.key.signal(signal, at: now) ?? [], of: name) }
    }

    private mutating func wait(_ duration: Duration) {
        let end = now.advanced(by: duration)
        while true {
            let due = ([floorDeadline] + names.map { devices[$0]?.deadline }).compactMap { $0 }.min()
            guard let due, due <= end else { break }
            now = max(now, due)
            if let time = floorDeadline, time <= now {
                floorDeadline = nil
                perform(floor.deadlineReached(at: now))
            }
            for name in names {
                guard let time = devices[name]?.deadline, time <= now else { continue }
                devices[name]?.deadline = nil
                perform(devices[name]?.key.deadlineReached(at: now) ?? [], of: name)
            }
        }
        now = end
    }

    private mutating func perform(_ actions: [TalkKey.Action], of name: String) {
        for action in actions {
            switch action {
            case .event(let event):
                guard let id = devices[name]?.id else { continue }
                perform(floor.key(id, event, at: now))
            case .noteFlood: outputs.append("flood of \(name)")
            case .setDeadline(let time): devices[name]?.deadline = time
            }
        }
    }

    private mutating func perform(_ actions: [TalkFloor.Action]) {
        for action in actions {
            switch action {
            case .microphone(let gate): outputs.append("microphone \(gate.rawValue)")
            case .ask(let id):
                lastRequest = id
                outputs.append("ask")
            case .yield: outputs.append("yield")
            case .play(let tone): outputs.append("play \(tone.rawValue)")
            case .link(let isNeeded): outputs.append(isNeeded ? "link needed" : "link not needed")
            case .talking(let talking):
                outputs.append(
                    (["talking", talking.state.rawValue] + (talking.holder.map { [$0.name] } ?? []))
                        .joined(separator: " "))
            case .setDeadline(let time): floorDeadline = time
            }
        }
    }
}
