import BTCallAPI
import BluetoothTypes
import ControlLoop
package import DBus

// Which ways the audio and video of a call go.
extension CallsObject {
    package static func mediaMethods(of record: CallRecord, _ calls: CallDirectory) -> [ExportedInterface.Method] {
        typealias Name = BTCallName.Call
        return [
            .init(Name.setMedia, in: [("media", "a{sv}")]) { call async throws(BusError) in
                try await asyncReply { () async throws(APIError) in
                    let options = try MediaOptions(Fields(argument(call, 0), of: "media"))
                    try await calls.changeMedia(of: record, options)
                }
            },
            .init(Name.requestMediaChange, in: [("media", "a{sv}")]) { call async throws(BusError) in
                try await asyncReply { () async throws(APIError) in
                    let options = try MediaOptions(Fields(argument(call, 0), of: "media"))
                    try await calls.requestMediaChange(of: record, options, from: call.sender)
                }
            },
            .init(Name.answerMediaChange, in: [("accepted", "b")]) { call async throws(BusError) in
                try reply { () throws(APIError) in
                    try calls.answerMediaChange(
                        of: record, argument(call, 0).boolValue ?? false, from: call.sender)
                    return []
                }
            },
        ]
    }

    package static func mediaProperties(of record: CallRecord, _ calls: CallDirectory) -> [ExportedInterface.Property] {
        typealias Name = BTCallName.Call
        return [
            .init(Name.audio, "s", get: { .string(record.media.audio.rawValue) }),
            .init(Name.video, "s", get: { .string(record.media.video.rawValue) }),
            .init(
                Name.localAudioEnabled, "b", get: { .bool(record.media.isLocalAudioEnabled) },
                set: { value throws(BusError) in calls.setLocalAudio(value.boolValue ?? true, of: record) }),
            .init(
                Name.localVideoEnabled, "b", get: { .bool(record.media.isLocalVideoEnabled) },
                set: { value throws(BusError) in
                    _ = try reply { () throws(APIError) in
                        try calls.setLocalVideo(value.boolValue ?? true, of: record)
                        return []
                    }
                }),
        ]
    }

    package func mediaChangeRequested(_ record: CallRecord, _ media: MediaState) {
        bus.emit(
            path: record.path, interface: BTCallName.Interface.call, member: BTCallName.Call.mediaChangeRequested,
            [.vardict(media.fields)])
    }
}
