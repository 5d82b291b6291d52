/// A call with video, as far as its pictures depend on it.
package struct PictureCall: Hashable, Sendable {
    package enum State: Hashable, Sendable, CaseIterable {
        /// Dialing, alerting, ringing or waiting.
        case ringing
        case active
        case held
    }

    /// Object path.
    package var path: String
    package var state: State
    /// Whether its direction of video sends.
    package var sends: Bool
    /// `Call1.LocalVideoEnabled`.
    package var isEnabled: Bool

    package init(_ path: String, _ state: State, sends: Bool = true, isEnabled: Bool = true) {
        self.path = path
        self.state = state
        self.sends = sends
        self.isEnabled = isEnabled
    }
}

/// Whether the chosen camera gives pictures.
package enum CameraState: Hashable, Sendable, CaseIterable {
    /// Present, and nothing is known against it.
    case usable
    case absent
    /// Another program captures.
    case inUse
    /// Its driver or its pipeline fails.
    case failing
}

/// Why the far end gets a card.
package enum CardCause: String, Hashable, Sendable, CaseIterable {
    case held, disabled, privacy, noCamera, inUse, failed
}

/// What the far end gets.
package enum LocalPicture: Hashable, Sendable {
    case none
    case camera
    case card(CardCause)
}

/// What pictures depend on.
package struct PictureFacts: Hashable, Sendable {
    /// The calls with video, in order of appearance.
    package var calls: [PictureCall] = []
    package var camera = CameraState.absent
    /// `[privacy] camera`.
    package var isCameraAllowed = true
    /// Whether btcalld allows the microphone: one rule for what the far end gets of the room.
    package var isMicrophoneAllowed = true
    package var views: [PictureSide: ViewSettings] = [:]
    package var hasOutputDevice = false
    package var hasRemoteSource = false
    /// Calls whose local picture programs read.
    package var localTaps: Set<String> = []
    /// Whether programs read the camera without a call.
    package var hasCameraTap = false
    /// Calls whose remote picture an application gives.
    package var offers: Set<String> = []
    /// Calls whose remote picture programs read.
    package var remoteTaps: Set<String> = []

    package init() {}
}

/// What happens with pictures now, as a function of the facts.
package struct PicturePlan: Hashable, Sendable {
    /// The picture call in the foreground: the active one before a held one before a ringing one.
    package let call: String?
    package let local: LocalPicture
    /// Whether the camera has to be open, or opened as soon as it can be.
    package let wantsCamera: Bool
    /// Views that show a picture.
    package let views: Set<PictureSide>
    package let writesOutputDevice: Bool
    /// Whether the node of `[remote] source` has to be open.
    package let readsRemoteSource: Bool

    package init(_ facts: PictureFacts) {
        let call = Self.foreground(facts.calls)
        self.call = call?.path
        let shows = { (side: PictureSide) in (facts.views[side]?.sink ?? .none) != .none }
        let isTapped = facts.hasCameraTap || call.map { facts.localTaps.contains($0.path) } ?? false
        // A camera that nobody needs stays free for the application of the call.
        let isWanted = isTapped || call != nil && (shows(.local) || facts.hasOutputDevice)
        let cause = Self.cause(call, facts)
        local = !isWanted ? .none : cause.map { .card($0) } ?? .camera
        wantsCamera = isWanted && Self.mayCapture(cause)
        let isOffered = call.map { facts.offers.contains($0.path) } ?? false
        let hasRemote = isOffered || call != nil && facts.hasRemoteSource
        var views: Set<PictureSide> = []
        if shows(.local), call != nil { views.insert(.local) }
        if shows(.remote), hasRemote { views.insert(.remote) }
        self.views = views
        writesOutputDevice = call != nil && facts.hasOutputDevice
        let isRemoteTapped = call.map { facts.remoteTaps.contains($0.path) } ?? false
        readsRemoteSource =
            call != nil && facts.hasRemoteSource && !isOffered && (shows(.remote) || isRemoteTapped)
    }

    private static func foreground(_ calls: [PictureCall]) -> PictureCall? {
        for state in [PictureCall.State.active, .held, .ringing] {
            if let call = calls.first(where: { $0.state == state }) { return call }
        }
        return nil
    }

    private static func cause(_ call: PictureCall?, _ facts: PictureFacts) -> CardCause? {
        if let call {
            if call.state == .held { return .held }
            guard call.sends, call.isEnabled else { return .disabled }
        }
        guard facts.isCameraAllowed, facts.isMicrophoneAllowed || call == nil else { return .privacy }
        switch facts.camera {
        case .usable: return nil
        case .absent: return .noCamera
        case .inUse: return .inUse
        case .failing: return .failed
        }
    }

    /// Whether the camera may be tried: it is not against what anybody wants.
    private static func mayCapture(_ cause: CardCause?) -> Bool {
        switch cause {
        case nil, .inUse, .failed: true
        case .held, .disabled, .privacy, .noCamera: false
        }
    }
}
