package import AudioPaths
import BTCallAPI
package import BluetoothTypes
package import CallControl
package import Configuration
package import ControlLoop
package import Diagnostics
import HeadsetPolicy
package import Logging
import Routing
import Telephony

/// Runs the commands of `[hooks]` on events, and those of `[buttons]`.
@ControlPlane
package final class EventCommands {
    /// A command has ended.
    package let ended = Signal<(event: HookEvent, isFailure: Bool)>()
    private let hooks: [HookEvent: CommandWords]
    private let runner: HookRunner
    private let headsets: HeadsetDirectory
    /// The last event of each call that a command was run for.
    private var lastEvents: [CallID: HookEvent] = [:]

    package init(
        _ configuration: Configuration, calls: CallDirectory, headsets: HeadsetDirectory, router: any RouteDeciding,
        problems: ProblemList, logger: Logger
    ) {
        hooks = configuration.hooks
        runner = HookRunner(limit: configuration.timeouts.hook, problems: problems, logger: logger)
        self.headsets = headsets
        runner.onEnd = { [weak self] event, isFailure in self?.ended.send((event, isFailure)) }
        calls.changes.subscribe(self) { $0.handle($1) }
        headsets.changes.subscribe(self) { commands, change in
            switch change {
            case .appeared(let address): commands.run(.headsetConnected, commands.values(of: address))
            case .vanished(let address): commands.run(.headsetLost, commands.values(of: address))
            default: break
            }
        }
        router.notices.subscribe(self) { commands, notice in
            guard case .routeChanged(let old, let new, let reason) = notice else { return }
            commands.run(
                .routeChanged,
                [
                    "BTCALL_OLD_DEVICE": old?.device.description ?? "none",
                    "BTCALL_DEVICE": new?.device.description ?? "none", "BTCALL_REASON": reason.rawValue,
                ])
        }
        problems.begun.subscribe(self) { commands, problem in
            // A problem about a command would run that command again.
            guard !problem.id.hasPrefix(HookRunner.problemPrefix) else { return }
            commands.run(
                .problem,
                ["BTCALL_PROBLEM": problem.id, "BTCALL_WHAT": problem.what, "BTCALL_REMEDY": problem.remedy])
        }
    }

    /// Kills the running command and returns when it has ended.
    package func stop() async { await runner.stop() }

    /// Runs a command for a press of a button.
    ///
    /// - Parameter command: from `[buttons]`; nil runs the one of `[hooks]`, if it has one.
    package func run(_ gesture: ButtonGesture, at address: BluetoothAddress, _ command: CommandWords? = nil) {
        var values = values(of: address)
        values["BTCALL_BUTTON"] = gesture.key.rawValue
        values["BTCALL_PRESS"] = gesture.press.rawValue
        run(.button, values, command)
    }

    private func handle(_ change: CallDirectory.Change) {
        switch change {
        case .added(let record), .changed(let record): callChanged(record)
        case .ended(let record, let reason):
            lastEvents[record.identifier] = nil
            run(.callEnded, values(of: record, reason))
        }
    }

    /// Handles a changed call: it rings, or was answered.
    private func callChanged(_ record: CallRecord) {
        let known = lastEvents[record.identifier]
        switch record.call.state {
        case .incoming where known == nil, .waiting where known == nil:
            lastEvents[record.identifier] = .incomingCall
            let call = values(of: record)
            run(.incomingCall, call)
            run(.callIncoming, call)
        case .active where known != .callStarted:
            lastEvents[record.identifier] = .callStarted
            run(.callStarted, values(of: record))
        case .setup, .dialing, .alerting, .incoming, .waiting, .active, .held, .ended: break
        }
    }

    private func values(of address: BluetoothAddress) -> [String: String] {
        ["BTCALL_ADDRESS": "\(address)", "BTCALL_NAME": headsets.name(of: address)]
    }

    private func values(of record: CallRecord, _ reason: CallEndReason? = nil) -> [String: String] {
        let description = record.description
        return [
            "BTCALL_CALL": description.id, "BTCALL_NUMBER": description.number ?? "",
            "BTCALL_NAME": description.name ?? "", "BTCALL_PROVIDER": description.provider,
            "BTCALL_DIRECTION": description.direction.rawValue, "BTCALL_STATE": description.state.rawValue,
            "BTCALL_STATUS": description.status.rawValue,
            "BTCALL_ICON": description.icon, "BTCALL_REASON": reason?.rawValue ?? "",
        ]
    }

    /// - Parameter values: environment of the command, by variable name.
    private func run(_ event: HookEvent, _ values: [String: String], _ given: CommandWords? = nil) {
        guard let command = given ?? hooks[event] else { return }
        var environment = values
        environment["BTCALL_EVENT"] = event.rawValue
        environment["BTCALL_TIME"] = WallClock.now.iso8601
        runner.run(command, for: event, environment)
    }
}
