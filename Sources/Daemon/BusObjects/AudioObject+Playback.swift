import AudioPaths
import BTCallAPI
import ControlLoop
import DBus

// Audio that programs play to the far end, the ringer or the person.
extension AudioObject {
    func openInjection(_ call: MethodCall) throws(APIError) -> [Value] {
        let options = try call.fields(0, .openInjection)
        let isStream = try options.optionalBool("stream") ?? false
        let replacesMicrophone = try options.optionalBool("replacesMicrophone") ?? false
        let format = try AudioFormat(options: options)
        let descriptor = try applications.open(
            format, isStream: isStream, replacesMicrophone: replacesMicrophone, of: call.sender)
        return [.unixDescriptor(descriptor)]
    }

    func openPlayback(_ call: MethodCall) throws(APIError) -> [Value] {
        let options = try call.fields(0, .openPlayback)
        let isStream = try options.optionalBool("stream") ?? false
        let format = try AudioFormat(options: options)
        let request = try PlaybackRequest(options: options)
        let descriptor =
            switch request.destination {
            case .call: try applications.open(format, isStream: isStream, of: call.sender)
            case .ring, .page: try announcements.open(request, format, isStream: isStream, of: call.sender)
            }
        return [.unixDescriptor(descriptor)]
    }
}
