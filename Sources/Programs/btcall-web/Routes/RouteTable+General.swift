import BTCall
import BTCallAPI
import BTCallJSON
import ControlLoop
import JSONText
import WebTokens

extension RouteTable {
    static let generalRoutes: [Route] = [
        Route(
            method: "GET", path: "/v1", access: .scope(.read), summary: "The server, and what this client may do.",
            answer: "Server"
        ) { call in
            let principal = call.principal
            return call.reply([
                "version": .string(ProductVersion.current), "api": 1, "scopes": JSON(principal.words),
                "expiresAt": principal.expiresAt.map { JSON.string(WallClock(milliseconds: $0 * 1000).iso8601) }
                    ?? .null,
            ])
        },
        Route(
            method: "POST", path: "/v1/tokens", access: .scope(.admin),
            summary: "Makes a token for another client; on the Unix socket only.",
            body: [
                Route.Field(name: "scopes", type: "[string]", meaning: "what the client may do"),
                Route.Field(
                    name: "subject", type: "string", isRequired: false, range: 1...WebToken.longestSubject,
                    meaning: "its name in the log"),
                Route.Field(
                    name: "seconds", type: "integer", isRequired: false, range: 1...Int(TokenKeys.longestLife),
                    meaning: "the token's life; 3600"),
            ], status: 201, answer: "Token"
        ) { call in
            call.reply(try call.service.token(call), status: 201)
        },
        Route(
            method: "GET", path: "/v1/openapi.json", access: .open, summary: "This description.", answer: "object"
        ) { _ in
            .response(WebResponse(200, OpenAPIDescription.json(RouteTable.routes)))
        },
        Route(
            method: "GET", path: "/v1/status", access: .scope(.read),
            summary: "Where the audio is, the calls, and what is wrong.", answer: "Status"
        ) { call in
            call.reply(try await call.bridge.status().json)
        },
        Route(
            method: "GET", path: "/v1/why", access: .scope(.read), summary: "Why the audio is where it is.",
            answer: "Explanation"
        ) { call in
            call.reply(try await call.bridge.audioDeviceManager.explain().json)
        },
        Route(
            method: "GET", path: "/v1/doctor", access: .scope(.read), summary: "What the doctor finds.",
            answer: "Doctor"
        ) { call in
            try await call.service.doctor(call)
        },
        Route(
            method: "POST", path: "/v1/test-call", access: .scope(.calls),
            summary: "Lets headsets ring for a call whose far end is this machine, and says what was heard.",
            body: [
                Route.Field(
                    name: "seconds", type: "integer", isRequired: false, range: 1...60,
                    meaning: "1 to 60: of talk; 15 without it")
            ], answer: "TestCall"
        ) { call in
            try await call.service.testCall(seconds: try call.body.optionalNumber("seconds") ?? 15, call)
        },
        Route(
            method: "GET", path: "/metrics", access: .scope(.read), summary: "Metrics in the OpenMetrics format.",
            answer: nil, mediaType: "application/openmetrics-text"
        ) { call in
            let text = try await call.bridge.metrics()
            return .response(
                WebResponse(
                    200, type: "application/openmetrics-text; version=1.0.0; charset=utf-8", Array(text.utf8)))
        },
    ]
}
