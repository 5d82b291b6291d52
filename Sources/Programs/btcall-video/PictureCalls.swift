import BTCall
import BTCallAPI
import ControlLoop
import DBus
import VideoPlan

/// The calls with video, and whether btcalld allows the microphone.
///
/// btcalld is asked when a call with video comes or changes, and for nothing else: other calls cost it no request.
@ControlPlane
final class PictureCalls {
    /// In order of appearance.
    private(set) var calls: [PictureCall] = []
    private(set) var isMicrophoneAllowed = true
    /// One of them has changed.
    let changes = Signal<Void>()
    private let bridge: CallBridge
    private var subscriptions: [Subscription] = []
    private var isAsking = false
    private var mustAskAgain = false
    private var isPresent = false
    /// Of the last question.
    private var number = 0

    /// Properties of a call on which its pictures depend.
    private static let properties: Set = [
        BTCallName.Call.state, BTCallName.Call.video, BTCallName.Call.localVideoEnabled,
    ]

    init(_ bus: BusConnection, _ bridge: CallBridge) {
        self.bridge = bridge
        subscriptions = [
            bus.watchName(BTCallName.bus) { [weak self] owner in self?.ownerChanged(owner) },
            bus.subscribe(sender: BTCallName.bus, pathNamespace: BTCallPath.calls) { [weak self] signal in
                self?.received(signal)
            },
            bus.subscribe(
                sender: BTCallName.bus, path: BTCallPath.audio, interface: "org.freedesktop.DBus.Properties",
                argument0: BTCallName.Interface.audio
            ) { [weak self] signal in self?.receivedOfAudio(signal) },
        ]
    }

    func stop() {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
    }

    // MARK: Signals

    private func ownerChanged(_ owner: String?) {
        isPresent = owner != nil
        if isPresent { ask() } else { set([], isMicrophoneAllowed: true) }
    }

    private func received(_ signal: BusSignal) {
        let isKnown = calls.contains { $0.path == signal.path }
        switch (signal.interface, signal.member) {
        case (BTCallName.Interface.calls, BTCallName.Calls.callAdded):
            guard signal.arguments.count >= 2, signal.arguments[1][BTCallName.Call.hasVideo]?.boolValue == true else {
                return
            }
            ask()
        case (BTCallName.Interface.calls, BTCallName.Calls.callRemoved):
            if let path = signal.arguments.first?.stringValue, calls.contains(where: { $0.path == path }) { ask() }
        case (BTCallName.Interface.call, BTCallName.Call.stateChanged): if isKnown { ask() }
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"):
            guard signal.arguments.count >= 2, let values = signal.arguments[1].vardictValue else { return }
            let isConcerned = isKnown && !Self.properties.isDisjoint(with: values.keys)
            if isConcerned || values[BTCallName.Call.hasVideo] != nil { ask() }
        default: break
        }
    }

    private func receivedOfAudio(_ signal: BusSignal) {
        let values = signal.arguments.count >= 2 ? signal.arguments[1].vardictValue : nil
        if !calls.isEmpty, values?[BTCallName.Audio.microphoneAccess] != nil { ask() }
    }

    // MARK: Questions

    /// Asks now.
    func refresh() async {
        guard isPresent else { return }
        await answer()
    }

    private func ask() {
        mustAskAgain = isAsking
        guard !isAsking, isPresent else { return }
        isAsking = true
        Task { @ControlPlane [weak self] in
            await self?.answer()
            self?.answered()
        }
    }

    private func answered() {
        isAsking = false
        if mustAskAgain { ask() }
    }

    private func answer() async {
        number += 1
        let question = number
        var found: [PictureCall]?
        var isAllowed = true
        do throws(BridgeError) {
            let present = try await bridge.calls.list().compactMap { PictureCall($0) }
            if !present.isEmpty { isAllowed = try await bridge.audio.microphoneAccess() == .allowed }
            found = present
        } catch {
            // A daemon that does not answer has gone: its end is a change of its own.
        }
        // A later question has a later answer.
        if isPresent, question == number, let found { set(found, isMicrophoneAllowed: isAllowed) }
    }

    private func set(_ new: [PictureCall], isMicrophoneAllowed isAllowed: Bool) {
        guard new != calls || isAllowed != isMicrophoneAllowed else { return }
        (calls, isMicrophoneAllowed) = (new, isAllowed)
        changes.send()
    }
}

extension PictureCall {
    /// - Returns: nil for a call without video, and for one that has ended.
    init?(_ call: Call) {
        guard call.hasVideo else { return nil }
        let state: State
        switch call.state {
        case .dialing, .alerting, .ringing, .waiting: state = .ringing
        case .active: state = .active
        case .held: state = .held
        case .ended: return nil
        }
        let sends = call.media.video == .sendReceive || call.media.video == .sendOnly
        self.init(BTCallPath.call(call.id.description), state, sends: sends, isEnabled: call.isLocalVideoEnabled)
    }
}
