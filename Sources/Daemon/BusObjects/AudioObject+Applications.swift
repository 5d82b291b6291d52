import AudioPaths
import BTCallAPI
package import CallControl
import ControlLoop
import DBus

// Manual rendering and taps: programs that replace the devices, or record calls.
extension AudioObject {
    func openManual(_ call: MethodCall) throws(APIError) -> [Value] {
        let options = try call.fields(0, .openManual)
        let isStream = try options.optionalBool("stream") ?? false
        let ends = try manual.open(AudioFormat(options: options), isStream: isStream, of: call.sender)
        return [.unixDescriptor(ends.uplink), .unixDescriptor(ends.downlink)]
    }

    func acquireManual(_ call: MethodCall) throws(APIError) -> [Value] {
        _ = try call.fields(0, .acquireManual)
        return [.unixDescriptor(try access.acquireManual(of: call.sender))]
    }

    func manualRenderingValue() -> Value { .bool(access.isManual) }

    func openTap(_ call: MethodCall) async throws(APIError) -> [Value] {
        let options = try TapOptions(call.fields(1, .openTap))
        let path = try call.path(0, "call")
        return [.unixDescriptor(try await taps.open(path, options, of: call.sender))]
    }

    func allowRecording(_ call: MethodCall) throws(APIError) {
        try taps.allow(call.path(0, "call"), call.flag(1), from: call.sender)
    }

    /// Reports a program that was refused to record a call, or that asks to.
    package func emitRecording(_ member: String, _ call: CallRecord, _ busName: String) {
        emit(member, [.objectPath(call.path), .string(busName)])
    }
}
