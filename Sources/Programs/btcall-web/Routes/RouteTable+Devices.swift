import BTCall
import BTCallJSON
import ControlLoop
import JSONText
import WebTokens

extension RouteTable {
    private static func device(_ type: String, _ meaning: String) -> [Route.Field] {
        [Route.Field(name: "device", type: type, meaning: meaning)]
    }

    private static func volume(_ role: AudioDeviceManager.VolumeRole) -> Route.Field {
        Route.Field(
            name: role.rawValue, type: "integer", isRequired: false, range: 0...role.highest,
            meaning: "0 to \(role.highest)")
    }

    static let deviceRoutes: [Route] = [
        Route(
            method: "GET", path: "/v1/devices", access: .scope(.read), summary: "The devices that calls can use.",
            answer: "[Device]"
        ) { call in
            call.reply(.array(try await call.bridge.audioDeviceManager.audioDevices().map(\.json)))
        },
        Route(
            method: "PUT", path: "/v1/route", access: .scope(.route),
            summary: "Moves the present or the next call to a device.",
            body: device("device?", "null withdraws the choice"), answer: "Selected"
        ) { call in
            let manager = call.bridge.audioDeviceManager
            let device = try call.device("device")
            if device == .none { try await manager.clearSelection() } else { try await manager.select(device) }
            return call.reply(["selected": try await manager.selectedAudioDevice().json])
        },
        Route(
            method: "PUT", path: "/v1/route/preferred", access: .scope(.route), summary: "Sets the preferred device.",
            body: device("device?", "null removes the preference"), answer: "Preferred"
        ) { call in
            let manager = call.bridge.audioDeviceManager
            try await manager.setAudioDevice(try call.device("device"))
            return call.reply(["preferred": try await manager.preferredAudioDevice().json])
        },
        Route(
            method: "PUT", path: "/v1/route/fallback", access: .scope(.route), summary: "Sets the fallback device.",
            body: device("device?", "null leaves it to the platform's order"), answer: "Fallback"
        ) { call in
            let manager = call.bridge.audioDeviceManager
            try await manager.setDefaultAudio(try call.device("device"))
            return call.reply(["fallback": try await manager.defaultAudioDevice().json])
        },
        Route(
            method: "GET", path: "/v1/volumes", access: .scope(.read), summary: "The volumes of connected headsets.",
            answer: "[Volumes]"
        ) { call in
            call.reply(.array(try await connected(call.bridge).map(\.volumes)))
        },
        Route(
            method: "PUT", path: "/v1/volumes/{address}", access: .scope(.route), summary: "Sets a headset's volumes.",
            body: AudioDeviceManager.VolumeRole.allCases.map(volume), answer: "[Volumes]"
        ) { call in
            let headset = try call.headset()
            for role in AudioDeviceManager.VolumeRole.allCases {
                guard let value = try call.body.optionalNumber(role.rawValue) else { continue }
                try await call.bridge.audioDeviceManager.setVolume(value, of: role, on: headset)
            }
            let present = try await connected(call.bridge).filter { $0.choice == headset }
            return call.reply(.array(present.map(\.volumes)))
        },
        Route(
            method: "POST", path: "/v1/headsets/{address}/connect", access: .scope(.route),
            summary: "Connects a paired headset.", answer: "Connection"
        ) { call in
            try await call.bridge.audioDeviceManager.connect(try call.headset())
            return call.reply(["address": JSON(call.parameters["address"]), "connected": true])
        },
        Route(
            method: "POST", path: "/v1/headsets/{address}/disconnect", access: .scope(.route),
            summary: "Disconnects a headset.", answer: "Connection"
        ) { call in
            try await call.bridge.audioDeviceManager.disconnect(try call.headset())
            return call.reply(["address": JSON(call.parameters["address"]), "connected": false])
        },
    ]

    @ControlPlane
    private static func connected(_ bridge: CallBridge) async throws -> [AudioDevice] {
        try await bridge.audioDeviceManager.audioDevices().filter { $0.speakerVolume != nil || $0.mediaVolume != nil }
    }
}
