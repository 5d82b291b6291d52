package import BTCall
package import ControlLoop
package import JSONText

extension BridgeEvent {
    /// One line of `monitor --json`.
    package func json(at time: WallClock) -> JSON {
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
        case .callStatusChanged(let id, let status, let reason):
            members += [
                ("call", .string(id.description)), ("callStatus", .string(status.rawValue)), ("reason", JSON(reason)),
            ]
        case .callRemoved(let id, let reason):
            members += [("call", .string(id.description)), ("reason", JSON(reason))]
        case .callQualityChanged(let id, let quality):
            members += [("call", .string(id.description)), ("score", JSON(quality))]
        case .callRecordedChanged(let id, let isRecorded):
            members += [("call", .string(id.description)), ("recording", JSON(isRecorded))]
        case .callTalkChanged(let id, let state, let holder):
            members += [
                ("call", .string(id.description)), ("talkState", .string(state.rawValue)), ("key", JSON(holder)),
            ]
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
        case .headsetEvent(let address, let event, let values):
            members += [("address", .string(address)), ("name", .string(event)), ("values", JSON(values))]
        case .headsetChanged(let address, let name, let value):
            members += [("address", .string(address)), ("name", .string(name)), ("value", JSON(value))]
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

    /// All values of ``word``.
    package static let words = [
        "daemonAppeared", "daemonVanished", "routeChanged", "activationFailed", "callAdded", "incomingCall",
        "callState", "callStatus",
        "callRemoved", "camera", "mediaChangeRequested", "quality", "talk", "recording", "recordingDenied",
        "recordingRequested",
        "muted", "doNotDisturb", "speakingWhileMuted", "button", "headsetEvent", "headset", "devices", "problems",
        "state", "setting",
    ]

    package var word: String {
        switch self {
        case .daemonAppeared: "daemonAppeared"
        case .daemonVanished: "daemonVanished"
        case .routeChanged: "routeChanged"
        case .activationFailed: "activationFailed"
        case .callAdded: "callAdded"
        case .incomingCall: "incomingCall"
        case .cameraSettingsChanged: "camera"
        case .callStateChanged: "callState"
        case .callStatusChanged: "callStatus"
        case .callRemoved: "callRemoved"
        case .callQualityChanged: "quality"
        case .callTalkChanged: "talk"
        case .callRecordedChanged: "recording"
        case .recordingDenied: "recordingDenied"
        case .recordingRequested: "recordingRequested"
        case .mediaChangeRequested: "mediaChangeRequested"
        case .mutedChanged: "muted"
        case .doNotDisturbChanged: "doNotDisturb"
        case .speakingWhileMuted: "speakingWhileMuted"
        case .buttonPressed: "button"
        case .headsetEvent: "headsetEvent"
        case .headsetChanged: "headset"
        case .devicesChanged: "devices"
        case .problemsChanged: "problems"
        case .stateChanged: "state"
        case .settingChanged: "setting"
        }
    }
}
