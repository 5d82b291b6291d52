import BTCallSimulator
import BluetoothTypes
import Routing

/// Events that are more frequent in a course, so that courses differ in kind and not only in order.
private enum Mood: CaseIterable {
    case anything, links, flapping, ringing, jack, requests, configuration
}

extension RandomCourse {
    static let length = 200

    init(seed: UInt64) {
        var maker = CourseMaker(seed: seed)
        self.init(seed: seed, given: maker.given(), steps: [])
        for _ in 0..<Self.length { steps.append(maker.step()) }
    }
}

private struct CourseMaker {
    private var random: CourseNumbers
    private let mood: Mood
    private let headsets: Int
    /// The calls requested so far, so that most requests make sense.
    private var callsUp: [String] = []

    init(seed: UInt64) {
        random = CourseNumbers(seed: seed)
        mood = random.one(of: Mood.allCases)
        headsets = 1 + random.below(4)
    }

    // MARK: Given

    mutating func given() -> Scenario.Given {
        var given = Scenario.Given.usual
        if random.chance(percent: 8) { given.locals.remove(.earpiece) }
        if random.chance(percent: 8) { given.locals.remove(.speakerphone) }
        given.jack = random.one(of: [.empty, .empty, .empty, .headset, .headphones])
        for number in 1...headsets {
            given.headsets.append(headset(number))
            if random.chance(percent: 60) { given.connected.append(RandomCourse.address(number)) }
        }
        given.preferred = random.one(of: [.bluetooth, .bluetooth, device()])
        given.defaultDevice = random.one(of: [.none, .earpiece, .speakerphone, device()])
        given.started = random.chance(percent: 92)
        for _ in 0..<random.one(of: [0, 0, 1, 2, 5]) { change(&given.configuration) }
        return given
    }

    private mutating func headset(_ number: Int) -> Scenario.HeadsetModel {
        var model = Scenario.HeadsetModel.usual(RandomCourse.address(number))
        model.profiles = random.one(of: [[.hfp, .a2dp], [.hfp, .a2dp], [.hfp], [.a2dp]])
        model.category = random.one(of: [.headset, .headset, .headset, .watch, .speaker])
        model.inband = random.chance(percent: 70)
        model.openTime = .milliseconds(random.one(of: [0, 50, 300, 300, 1100, 2500]))
        model.closeTime = .milliseconds(random.one(of: [0, 50, 50, 300]))
        for _ in 0..<random.one(of: [0, 0, 2, 5, 12]) {
            model.script.append(
                random.one(of: [
                    .opens, .opens, .refuses, .refuses, .hangs, .opensFor(.milliseconds(300)),
                    .opensFor(.milliseconds(900)), .opensFor(.milliseconds(1000)), .opensFor(.milliseconds(2500)),
                ]))
        }
        return model
    }

    private mutating func address() -> BluetoothAddress {
        // One more than exist: a client may send an unknown one.
        RandomCourse.address(random.chance(percent: 60) ? 1 : 1 + random.below(headsets + 1))
    }

    private mutating func device() -> AudioDevice {
        switch random.below(8) {
        case 0: .none
        case 1: .speakerphone
        case 2: .earpiece
        case 3: .wiredHeadset
        case 4: .bluetooth
        default: .headset(address())
        }
    }

    // MARK: Events

    mutating func step() -> RandomCourse.Step {
        let pauses: [Int64] = [0, 0, 10, 100, 300, 700, 1500, 4000, 12_000]
        let base = pauses[random.below(mood == .flapping ? 7 : pauses.count)]
        let jitter = base > 1 ? Int64(random.below(Int(base / 2))) : 0
        return RandomCourse.Step(pause: base + jitter, record: record())
    }

    private mutating func record() -> EventRecord {
        if callsUp.isEmpty, random.chance(percent: 40) { return start() }
        if mood != .anything, random.chance(percent: 55) { return characteristic() }
        switch random.below(16) {
        case 0, 1: return call()
        case 2, 3: return presence()
        case 4, 5, 6: return link()
        case 7, 8: return jack()
        case 9, 10, 11: return request()
        case 12: return permission()
        case 13: return configuration()
        case 14: return call()
        default: return presence()
        }
    }

