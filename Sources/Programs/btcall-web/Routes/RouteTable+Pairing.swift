import BTCall
import BTCallJSON
import ControlLoop
import JSONText
import WebTokens

extension RouteTable {
    static let pairingRoutes: [Route] = [
        Route(
            method: "GET", path: "/v1/pairing", access: .scope(.read),
            summary: "The pairing window, and what was found since it opened.", answer: "Pairing"
        ) { call in
            call.reply(try await call.service.events.pairing())
        },
        Route(
            method: "POST", path: "/v1/pairing", access: .scope(.pair), summary: "Opens the pairing window.",
            body: [
                Route.Field(
                    name: "seconds", type: "integer", isRequired: false, range: 1...600,
                    meaning: "1 to 600; \(Pairing.usualSeconds) without it")
            ], status: 202, answer: "Pairing"
        ) { call in
            let seconds = try call.body.optionalNumber("seconds") ?? Pairing.usualSeconds
            try await call.service.events.openPairing(seconds: seconds)
            return call.reply(try await call.service.events.pairing(), status: 202)
        },
        Route(
            method: "DELETE", path: "/v1/pairing", access: .scope(.pair), summary: "Closes the pairing window.",
            answer: "Pairing"
        ) { call in
            try await call.bridge.pairing.close()
            return call.reply(try await call.service.events.pairing())
        },
        Route(
            method: "PUT", path: "/v1/headsets/{address}/trust", access: .scope(.pair),
            summary: "Sets whether a paired headset may connect on its own.",
            body: [Route.Field(name: "trusted", type: "boolean", meaning: "whether it may")], answer: "Trust"
        ) { call in
            _ = try call.headset()
            let (address, isTrusted) = (call.parameters["address"] ?? "", try call.body.flag("trusted"))
            try await call.bridge.pairing.trust(address, isTrusted)
            return call.reply(["address": .string(address), "trusted": JSON(isTrusted)])
        },
        Route(
            method: "DELETE", path: "/v1/headsets/{address}", access: .scope(.pair), summary: "Unpairs a headset.",
            answer: "Forgotten"
        ) { call in
            _ = try call.headset()
            let address = call.parameters["address"] ?? ""
            try await call.bridge.pairing.forget(address)
            return call.reply(["address": .string(address), "paired": false])
        },
    ]

    static let settingRoutes: [Route] = [
        Route(
            method: "GET", path: "/v1/settings", access: .scope(.read), summary: "The settings of btcalld.",
            answer: "[Setting]"
        ) { call in
            call.reply(.array(try await call.bridge.settings().map(\.json)))
        },
        Route(
            method: "GET", path: "/v1/settings/{name}", access: .scope(.read), summary: "One setting.",
            answer: "Setting"
        ) { call in
            call.reply(try await setting(call).json)
        },
        Route(
            method: "PUT", path: "/v1/settings/{name}", access: .scope(.admin), summary: "Changes a setting.",
            body: [Route.Field(name: "value", type: "string", meaning: "as in btcalld.conf")], answer: "Setting"
        ) { call in
            try await call.bridge.setSetting(try await setting(call).key, to: try call.body.text("value"))
            return call.reply(try await setting(call).json)
        },
        Route(
            method: "DELETE", path: "/v1/settings/{name}", access: .scope(.admin),
            summary: "Returns a setting to the file's value.", answer: "Setting"
        ) { call in
            try await call.bridge.resetSetting(try await setting(call).key)
            return call.reply(try await setting(call).json)
        },
    ]

    @ControlPlane
    private static func setting(_ call: RouteCall) async throws -> Setting {
        let name = call.parameters["name"] ?? ""
        guard let setting = try await call.bridge.settings().first(where: { $0.key == name }) else {
            throw WebError(404, "noSuchPath", "there is no such setting: GET /v1/settings lists all, as SECTION.KEY")
        }
        return setting
    }

    static let streamRoutes: [Route] = [
        Route(
            method: "GET", path: "/v1/events", access: .scope(.read),
            summary: "Events as server-sent events, beginning with the present state.",
            query: [
                Route.Field(
                    name: "levels", type: "boolean", isRequired: false, meaning: "whether the levels are sent")
            ], answer: nil, mediaType: "text/event-stream"
        ) { call in
            try call.service.stream(call)
        },
        Route(
            method: "GET", path: "/v1/socket", access: .scope(.read),
            summary: "The WebSocket. A request without an upgrade is refused.", answer: nil, mediaType: "websocket"
        ) { _ in
            throw WebError(
                426, "badRequest", "this is a WebSocket: send Upgrade: websocket",
                headers: [("Upgrade", "websocket"), ("Connection", "Upgrade")])
        },
    ]
}
