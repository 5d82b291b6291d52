package import AudioEngine
package import BTCallAPI
import ControlLoop
package import DBus

// Manual rendering and taps: what programs do in place of the devices, or hear beside them.
extension AudioObject {
    package static func methods(_ manual: ManualRendering, _ taps: CallTaps) -> [ExportedInterface.Method] {
        typealias Name = BTCallName.Audio
        return [
            .init(Name.openManual, in: [("options", "a{sv}")], out: [("uplink", "h"), ("downlink", "h")]) {
                call async throws(BusError) in
                try reply { () throws(APIError) in
                    let options = try Fields(argument(call, 0), of: "options")
                    guard options.values["device"] == nil else {
                        throw APIError(
                            .notSupported,
                            "device is not offered: in manual rendering the audio is on no device, a headset included")
                    }
                    let isStream = try options.optionalBool("stream") ?? false
                    let format = try AudioFormat(options: options)
                    let ends = try manual.open(format, isStream: isStream, of: call.sender)
                    return [.unixDescriptor(ends.uplink), .unixDescriptor(ends.downlink)]
                }
            },
            .init(Name.openTap, in: [("call", "o"), ("options", "a{sv}")], out: [("audio", "h")]) {
                call async throws(BusError) in
                do throws(APIError) {
                    let options = try TapOptions(Fields(argument(call, 1), of: "options"))
                    let path = try text(call, 0, "call", .address)
                    return [.unixDescriptor(try await taps.open(path, options, of: call.sender))]
                } catch {
                    throw error.busError
                }
            },
            .init(Name.allowRecording, in: [("call", "o"), ("allowed", "b")]) { call async throws(BusError) in
                try reply { () throws(APIError) in
                    let path = try text(call, 0, "call", .address)
                    try taps.allow(path, argument(call, 1).boolValue ?? false, from: call.sender)
                    return []
                }
            },
        ]
    }

    package static var signals: [ExportedInterface.SignalDescription] {
        typealias Name = BTCallName.Audio
        return [
            .init(Name.recordingDenied, [("call", "o"), ("client", "s")]),
            .init(Name.recordingRequested, [("call", "o"), ("client", "s")]),
        ]
    }

    /// Tells of somebody who may not record a call, or who asks to.
    package func emitRecording(_ member: String, _ call: CallRecord, _ busName: String) {
        bus.emit(
            path: BTCallPath.audio, interface: BTCallName.Interface.audio, member: member,
            [.objectPath(call.path), .string(busName)])
    }

    /// What is counted of both.
    package func addApplications(_ counters: EngineCounters, to statistics: inout AudioStatistics) {
        if let counter = counters.manual, let owner = manual.holder {
            var entry = AudioStatistics.Manual(owner: owner)
            entry.blocksIn = UInt64(clamping: counter.blocksTaken)
            entry.missing = UInt64(clamping: counter.blocksMissing)
            entry.bad = UInt64(clamping: counter.blocksBad)
            entry.blocksOut = UInt64(clamping: counter.blocksGiven)
            entry.dropped = UInt64(clamping: counter.blocksDropped)
            statistics.manual = entry
        }
        for counter in counters.taps {
            guard let tap = taps.tap(counter.id) else { continue }
            var entry = AudioStatistics.Tap(call: tap.call.path, owner: tap.owner)
            entry.blocks = UInt64(clamping: counter.blocksSent)
            entry.dropped = UInt64(clamping: counter.blocksDropped)
            statistics.taps.append(entry)
        }
    }
}
