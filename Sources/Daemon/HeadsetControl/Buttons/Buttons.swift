package import AudioPaths
import BTCallAPI
import BlueZ
package import BluetoothTypes
package import CallControl
package import Configuration
package import ControlLoop
import HandsFree
import HeadsetPolicy
package import Logging
import Routing
import Telephony

/// Recognises presses of headset buttons and runs the actions that `[buttons]` gives them.
@ControlPlane
package final class Buttons {
    /// A button was pressed; with its name on the bus.
    package let presses = Signal<(BluetoothAddress, String)>()
    private let actions: [ButtonGesture: ButtonAction]
    private let commands: EventCommands
    private let headsets: HeadsetDirectory
    private let calls: CallDirectory
    private let mute: MuteState
    private let microphone: MicrophoneControl
    private let logger: Logger
    private var recogniser: PressRecogniser
    private var timer: Timer?

    package init(
        _ configuration: Configuration, commands: EventCommands, headsets: HeadsetDirectory, music: MusicControl,
        calls: CallDirectory, audio: AudioParts, logger: Logger
    ) {
        actions = configuration.buttons
        self.commands = commands
        self.headsets = headsets
        self.calls = calls
        mute = audio.mute
        microphone = audio.microphone
        self.logger = logger
        recogniser = PressRecogniser(
            doubles: Set(configuration.buttons.keys.filter { $0.press == .double }.map(\.key)))
        headsets.changes.subscribe(self) { buttons, change in
            switch change {
            case .buttonPressed(let address, let button): buttons.pressed(button, at: address)
            case .buttonHeld(let address):
                buttons.handle(buttons.recogniser.held(.callKey, at: address, now: ControlLoop.now))
            default: break
            }
        }
        music.presses.subscribe(self) { buttons, press in buttons.pressed(press.1.rawValue, at: press.0) }
    }

    package func stop() { timer?.cancel() }

    // MARK: Presses

    private func pressed(_ button: AudioGateway.Button, at address: BluetoothAddress) {
        // Clients learn of the button before its action takes effect.
        presses.send((address, "\(button)"))
        // The headset cannot end speech of an application that is not shown to it as a call: btcalld ends it.
        switch button {
        case .hangUp:
            calls.hangUpUnshown()
            recognise(.hangUp, at: address)
        case .callKey:
            // In the Headset Profile the key acts on the present call, whatever is configured.
            guard headsets.isHeadsetProfile(address) else { return recognise(.callKey, at: address) }
            guard calls.snapshot.calls.isEmpty else { return }
            calls.hangUpUnshown()
            recognise(.callKey, at: address)
        }
    }

    /// A button of A2DP (AVRCP).
    private func pressed(_ word: String, at address: BluetoothAddress) {
        presses.send((address, word))
        if let key = ButtonKey(rawValue: word) { recognise(key, at: address) }
    }

    private func recognise(_ key: ButtonKey, at address: BluetoothAddress) {
        handle(recogniser.pressed(key, at: address, now: ControlLoop.now))
    }

    private func handle(_ recognised: [PressRecogniser.Press]) {
        timer?.cancel()
        timer = recogniser.deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                guard let self else { return }
                handle(recogniser.deadlineReached(at: ControlLoop.now))
            }
        }
        for press in recognised { act(on: press) }
    }

    // MARK: Actions

    private func act(on press: PressRecogniser.Press) {
        let (address, gesture) = (press.address, press.gesture)
        guard let action = actions[gesture] else { return commands.run(gesture, at: address) }
        logger.info("\(address): \(gesture.word): \(action.text)")
        switch action {
        case .answer: act(.answer, address)
        case .hangup: act(.hangUp, address)
        case .toggle: act(.toggle, address)
        case .mute: toggleMute(from: address)
        case .redial: act(.redial, address)
        case .hold: act(.hold, address)
        case .volumeUp: turn(address, by: 1)
        case .volumeDown: turn(address, by: -1)
        case .run(let command): commands.run(gesture, at: address, command)
        }
    }

    private func act(_ button: CallButton, _ address: BluetoothAddress) {
        do throws(CallButton.Idle) {
            let request = try button.request(calls.snapshot, lastDialed: headsets.lastDialed)
            calls.request(request, via: .headset(address)) { [weak self] outcome in
                if outcome != .done { self?.logIneffective(address, "\(outcome)") }
            }
        } catch {
            logIneffective(address, "\(error)")
        }
    }

    private func logIneffective(_ address: BluetoothAddress, _ reason: String) {
        logger.notice("\(address): the button does nothing: \(reason)")
    }

    private func toggleMute(from address: BluetoothAddress) {
        guard mute.isMuted else {
            if calls.calls.isEmpty { logIneffective(address, "there is no call") } else { mute.set(true) }
            return
        }
        do throws(APIError) {
            try microphone.checkUnmuting()
            mute.set(false)
        } catch {
            logIneffective(address, "\(error)")
        }
    }

    /// Changes the headset's volume by one of its sixteen steps.
    private func turn(_ address: BluetoothAddress, by step: Int) {
        guard let old = headsets.description(of: address)?.speakerVolume else {
            return logIneffective(address, "it is not connected for calls")
        }
        let new = min(max(Int(old) + step, 0), headsets.speakerCeiling(of: address))
        headsets.setSpeakerVolume(UInt8(clamping: new), of: address)
    }
}
