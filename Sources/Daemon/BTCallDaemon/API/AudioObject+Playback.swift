import BTCallAPI
import ControlLoop
package import DBus

// What programs let people hear, at the far end or here.
extension AudioObject {
    package func openPlayback() -> ExportedInterface.Method {
        let applications = applications
        let announcements = announcements
        return .init(BTCallName.Audio.openPlayback, in: [("options", "a{sv}")], out: [("audio", "h")]) {
            call async throws(BusError) in
            try reply { () throws(APIError) in
                let options = try Fields(argument(call, 0), of: "options")
                let isStream = try options.optionalBool("stream") ?? false
                let format = try AudioFormat(options: options)
                let wish = try PlaybackWish(options: options)
                let descriptor =
                    switch wish.destination {
                    case .call: try applications.open(format, isStream: isStream, of: call.sender)
                    case .ring, .page:
                        try announcements.open(wish, format, isStream: isStream, of: call.sender)
                    }
                return [.unixDescriptor(descriptor)]
            }
        }
    }
}
