import BTCall
import BTCallJSON
import ControlLoop
import JSONText
import WebTokens

extension RouteTable {
    private static let dialled = Route.Field(name: "number", type: "string", meaning: "the number as dialled")

    static let callRoutes: [Route] =
        [
            Route(
                method: "GET", path: "/v1/calls", access: .scope(.read), summary: "The calls.", answer: "[Call]"
            ) { call in
                call.reply(.array(try await call.bridge.calls.list().map(\.json)))
            },
            Route(
                method: "GET", path: "/v1/calls/{call}", access: .scope(.read),
                summary: "One call, its route and link, and the quality of its audio.", answer: "CallDetails"
            ) { call in
                let status = try await call.bridge.status()
                return call.reply(
                    try call.service.find(call.parameters["call"] ?? "", among: status.calls).details(status))
            },
            Route(
                method: "POST", path: "/v1/calls", access: .scope(.calls),
                summary: "Calls a number through a telephony application.",
                body: [
                    dialled,
                    Route.Field(
                        name: "provider", type: "string", isRequired: false, meaning: "name of the application"),
                ], status: 201, answer: "Dialled"
            ) { call in
                let number = try call.body.text("number")
                let id = try await call.bridge.calls.place(number, provider: try call.body.optionalText("provider"))
                return call.reply(["call": .string(id.description), "number": .string(number)], status: 201)
            },
            Route(
                method: "POST", path: "/v1/calls/end", access: .scope(.calls), summary: "Ends every call.",
                answer: "[CallState]"
            ) { call in
                let present = try await call.bridge.calls.list()
                try await call.bridge.calls.removeAllCalls()
                return call.reply(.array(present.map { $0.json(.ended) }))
            },
            Route(
                method: "POST", path: "/v1/calls/swap", access: .scope(.calls),
                summary: "Holds the active call and resumes the held one.", answer: "Active"
            ) { call in
                try await call.bridge.calls.swap()
                return try await active(call)
            },
            Route(
                method: "POST", path: "/v1/calls/merge", access: .scope(.calls),
                summary: "Joins the active and the held call.", answer: "Active"
            ) { call in
                try await call.bridge.calls.conference()
                return try await active(call)
            },
            Route(
                method: "POST", path: "/v1/calls/{call}/tones", access: .scope(.calls),
                summary: "Sends tones to the far end.",
                body: [Route.Field(name: "tones", type: "string", meaning: "1 to 64 of 0123456789ABCD*#")],
                answer: "Tones"
            ) { call in
                let (chosen, tones) = (try await call.call(), try call.body.text("tones"))
                try await call.bridge.calls.sendDTMF(chosen.id, tones: tones)
                return call.reply(["call": .string(chosen.id.description), "tones": .string(tones)])
            },
            Route(
                method: "POST", path: "/v1/calls/incoming", access: .scopeOrSignature(.provider),
                summary: "Reports a call that arrives: the headsets ring.", body: CallPush.fields, status: 201,
                repeatedStatus: 200, answer: "Call"
            ) { call in
                let (json, isNew) = try await call.service.pushes.push(call.body)
                return call.reply(json, status: isNew ? 201 : 200)
            },
            Route(
                method: "POST", path: "/v1/calls/{call}/update", access: .scope(.provider),
                summary: "Reports what happened to a pushed call at the other side.",
                body: [
                    Route.Field(
                        name: "state", type: "string", words: ["active", "held", "ended"], meaning: "its new state"),
                    Route.Field(
                        name: "reason", type: "string", isRequired: false,
                        words: Call.EndReason.allCases.map(\.rawValue),
                        meaning: "why it ended"),
                ], answer: "CallState"
            ) { call in
                let chosen = try await call.call()
                guard let provider = call.service.providers.owner(of: chosen.id), provider.key == nil else {
                    throw WebError(409, "notProvider", "only calls that were pushed are updated here")
                }
                let states: [String: Call.State] = ["active": .active, "held": .held, "ended": .ended]
                let state = try call.body.word("state", states)
                try await provider.update(chosen.id, state, try WebSession.reason(call.body))
                return call.reply(chosen.json(state))
            },
            Route(
                method: "GET", path: "/v1/history", access: .scope(.read), summary: "Ended calls, latest first.",
                query: [
                    Route.Field(
                        name: "maximum", type: "integer", isRequired: false, range: 1...Int.max,
                        meaning: "at most this many; 1 or more")
                ], answer: "[PastCall]"
            ) { call in
                let text = call.request.query["maximum"]
                guard text == nil || text.flatMap({ Int($0) }).map({ $0 > 0 }) == true else {
                    throw WebError(400, "invalidArgument", "maximum is not accepted; it is a number of 1 or more")
                }
                return call.reply(
                    .array(try await call.bridge.calls.log(maximum: text.flatMap { Int($0) }).map(\.json)))
            },
            Route(
                method: "PUT", path: "/v1/muted", access: .scope(.calls), summary: "Mutes the calls, or unmutes them.",
                body: [Route.Field(name: "muted", type: "boolean", meaning: "whether they are muted")],
                answer: "Muted"
            ) { call in
                try await call.bridge.calls.setMuted(try call.body.flag("muted"))
                return call.reply(["muted": JSON(try await call.bridge.calls.isMuted())])
            },
            Route(
                method: "GET", path: "/v1/do-not-disturb", access: .scope(.read),
                summary: "Whether incoming calls are refused.", answer: "DoNotDisturb"
            ) { call in
                call.reply(["doNotDisturb": JSON(try await call.bridge.calls.isDoNotDisturb())])
            },
            Route(
                method: "PUT", path: "/v1/do-not-disturb", access: .scope(.calls),
                summary: "Refuses incoming calls, or lets them ring.",
                body: [
                    Route.Field(name: "doNotDisturb", type: "boolean", meaning: "whether incoming calls are refused")
                ], answer: "DoNotDisturb"
            ) { call in
                try await call.bridge.calls.setDoNotDisturb(try call.body.flag("doNotDisturb"))
                return call.reply(["doNotDisturb": JSON(try await call.bridge.calls.isDoNotDisturb())])
            },
        ] + [
            action("answer", "Answers a call.", .active) { calls, id in try await calls.answer(id) },
            action("end", "Ends a call, or rejects it.", .ended) { calls, id in try await calls.hangup(id) },
            action("hold", "Holds a call.", .held) { calls, id in try await calls.setHeld(id, true) },
            action("resume", "Resumes a call.", .active) { calls, id in try await calls.setHeld(id, false) },
        ]

    private static func action(
        _ word: String, _ summary: String, _ state: Call.State,
        _ body: @escaping @Sendable @ControlPlane (Calls, Call.ID) async throws -> Void
    ) -> Route {
        Route(
            method: "POST", path: "/v1/calls/{call}/\(word)", access: .scope(.calls), summary: summary,
            answer: "CallState"
        ) { call in
            let chosen = try await call.call()
            try await body(call.bridge.calls, chosen.id)
            return call.reply(chosen.json(state))
        }
    }

    @ControlPlane
    private static func active(_ call: RouteCall) async throws -> WebAnswer {
        let active = try await call.bridge.calls.list().filter { $0.state == .active }
        return call.reply(["active": .array(active.map { .string($0.id.description) })])
    }
}
