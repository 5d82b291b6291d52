package import BluetoothTypes
package import ControlLoop

/// A headset's side of the Hands-Free Profile on a byte stream, as a person experiences it: it connects, agrees on codecs,
/// shows calls and has buttons.
///
/// Written from the headset's point of view without any code of the gateway, so that neither repeats the other's mistakes.
@ControlPlane
package final class VirtualHeadset {
    /// Type of the headset.
    package struct Model: Sendable {
        package var address: BluetoothAddress
        package var name: String
        /// Best last, as AT+BAC lists them; without mSBC it does not announce codec negotiation.
        package var codecs: [VoiceCodec]
        /// Charge in per cent, reported by AT+BIEV; nil for none.
        package var battery: Int?

        package init(
            address: BluetoothAddress, name: String, codecs: [VoiceCodec] = [.cvsd, .mSBC], battery: Int? = 80
        ) {
            self.address = address
            self.name = name
            self.codecs = codecs
            self.battery = battery
        }
    }

    package enum Event: Equatable, Sendable {
        case serviceLevelConnectionUp
        case indicator(String, Int)
        case ring
        case callerID(String)
        case codecSelected(VoiceCodec)
        case speakerVolume(Int)
        case microphoneVolume(Int)
        case refused(String)
        case closed
    }

    /// Buttons, in the words of the person.
    package enum Button: String, Sendable {
        case answer = "ATA"
        case hangUp = "AT+CHUP"
        case redial = "AT+BLDN"
        /// Requests the audio connection.
        case transfer = "AT+BCC"
    }

    package let model: Model
    package var onEvent: (@ControlPlane (Event) -> Void)?
    package private(set) var isConnected = false
    /// Values of the gateway's indicators by name.
    package private(set) var indicators: [String: Int] = [:]
    /// All transmitted lines, for transcripts: `> ` sent, `< ` received.
    package private(set) var transcript: [String] = []
    private let stream = DeviceStream()
    private var pending: [String] = []
    private var current: String?
    private var line: [UInt8] = []
    private var indicatorNames: [String] = []
    private var isSilent = false

    package init(_ model: Model) {
        self.model = model
    }

    /// Takes a connected stream (RFCOMM, or one end of a socket pair) and begins the service level connection. The headset
    /// lives until that has ended, even without other references.
    ///
    /// - Parameter descriptor: ownership passes to the headset.
    package func attach(_ descriptor: Int32) throws(SystemError) {
        detach()
        isSilent = false
        try stream.open(
            descriptor, onBytes: { for byte in $0 { self.received(byte) } },
            onClosed: {
                self.detach()
                self.onEvent?(.closed)
            })
        let canNegotiate = model.codecs.contains(.mSBC)
        var commands = ["AT+BRSF=\(canNegotiate ? 0b1_1011_1110 : 0b1_0011_1110)"]
        if canNegotiate { commands.append("AT+BAC=" + model.codecs.map { "\($0.rawValue)" }.joined(separator: ",")) }
        commands += [
            "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?", "AT+BIND=1,2", "AT+BIND=?", "AT+BIND?",
        ]
        for command in commands { enqueue(command) }
    }

    /// Switches off in order: closes the stream.
    package func detach() {
        stream.end()
        pending = []
        current = nil
        line = []
        isConnected = false
    }

    /// Stops silently, as with an empty battery: sends nothing more, and closes nothing.
    package func dieSilently() {
        isSilent = true
        stream.ignore()
    }

    package func press(_ button: Button) { enqueue(button.rawValue) }
    package func setSpeakerVolume(_ volume: Int) { enqueue("AT+VGS=\(volume)") }
    package func setMicrophoneVolume(_ volume: Int) { enqueue("AT+VGM=\(volume)") }
    package func tellBattery(_ percent: Int) { enqueue("AT+BIEV=2,\(percent)") }
    /// Presses or releases the talk key of a speaker microphone that reports it over HFP.
    package func talk(_ isPressed: Bool) { enqueue("AT+XEVENT=TALK,\(isPressed ? 1 : 0)") }
    /// Sends any other command, given without its end of line.
    package func say(_ command: String) { enqueue(command) }

    private func enqueue(_ command: String) {
        guard stream.isOpen, !isSilent else { return }
        pending.append(command)
        sendNext()
    }

    private func sendNext() {
        guard current == nil, !pending.isEmpty else { return }
        let command = pending.removeFirst()
        current = command
        transcript.append("> " + command)
        stream.say(Array((command + "\r").utf8))
    }

    private func received(_ byte: UInt8) {
        guard byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") else {
            line.append(byte)
            return
        }
        guard !line.isEmpty else { return }
        let text = String(decoding: line, as: UTF8.self)
        line = []
        transcript.append("< " + text)
        heard(text)
    }

    private func heard(_ text: String) {
        switch text {
        case "OK": finish()
        case "ERROR":
            onEvent?(.refused(current ?? ""))
            finish()
        case "RING": onEvent?(.ring)
        default:
            guard let colon = text.firstIndex(of: ":") else { return }
            let value = text[text.index(after: colon)...].drop { $0 == " " }
            heard(String(text[..<colon]), String(value))
        }
    }

    private func heard(_ name: String, _ value: String) {
        switch name {
        case "+CME ERROR":
            onEvent?(.refused(current ?? ""))
            finish()
        case "+CIND":
            if value.hasPrefix("(") {
                indicatorNames = value.split(separator: "\"").enumerated().filter { $0.offset % 2 == 1 }.map {
                    String($0.element)
                }
            } else {
                for (indicator, number) in zip(indicatorNames, value.split(separator: ",")) {
                    indicators[indicator] = Int(number)
                }
            }
        case "+CIEV":
            let parts = value.split(separator: ",").compactMap { Int($0) }
            guard parts.count == 2, indicatorNames.indices.contains(parts[0] - 1) else { return }
            indicators[indicatorNames[parts[0] - 1]] = parts[1]
            onEvent?(.indicator(indicatorNames[parts[0] - 1], parts[1]))
        case "+CLIP":
            let parts = value.split(separator: "\"", omittingEmptySubsequences: false)
            if parts.count > 1 { onEvent?(.callerID(String(parts[1]))) }
        case "+BCS":
            guard let codec = UInt8(value).flatMap(VoiceCodec.init(rawValue:)), model.codecs.contains(codec) else {
                return
            }
            onEvent?(.codecSelected(codec))
            enqueue("AT+BCS=\(codec.rawValue)")
        case "+VGS": if let volume = Int(value) { onEvent?(.speakerVolume(volume)) }
        case "+VGM": if let volume = Int(value) { onEvent?(.microphoneVolume(volume)) }
        default: break
        }
    }

    private func finish() {
        let done = current
        current = nil
        if done == "AT+BIND?", !isConnected {
            isConnected = true
            enqueue("AT+CLIP=1")
            enqueue("AT+CCWA=1")
            if let battery = model.battery { tellBattery(battery) }
            onEvent?(.serviceLevelConnectionUp)
        }
        sendNext()
    }
}
