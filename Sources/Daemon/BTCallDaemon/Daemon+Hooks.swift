import AudioPaths
import BTCallAPI
import BlueZ
package import BluetoothTypes
package import CallControl
package import Configuration
import ControlLoop
import Diagnostics
import HandsFree
import HeadsetControl
package import HeadsetPolicy
import Logging
package import Routing
package import Telephony

// Commands for what happens, and what buttons do.
extension Daemon {
    package func joinHooks() {
        hookRunner.onEnd = { [weak self] event, isFailure in self?.metrics.hookEnded(event, isFailure: isFailure) }
        problems.onBegin = { [weak self] problem in
            // One about a command would run it again.
            guard !problem.id.hasPrefix(HookRunner.problemPrefix) else { return }
            self?.runHook(
                .problem,
                ["BTCALL_PROBLEM": problem.id, "BTCALL_WHAT": problem.what, "BTCALL_REMEDY": problem.remedy])
        }
    }

    /// - Parameter values: what the command is to know, by the names of its environment.
    package func runHook(_ event: HookEvent, _ values: [String: String]) {
        guard let command = configuration.hooks[event] else { return }
        hookRunner.run(command, for: event, environment(event, values))
    }

    private func environment(_ event: HookEvent, _ values: [String: String]) -> [String: String] {
        var environment = values
        environment["BTCALL_EVENT"] = event.rawValue
        environment["BTCALL_TIME"] = WallClock.now.iso8601
        return environment
    }

    package func runHook(_ event: HookEvent, _ address: BluetoothAddress) {
        runHook(event, ["BTCALL_ADDRESS": "\(address)", "BTCALL_NAME": headsets.name(of: address)])
    }

    package func runHook(_ event: HookEvent, _ record: CallRecord, _ reason: CallEndReason? = nil) {
        let description = record.description
        runHook(
            event,
            [
                "BTCALL_CALL": description.id, "BTCALL_NUMBER": description.number ?? "",
                "BTCALL_NAME": description.name ?? "", "BTCALL_PROVIDER": description.provider,
                "BTCALL_DIRECTION": description.direction.rawValue, "BTCALL_STATE": description.state.rawValue,
                "BTCALL_REASON": reason?.rawValue ?? "",
            ])
    }

    /// A call has changed: it rings, or was answered.
    package func runHooks(of record: CallRecord) {
        let known = hookedCalls[record.identifier]
        switch record.call.state {
        case .incoming where known == nil, .waiting where known == nil:
            hookedCalls[record.identifier] = .callIncoming
            runHook(.callIncoming, record)
        case .active where known != .callStarted:
            hookedCalls[record.identifier] = .callStarted
            runHook(.callStarted, record)
        case .setup, .dialing, .alerting, .incoming, .waiting, .active, .held, .ended: break
        }
    }

    package func runRouteHook(_ old: Route?, _ new: Route?, _ reason: RouteChangeReason) {
        runHook(
            .routeChanged,
            [
                "BTCALL_OLD_DEVICE": old?.device.description ?? "none",
                "BTCALL_DEVICE": new?.device.description ?? "none",
                "BTCALL_REASON": reason.rawValue,
            ])
    }

    // MARK: Buttons

    package static func presses(_ configuration: Configuration) -> PressRecogniser {
        PressRecogniser(doubles: Set(configuration.buttons.keys.filter { $0.press == .double }.map(\.key)))
    }

    package func recognise(_ key: ButtonKey, at address: BluetoothAddress) {
        take(presses.pressed(key, at: address, now: ControlLoop.now))
    }

    package func recogniseHeld(_ key: ButtonKey, at address: BluetoothAddress) {
        take(presses.held(key, at: address, now: ControlLoop.now))
    }

    private func take(_ known: [PressRecogniser.Press]) {
        pressTimer?.cancel()
        pressTimer = presses.deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                guard let self else { return }
                take(presses.deadlineReached(at: ControlLoop.now))
            }
        }
        for press in known { act(on: press) }
    }

    private func act(on press: PressRecogniser.Press) {
        let (address, gesture) = (press.address, press.gesture)
        let values = [
            "BTCALL_ADDRESS": "\(address)", "BTCALL_NAME": headsets.name(of: address),
            "BTCALL_BUTTON": gesture.key.rawValue, "BTCALL_PRESS": gesture.press.rawValue,
        ]
        guard let action = configuration.buttons[gesture] else { return runHook(.button, values) }
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
        case .run(let command): hookRunner.run(command, for: .button, environment(.button, values))
        }
    }

    private func act(_ button: CallButton, _ address: BluetoothAddress) {
        do throws(CallButton.Idle) {
            let request = try button.request(calls.snapshot, lastDialed: headsets.lastDialed)
            calls.request(request, via: .headset(address)) { [weak self] outcome in
                if outcome != .done { self?.nothing(address, "\(outcome)") }
            }
        } catch {
            nothing(address, "\(error)")
        }
    }

    private func nothing(_ address: BluetoothAddress, _ reason: String) {
        logger.notice("\(address): the button does nothing: \(reason)")
    }

    private func toggleMute(from address: BluetoothAddress) {
        guard mute.isMuted else {
            if calls.calls.isEmpty { nothing(address, "there is no call") } else { mute.set(true) }
            return
        }
        do throws(APIError) {
            try microphone.checkUnmuting()
            mute.set(false)
        } catch {
            nothing(address, "\(error)")
        }
    }

    /// The loudness of the headset, by one of its sixteen steps.
    private func turn(_ address: BluetoothAddress, by step: Int) {
        guard let old = headsets.description(of: address)?.speakerVolume else {
            return nothing(address, "it is not connected for calls")
        }
        let new = min(max(Int(old) + step, 0), headsets.speakerCeiling(of: address))
        headsets.setSpeakerVolume(UInt8(clamping: new), of: address)
    }
}