    private mutating func characteristic() -> EventRecord {
        switch mood {
        case .anything: call()
        case .links: link()
        case .flapping: random.chance(percent: 50) ? presence() : link()
        case .ringing: call()
        case .jack: jack()
        case .requests: request()
        case .configuration: configuration()
        }
    }

    private mutating func start() -> EventRecord {
        let name = random.one(of: ["c1", "c2", "c3"])
        if !callsUp.contains(name) { callsUp.append(name) }
        let isRinging = random.chance(percent: mood == .ringing ? 80 : 35)
        let video = random.chance(percent: 15)
        let routes = random.chance(percent: 85) ? nil : supportedKinds()
        let audio = random.chance(percent: 10) ? random.one(of: MediaDirection.allCases) : .sendReceive
        return isRinging
            ? RoutingEvent.callIncoming(call: name, video: video, routes: routes, audio: audio).record
            : RoutingEvent.callOutgoing(call: name, video: video, routes: routes, audio: audio).record
    }

    private mutating func call() -> EventRecord {
        let name = callsUp.isEmpty ? "nobody" : random.one(of: callsUp)
        switch random.below(14) {
        case 13: return RoutingEvent.callRoutes(call: name, routes: routes()).record
        case 12:
            let (audio, video) = (random.one(of: MediaDirection.allCases), random.one(of: MediaDirection.allCases))
            return RoutingEvent.callMedia(call: name, audio: audio, video: video).record
        case 0, 1: return start()
        case 2, 3, 4: return RoutingEvent.callAnswered(call: name, via: nil).record
        case 5: return RoutingEvent.callAnswered(call: name, via: .headset(address())).record
        case 6: return RoutingEvent.callAnswered(call: name, via: .handset).record
        case 7, 8: return RoutingEvent.callHeld(call: name).record
        case 9, 10: return RoutingEvent.callResumed(call: name).record
        default:
            callsUp.removeAll { $0 == name }
            return RoutingEvent.callEnded(call: name).record
        }
    }

    private mutating func routes() -> [DeviceKind]? { random.chance(percent: 40) ? nil : supportedKinds() }

    private mutating func supportedKinds() -> [DeviceKind] {
        random.one(of: [[.speakerphone], [.earpiece, .bluetooth], [.speakerphone, .wiredHeadset], [.bluetooth]])
    }

    private mutating func presence() -> EventRecord {
        switch random.below(10) {
        case 0, 1, 2: RoutingEvent.headsetDisconnected(address()).record
        case 3, 4, 5, 6: RoutingEvent.headsetConnected(address(), profiles: profiles()).record
        case 7, 8:
            RoutingEvent.headsetProfile(
                address(), random.one(of: [.hfp, .hfp, .a2dp]), isUp: random.chance(percent: 60)
            ).record
        default: RoutingEvent.adapterPowered(random.chance(percent: 70)).record
        }
    }

    private mutating func profiles() -> [LinkMode] {
        random.one(of: [[.hfp, .a2dp], [.hfp, .a2dp], [.hfp], [.a2dp]])
    }

    private mutating func link() -> EventRecord {
        let address = address()
        return switch random.below(12) {
        case 0, 1: RoutingEvent.linkOpenedByHeadset(address, mode: nil).record
        case 2, 3: RoutingEvent.linkClosed(address, .remote).record
        case 4, 5: RoutingEvent.linkClosed(address, .linkLoss).record
        case 6, 7, 8: RoutingEvent.linkSilent(address).record
        case 9, 10: RoutingEvent.linkResumed(address).record
        default: RoutingEvent.codecChanged(address, random.one(of: VoiceCodec.allCases)).record
        }
    }

    private mutating func jack() -> EventRecord {
        let local = random.one(of: LocalDevice.allCases)
        return switch random.below(12) {
        case 0, 1, 2: RoutingEvent.jackPlugged(microphone: random.chance(percent: 70)).record
        case 3, 4, 5: RoutingEvent.jackUnplugged.record
        case 6: RoutingEvent.localLost(local).record
        case 7, 8: RoutingEvent.localFound(local).record
        case 9: RoutingEvent.handsetOffHook.record
        case 10: RoutingEvent.handsetOnHook.record
        default: permission()
        }
    }

