import BTCallAPI
import CallControl
import ControlLoop
import DBus

// Requests that last as long as the caller keeps a descriptor open.
extension RouterObject {
    func acquireSelection(_ call: MethodCall) throws(APIError) -> [Value] {
        _ = try call.fields(1, .acquireSelection)
        let device = try Self.device(call.text(0, "device", .word))
        try checkSelection(of: device)
        return [.unixDescriptor(try selections.select(device, for: call.sender))]
    }

    func interrupt(_ call: MethodCall) throws(APIError) -> [Value] {
        let resumes = try call.fields(1, .interrupt).optionalBool("resume") ?? true
        let source = try call.text(0, "source", .word)
        return [.unixDescriptor(try interruptions.begin(source, resumes: resumes, of: call.sender))]
    }
}
