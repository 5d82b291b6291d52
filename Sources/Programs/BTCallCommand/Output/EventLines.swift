import BTCall
import CommandKit
import ControlLoop
import JSONText

extension BridgeEvent {
    /// One line of `monitor --json`.
    func json(at time: WallClock) -> JSON {
        var members: [(String, JSON)] = [("event", .string(word)), ("time", .string(time.iso8601))]
        switch self {
        case .daemonAppeared, .daemonVanished, .speakingWhileMuted:
            break
        case .routeChanged(let old, let new, let reason):
            members += [
                ("old", old.json), ("new", new.json), ("reason", .string(reason)),
            ]
        case .activationFailed(let device):
            members.append(("device", .string(device.description)))
        case .callAdded(let call):
            members += call.members
        case .incomingCall(let call):
            members += call.members
        case .cameraSettingsChanged(let id, let settings):
            members += [
                ("call", .string(id.description)), ("camera", .string(settings.camera)),
                ("width", JSON(settings.width)),
                ("height", JSON(settings.height)), ("framesPerSecond", JSON(settings.framesPerSecond)),
            ]
        case .callStateChanged(let id, let state, let reason):
            members += [
                ("call", .string(id.description)), ("state", .string(state.rawValue)), ("reason", JSON(reason)),
            ]
        case .callRemoved(let id, let reason):
            members += [("call", .string(id.description)), ("reason", JSON(reason))]
        case .callQualityChanged(let id, let quality):
            members += [("call", .string(id.description)), ("score", JSON(quality))]
        case .callRecordedChanged(let id, let isRecorded):
            members += [("call", .string(id.description)), ("recording", JSON(isRecorded))]
        case .mediaChangeRequested(let id, let media):
            members += [
                ("call", .string(id.description)), ("audio", .string(media.audio.rawValue)),
                ("video", .string(media.video.rawValue)),
            ]
        case .recordingDenied(let id, let client), .recordingRequested(let id, let client):
            members += [("call", .string(id.description)), ("client", .string(client))]
        case .mutedChanged(let muted):
            members.append(("muted", JSON(muted)))
        case .doNotDisturbChanged(let isOn):
            members.append(("doNotDisturb", JSON(isOn)))
        case .buttonPressed(let address, let button):
            members += [("address", .string(address)), ("button", .string(button))]
        case .devicesChanged(let devices):
            members.append(("devices", .array(devices.map(\.json))))
        case .problemsChanged(let problems):
            members.append(("problems", .array(problems.map(\.json))))
        case .stateChanged(let state):
            members.append(("state", .string(state.rawValue)))
        case .settingChanged(let name, let value):
            members += [("name", .string(name)), ("value", JSON(value))]
        }
        return JSON(members)
    }

    /// One line of `monitor`.
    func line(at time: WallClock) -> String {
        let label = word + String(repeating: " ", count: max(0, 17 - word.count))
        return "\(time.timeOfDay)  \(label)\(text)"
    }

    /// All values of ``word``.
    static let words = [
        "daemonAppeared", "daemonVanished", "routeChanged", "activationFailed", "callAdded", "incomingCall",
        "callState",
        "callRemoved", "camera", "mediaChangeRequested", "quality", "recording", "recordingDenied",
        "recordingRequested",
        "muted", "doNotDisturb", "speakingWhileMuted", "button", "devices", "problems", "state", "setting",
    ]

    var word: String {
        switch self {
        case .daemonAppeared: "daemonAppeared"
        case .daemonVanished: "daemonVanished"
        case .routeChanged: "routeChanged"
        case .activationFailed: "activationFailed"
        case .callAdded: "callAdded"
        case .incomingCall: "incomingCall"
        case .cameraSettingsChanged: "camera"
        case .callStateChanged: "callState"
        case .callRemoved: "callRemoved"
        case .callQualityChanged: "quality"
        case .callRecordedChanged: "recording"
        case .recordingDenied: "recordingDenied"
        case .recordingRequested: "recordingRequested"
        case .mediaChangeRequested: "mediaChangeRequested"
        case .mutedChanged: "muted"
        case .doNotDisturbChanged: "doNotDisturb"
        case .speakingWhileMuted: "speakingWhileMuted"
        case .buttonPressed: "button"
        case .devicesChanged: "devices"
        case .problemsChanged: "problems"
        case .stateChanged: "state"
        case .settingChanged: "setting"
        }
    }

    private var text: String {
        switch self {
        case .daemonAppeared: "btcalld is on the bus"
        case .daemonVanished: "btcalld is not on the bus"
        case .routeChanged(let old, let new, let reason): "\(old) -> \(new) (\(reason))"
        case .activationFailed(let device): "\(device) did not open its link"
        case .callAdded(let call):
            "\(call.direction.rawValue), \(call.state.rawValue): \(call.party), by \(call.provider)"
        case .incomingCall(let call): "\(call.party), by \(call.provider)"
        case .cameraSettingsChanged(let id, let settings):
            "\(settings.camera), \(settings.width)x\(settings.height), \(settings.framesPerSecond)/s  \(id)"
        case .callStateChanged(let id, let state, let reason): "\(state.rawValue)\(Self.because(reason))  \(id)"
        case .callRemoved(let id, let reason): "\(id)\(Self.because(reason))"
        case .callQualityChanged(let id, let quality): "\(quality.map { String($0) } ?? "unknown")  \(id)"
        case .callRecordedChanged(let id, let isRecorded): "\(isRecorded ? "recorded" : "not recorded any more")  \(id)"
        case .recordingDenied(let id, let client): "\(client) may not record  \(id)"
        case .recordingRequested(let id, let client): "\(client) asks to record  \(id)"
        case .mediaChangeRequested(let id, let media):
            "audio \(media.audio.rawValue), video \(media.video.rawValue) asked  \(id)"
        case .mutedChanged(let muted): muted ? "microphone muted" : "microphone on"
        case .doNotDisturbChanged(let isOn): isOn ? "incoming calls are refused" : "incoming calls ring"
        case .speakingWhileMuted: "somebody speaks into the muted microphone"
        case .buttonPressed(let address, let button): "\(button) on \(address)"
        case .devicesChanged(let devices): Self.summary(devices)
        case .problemsChanged(let problems):
            problems.isEmpty ? "none" : problems.map(\.text).joined(separator: "; ")
        case .stateChanged(let state): state.rawValue
        case .settingChanged(let name, let value): "\(name) \(value ?? "none")"
        }
    }

    private static func because(_ reason: String?) -> String { reason.map { " (\($0))" } ?? "" }

    private static func summary(_ devices: [AudioDevice]) -> String {
        let available = devices.filter(\.isAvailable).map(\.choice.description)
        return available.isEmpty ? "none available" : "available: \(available.joined(separator: ", "))"
    }
}