    private mutating func request() -> EventRecord {
        switch random.below(14) {
        case 0, 1: RoutingEvent.start.record
        case 2: RoutingEvent.stop.record
        case 3, 4: RoutingEvent.setPreferred(device()).record
        case 5: RoutingEvent.setDefault(device()).record
        case 6, 7, 8, 9: RoutingEvent.select(device()).record
        case 10: RoutingEvent.clearSelection.record
        case 11: RoutingEvent.mute(random.chance(percent: 50)).record
        case 12: RoutingEvent.refresh.record
        default: permission()
        }
    }

    private mutating func permission() -> EventRecord {
        switch random.below(7) {
        case 0: RoutingEvent.interruptionBegan(source: "modem").record
        case 1, 2, 3: RoutingEvent.interruptionEnded(resume: random.chance(percent: 80)).record
        case 4, 5: RoutingEvent.sessionActivated.record
        default: RoutingEvent.sessionDeactivated.record
        }
    }

    // MARK: Configuration

    private mutating func configuration() -> EventRecord {
        let key = random.one(of: RoutingKey.allCases)
        return EventRecord(
            word: "api.config", arguments: [EventRecord.Argument(name: key.rawValue, value: .text(value(of: key)))])
    }

    private mutating func change(_ configuration: inout RoutingConfiguration) {
        let key = random.one(of: RoutingKey.allCases)
        do {
            try configuration.set(key: key.rawValue, value: value(of: key))
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// A realistic value, the usual one most often. No wait for a path may exceed I2.
    private mutating func value(of key: RoutingKey) -> String {
        if random.chance(percent: 40) { return RoutingConfiguration.defaultValue(of: key) }
        switch key {
        case .exclude:
            return random.one(of: [
                "", "bluetooth:\(RandomCourse.address(1))", "earpiece", "bluetooth", "speakerphone, wiredHeadset",
            ])
        case .headsetOrder:
            return random.one(of: [
                "", "\(RandomCourse.address(2)), \(RandomCourse.address(1))", "\(RandomCourse.address(3))",
            ])
        case .newHeadset: return random.one(of: ["stay", "take"])
        case .jackGesture: return random.one(of: ["off", "midCall", "latched"])
        case .manualAudio, .manualRendering: return "\(random.chance(percent: 25))"
        case .jackMasksEarpiece, .microphoneEnabled, .allowBluetoothA2DP, .inbandRing, .ringLocal, .releaseOnHold:
            return "\(random.chance(percent: 50))"
        case .systemDevice: return device().description
        case .openAttempts: return random.one(of: ["1", "2", "3", "5"])
        case .settleBluetoothMilliseconds: return random.one(of: ["0", "200", "3000"])
        case .settleMaxMilliseconds: return random.one(of: ["0", "1000", "30000"])
        case .flapWindowMilliseconds: return random.one(of: ["0", "5000", "60000"])
        case .jackDebounceMilliseconds: return random.one(of: ["0", "50", "1000"])
        // Longer than any headset takes: otherwise no link opens, and the policy tries forever.
        case .openTimeoutMilliseconds: return random.one(of: ["3000", "10000"])
        case .retryBaseMilliseconds: return random.one(of: ["0", "100", "2000"])
        case .penaltyBaseMilliseconds: return random.one(of: ["0", "1000", "15000"])
        case .penaltyMaxMilliseconds: return random.one(of: ["0", "1000", "120000"])
        case .startGraceMilliseconds: return random.one(of: ["0", "500", "1900"])
        case .reopenBridgeMilliseconds: return random.one(of: ["0", "200", "1900"])
        case .reopenPauseMilliseconds: return random.one(of: ["0", "1000"])
        case .minDwellMilliseconds: return random.one(of: ["0", "10000"])
        case .gapResetMilliseconds: return random.one(of: ["0", "2000"])
        case .transferGuardMilliseconds: return random.one(of: ["0", "3000"])
        case .silentLimitMilliseconds: return random.one(of: ["0", "200"])
        case .silentResumeMilliseconds: return random.one(of: ["0", "2000"])
        case .silentCloseMilliseconds: return random.one(of: ["0", "5000"])
        case .mediaRestoreMilliseconds: return random.one(of: ["0", "5000"])
        }
    }
}

extension EventRecord {
    static func ended(_ call: String) -> EventRecord { RoutingEvent.callEnded(call: call).record }
}
