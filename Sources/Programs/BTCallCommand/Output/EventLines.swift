import BTCall
import BTCallJSON
import CommandKit
import ControlLoop

extension BridgeEvent {
    /// One line of `monitor`.
    func line(at time: WallClock) -> String {
        let label = word + String(repeating: " ", count: max(0, 17 - word.count))
        return "\(time.timeOfDay)  \(label)\(text)"
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
        case .callStatusChanged(let id, let status, let reason): "\(status.rawValue)\(Self.because(reason))  \(id)"
        case .callRemoved(let id, let reason): "\(id)\(Self.because(reason))"
        case .callQualityChanged(let id, let quality): "\(quality.map { String($0) } ?? "unknown")  \(id)"
        case .callRecordedChanged(let id, let isRecorded): "\(isRecorded ? "recorded" : "not recorded any more")  \(id)"
        case .recordingDenied(let id, let client): "\(client) may not record  \(id)"
        case .recordingRequested(let id, let client): "\(client) asks to record  \(id)"
        case .callTalkChanged(let id, let state, let holder):
            "\(state.rawValue)\(holder.map { " by \($0)" } ?? "")  \(id)"
        case .mediaChangeRequested(let id, let media):
            "audio \(media.audio.rawValue), video \(media.video.rawValue) asked  \(id)"
        case .mutedChanged(let muted): muted ? "microphone muted" : "microphone on"
        case .doNotDisturbChanged(let isOn): isOn ? "incoming calls are refused" : "incoming calls ring"
        case .speakingWhileMuted: "somebody speaks into the muted microphone"
        case .buttonPressed(let address, let button): "\(button) on \(address)"
        case .headsetEvent(let address, let event, let values):
            "\(([event] + values).joined(separator: " ")) from \(address)"
        case .headsetChanged(let address, let name, let value): "\(name) \(value ?? "unknown") on \(address)"
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
