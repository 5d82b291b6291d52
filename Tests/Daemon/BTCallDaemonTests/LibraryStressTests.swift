import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import Configuration
import ControlLoop
import DBus
import Glibc
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// Row S0.2: one bridge used by many threads. `scripts/test` runs it under the thread sanitizer as well.
    @Suite @ControlPlane struct LibraryStressTests {
        private nonisolated static let threads = 8
        private nonisolated static let callsPerThread = 1000

        /// A call of the library that changes something, and the method calls it has to cause.
        private struct Step: Sendable {
            let request: BusRequest
            let perform: @Sendable (CallBridge) async throws -> Void

            init(_ request: BusRequest, _ perform: @escaping @Sendable (CallBridge) async throws -> Void) {
                self.request = request
                self.perform = perform
            }
        }

        /// The record of one thread.
        private struct Account: Sendable {
            var requests: [BusRequest] = []
            var calls = 0
            var threads: Set<UInt> = []
        }

        @Test func `S0.2 library: eight threads with a thousand calls each have the same result as calls in sequence`()
            async throws
        {
            var asked: [BusRequest] = []
            var left: [String: String] = [:]
            try await run { box in
                let monitor = try await BusMonitor(box.address)
                let executors = try (0..<Self.threads).map { _ in try ThreadExecutor() }
                let bridge = box.bridge
                let work = executors.enumerated().map { number, executor in
                    Self.start(on: executor, bridge, seed: UInt64(number) + 1)
                }
                var accounts: [Account] = []
                for task in work { accounts.append(try await task.value) }
                for executor in executors { executor.stop() }
                asked = try await monitor.stop()
                #expect(accounts.allSatisfy { $0.calls == Self.callsPerThread })
                // Each task has its own thread, none of them the control loop's.
                #expect(accounts.allSatisfy { $0.threads.count == 1 })
                #expect(Set(accounts.flatMap(\.threads)).count == Self.threads)
                #expect(Self.counts(asked) == Self.counts(accounts.flatMap(\.requests)))
                left = try await settled(box)
            }
            #expect(asked.count > Self.threads * Self.callsPerThread / 2)
            try await run { box in
                for request in asked {
                    // A request that was refused then is refused now.
                    _ = try? await box.client.call(
                        BTCallName.bus, request.path, request.interface, request.member, request.arguments)
                }
                let replayed = try await settled(box)
                #expect(Set(left.keys) == Set(replayed.keys))
                for (name, value) in left { #expect(replayed[name] == value, "\(name)") }
            }
        }

        /// Runs a daemon with a call. Nothing is opened for it: the simulated cards would take the time that the calls need.
        private func run(_ body: (Box) async throws -> Void) async throws {
            try await Box.run(
                configure: { $0.routing.manualAudio = true },
                body: { box in
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await body(box)
                })
        }

        private static func counts(_ requests: [BusRequest]) -> [BusRequest: Int] {
            requests.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }

        // MARK: The threads

        private nonisolated static func start(
            on executor: ThreadExecutor, _ bridge: CallBridge, seed: UInt64
        ) -> Task<Account, any Error> {
            Task(executorPreference: executor) { try await randomCalls(bridge, seed: seed) }
        }

        private nonisolated static func randomCalls(_ bridge: CallBridge, seed: UInt64) async throws -> Account {
            var account = Account()
            var random = SeededGenerator(seed: seed)
            for _ in 0..<callsPerThread {
                if Int.random(in: 0..<4, using: &random) == 0 {
                    try await question(bridge, Int.random(in: 0..<7, using: &random))
                } else {
                    let step = step(&random)
                    account.requests.append(step.request)
                    do {
                        try await step.perform(bridge)
                    } catch {
                        // An absent device, or a selection while the router is stopped.
                        let code = (error as? BridgeError)?.code
                        guard code == .unavailable || code == .notStarted else { throw error }
                    }
                }
                account.calls += 1
                account.threads.insert(UInt(pthread_self()))
            }
            return account
        }

        /// A request that changes nothing.
        private nonisolated static func question(_ bridge: CallBridge, _ number: Int) async throws(BridgeError) {
            switch number {
            case 0: _ = try await bridge.audioDeviceManager.audioDevices()
            case 1: _ = try await bridge.audioDeviceManager.selectedAudioDevice()
            case 2: _ = try await bridge.audioDeviceManager.activeRoute()
            case 3: _ = try await bridge.audio.microphoneVolume()
            case 4: _ = try await bridge.calls.list()
            case 5: _ = try await bridge.status()
            default:
                // A stream that is released as soon as it has started.
                for await _ in await bridge.events() { break }
            }
        }

        private nonisolated static func step(_ random: inout SeededGenerator) -> Step {
            let isOn = Bool.random(using: &random)
            switch Int.random(in: 0..<14, using: &random) {
            case 0...3: return deviceStep(&random)
            case 4: return routerStep(BTCallName.Router.clearSelection) { try await $0.clearSelection() }
            case 5: return routerStep(BTCallName.Router.refresh) { try await $0.refreshSpeakerphoneSetting() }
            case 6:
                // Started three times out of four.
                return isOn && Bool.random(using: &random)
                    ? routerStep(BTCallName.Router.stop) { try await $0.stop() }
                    : routerStep(BTCallName.Router.start) { try await $0.start() }
            case 7:
                return Step(.set(BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.muted, .bool(isOn))) {
                    try await $0.calls.setMuted(isOn)
                }
            case 8:
                let volume = Double(Int.random(in: 0...8, using: &random)) / 8
                return isOn
                    ? audioStep(BTCallName.Audio.micVolume, .double(volume)) {
                        try await $0.setMicrophoneVolume(volume)
                    }
                    : audioStep(BTCallName.Audio.appVolume, .double(volume)) {
                        try await $0.setApplicationVolume(volume)
                    }
            case 9:
                let mode: BridgeAudio.MuteMode = isOn ? .voiceProcessing : .inputMixer
                return audioStep(BTCallName.Audio.muteMode, .string(mode.rawValue)) { try await $0.setMuteMode(mode) }
            case 10:
                return audioStep(BTCallName.Audio.microphoneEnabled, .bool(isOn)) {
                    try await $0.setMicrophone(enabled: isOn)
                }
            case 11:
                return audioStep(BTCallName.Audio.voiceProcessingBypassed, .bool(isOn)) {
                    try await $0.setVoiceProcessingBypassed(isOn)
                }
            case 12:
                return audioStep(BTCallName.Audio.noiseSuppression, .bool(isOn)) {
                    try await $0.setVoiceStage(.noiseSuppression, enabled: isOn)
                }
            default: return settingStep(&random)
            }
        }

        private nonisolated static func deviceStep(_ random: inout SeededGenerator) -> Step {
            let devices: [Choice] = [.none, .bluetooth, .earpiece, .speakerphone, .wiredHeadset]
            let device = devices[Int.random(in: devices.indices, using: &random)]
            let (router, path) = (BTCallName.Interface.router, BTCallPath.router)
            let word = Value.string(device.description)
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                return Step(.set(path, router, BTCallName.Router.preferred, word)) {
                    try await $0.audioDeviceManager.setAudioDevice(device)
                }
            case 1:
                return Step(.set(path, router, BTCallName.Router.defaultDevice, word)) {
                    try await $0.audioDeviceManager.setDefaultAudio(device)
                }
            default:
                let member = BTCallName.Router.select
                return Step(BusRequest(path: path, interface: router, member: member, arguments: [word])) {
                    try await $0.audioDeviceManager.select(device)
                }
            }
        }

        private nonisolated static func settingStep(_ random: inout SeededGenerator) -> Step {
            let (key, value) = ("routing.exclude", Bool.random(using: &random) ? "bluetooth" : "wiredHeadset")
            let (manager, path) = (BTCallName.Interface.manager, BTCallPath.manager)
            if Bool.random(using: &random) {
                let member = BTCallName.Manager.setSetting
                let arguments: [Value] = [.string(key), .string(value)]
                return Step(BusRequest(path: path, interface: manager, member: member, arguments: arguments)) {
                    try await $0.setSetting(key, to: value)
                }
            }
            let member = BTCallName.Manager.resetSetting
            return Step(BusRequest(path: path, interface: manager, member: member, arguments: [.string(key)])) {
                try await $0.resetSetting(key)
            }
        }

        private nonisolated static func routerStep(
            _ member: String, _ perform: @escaping @Sendable (AudioDeviceManager) async throws -> Void
        ) -> Step {
            let request = BusRequest(
                path: BTCallPath.router, interface: BTCallName.Interface.router, member: member, arguments: [])
            return Step(request) { try await perform($0.audioDeviceManager) }
        }

        private nonisolated static func audioStep(
            _ name: String, _ value: Value,
            _ perform: @escaping @Sendable (BridgeAudio) async throws -> Void
        ) -> Step {
            Step(.set(BTCallPath.audio, BTCallName.Interface.audio, name, value)) { try await perform($0.audio) }
        }

        // MARK: What is left

        /// The daemon's state once no request is running.
        private func settled(_ box: Box) async throws -> [String: String] {
            var last: [String: String] = [:]
            try await eventually("nothing is pending") {
                let status = try await box.bridge.status()
                let target = try await box.bridge.audioDeviceManager.explain().chosen
                last = try await state(box)
                return status.route == target && status.pending == .none
            }
            return last
        }

        private func state(_ box: Box) async throws -> [String: String] {
            let status = try await box.bridge.status()
            let audio = box.bridge.audio
            var state = [
                "started": "\(status.isStarted)", "preferred": "\(status.preferred)",
                "default": "\(status.defaultDevice)", "selected": "\(status.selected)", "route": "\(status.route)",
                "muted": "\(status.isMuted)", "calls": "\(status.calls.map(\.state))",
                "microphone volume": "\(try await audio.microphoneVolume())",
                "application volume": "\(try await audio.applicationVolume())",
                "mute mode": "\(try await audio.muteMode())",
                "microphone": "\(try await audio.isMicrophoneEnabled())",
                "bypassed": "\(try await audio.isVoiceProcessingBypassed())",
                "noise suppression": "\(try await audio.isVoiceStageEnabled(.noiseSuppression))",
            ]
            for device in status.devices {
                state["device \(device.choice)"] =
                    "\(device.state) \(device.output ?? "") \(device.input ?? "") \(device.unavailableBecause ?? "")"
            }
            for setting in try await box.bridge.settings() {
                state[setting.key] = "\(setting.value) (\(setting.origin))"
            }
            return state
        }
    }
}
