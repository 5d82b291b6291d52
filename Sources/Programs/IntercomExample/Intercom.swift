import BTCall
import Foundation

/// A door station with one call at a time: a visitor rings, or the door calls somebody. The other person may use any
/// headset.
actor Intercom: CallProvider {
    private let bridge: CallBridge
    private let recording: FileHandle?
    private var registration: ProviderRegistration?
    private var call: Call.ID?
    private var isReleased = false
    private var hasVanished = false

    /// - Parameter recording: receives the person's voice: 16 bit, mono, 16000 Hz.
    init(on bridge: CallBridge, recording: FileHandle?) {
        self.bridge = bridge
        self.recording = recording
    }

    /// Makes one call and returns when it has ended.
    ///
    /// - Parameter number: number that the door calls; nil: the visitor rings.
    /// - Throws: btcalld's refusal; `.notRunning` when btcalld goes.
    func run(calling number: String?) async throws(BridgeError) {
        let events = await bridge.events()
        let description = CallProviderDescription(name: "intercom", rate: 16000)
        let registration = try await bridge.register(self, as: description)
        self.registration = registration
        if let number {
            let call = try await registration.reportOutgoing(number: number)
            self.call = call
            try await registration.update(call, .active)
        } else {
            call = try await registration.reportIncoming(number: "", name: "Door")
        }
        try await follow(events)
    }

    private func follow(_ events: AsyncStream<BridgeEvent>) async throws(BridgeError) {
        for await event in events {
            switch event {
            case .callStateChanged(call, let state, _): say("the call is \(state)")
            case .routeChanged(let old, let new, let reason): say("route: \(old) -> \(new) (\(reason))")
            case .buttonPressed(let address, let button): say("button \(button) of \(address)")
            case .callRemoved(call, let reason): return say("the call has ended: \(reason ?? "unknown")")
            case .daemonVanished: hasVanished = true
            default: break
            }
            if isReleased && hasVanished { break }
        }
        if isReleased { throw BridgeError(.notRunning, "btcalld has gone, and the call with it") }
    }

    /// The call has ended. This is also called when btcalld has gone, but not for a restart of the bus.
    func released() async {
        isReleased = true
        if hasVanished { await bridge.close() }
    }

    /// Ends the call as the visitor would.
    func hangUp() async {
        guard let call, let registration else { return await bridge.close() }
        // It can only fail because the call has ended meanwhile.
        try? await registration.update(call, .ended, reason: .remoteHangUp)
    }

    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) { say("answered") }

    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) { say("hung up: \(reason)") }

    func audioReady(_ call: Call.ID, _ audio: CallAudio) async {
        Thread.detachNewThread { [recording] in exchange(audio, into: recording) }
    }
}

/// Plays a chime every two seconds and records the person's voice. Ends with the call's audio.
private func exchange(_ audio: CallAudio, into recording: FileHandle?) {
    let chime = (0..<2 * audio.rate).map { frame in
        let time = Double(frame) / Double(audio.rate)
        let (hertz, age) = time < 0.5 ? (659.0, time) : (523.0, time - 0.5)
        return Int16(8000 * exp(-4 * age) * sin(2 * .pi * hertz * age))
    }
    let socket = audio.takeDescriptor()
    defer { close(socket) }
    var block = [Int16](repeating: 0, count: audio.blockFrames)
    var frame = 0
    while true {
        // btcalld is the clock: answer each of its blocks with one of the same length.
        let bytes = block.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
        if bytes < 0 && errno == EINTR { continue }
        guard bytes > 0 else { return }
        do {
            try recording?.write(contentsOf: block.withUnsafeBytes { Data($0.prefix(bytes)) })
        } catch {
            say("the recording has a gap: \(error.localizedDescription)")
        }
        for index in block.indices {
            block[index] = chime[frame]
            frame = (frame + 1) % chime.count
        }
        // A block that is not accepted is not missed: the next read reports the state of the audio.
        _ = block.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
}
