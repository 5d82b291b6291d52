/// An event that can run a command (`[hooks]`); the raw value is its key.
package enum HookEvent: String, Hashable, Sendable, CaseIterable {
    case headsetConnected, headsetLost
    case incomingCall, callIncoming, callStarted, callEnded
    case routeChanged
    case problem
    case button

    package var summary: String {
        switch self {
        case .headsetConnected: "a headset is connected for calls: BTCALL_ADDRESS, BTCALL_NAME"
        case .headsetLost: "a headset is no longer connected for calls: BTCALL_ADDRESS, BTCALL_NAME"
        case .incomingCall: "a call rings: BTCALL_CALL, BTCALL_NUMBER, BTCALL_NAME, BTCALL_PROVIDER"
        case .callIncoming: "the earlier name of incomingCall"
        case .callStarted: "a call was answered: the same, and BTCALL_DIRECTION"
        case .callEnded: "a call has ended: the same, and BTCALL_REASON"
        case .routeChanged: "the audio has moved: BTCALL_OLD_DEVICE, BTCALL_DEVICE, BTCALL_REASON"
        case .problem: "a problem was raised: BTCALL_PROBLEM, BTCALL_WHAT, BTCALL_REMEDY"
        case .button: "a button without an action in [buttons]: BTCALL_ADDRESS, BTCALL_BUTTON, BTCALL_PRESS"
        }
    }
}
