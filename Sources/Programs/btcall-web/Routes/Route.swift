import BTCall
import ControlLoop
import JSONText
import WebTokens

/// One row of the route table: a method and a path, who may use it, and what it does.
struct Route: Sendable {
    enum Access: Hashable, Sendable {
        /// No token is needed.
        case open
        case scope(WebScope)
        /// The scope, or a signature of the body.
        case scopeOrSignature(WebScope)
    }

    /// A member of a body, or a part of a query.
    struct Field: Sendable {
        let name: String
        /// As in docs/reference/JSON.md.
        let type: String
        var isRequired = true
        /// For a list of words.
        var words: [String] = []
        /// Accepted values of an integer, or numbers of characters of a string; nil: any.
        var range: ClosedRange<Int>?
        let meaning: String
    }

    let method: String
    /// Parts in braces are parameters: `/v1/calls/{call}`.
    let path: String
    let access: Access
    /// One line, for the description.
    let summary: String
    var query: [Field] = []
    /// Nil: a body is refused.
    var body: [Field]?
    var status = 200
    /// Status of the same answer for a request that had been made before; nil: there is none.
    var repeatedStatus: Int?
    /// Type of the answer as in docs/reference/JSON.md, or of ``WebSchema``; nil: it is not JSON.
    let answer: String?
    /// Media type of the answer.
    var mediaType = "application/json"
    let handler: @Sendable @ControlPlane (RouteCall) async throws -> WebAnswer

    var scope: WebScope? {
        switch access {
        case .open: nil
        case .scope(let scope), .scopeOrSignature(let scope): scope
        }
    }

    var parts: [Substring] { Array(path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()) }

    var parameters: [String] { parts.filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) } }

    /// - Returns: the parameters of a path; nil for other routes.
    func match(_ path: String) -> [String: String]? {
        let (own, given) = (parts, path.split(separator: "/", omittingEmptySubsequences: false).dropFirst())
        guard own.count == given.count else { return nil }
        var values: [String: String] = [:]
        for (part, text) in zip(own, given) {
            if part.hasPrefix("{") {
                guard !text.isEmpty else { return nil }
                values[String(part.dropFirst().dropLast())] = String(text)
            } else if part != text {
                return nil
            }
        }
        return values
    }
}

/// One request to a route.
@ControlPlane
struct RouteCall {
    let service: WebService
    let request: WebRequest
    let principal: WebPrincipal
    let parameters: [String: String]
    let body: MessageFields

    var bridge: CallBridge { service.bridge }

    /// An answer, without callers for those who may not see them.
    func reply(_ json: JSON, status: Int = 200) -> WebAnswer {
        .response(WebResponse(status, principal.seesCallers ? json : CallerPrivacy.hidden(json)))
    }

    /// The call that the path names.
    func call() async throws -> Call {
        let id = parameters["call"] ?? ""
        return try await service.call(id)
    }

    /// The headset that the path names.
    func headset() throws(WebError) -> DeviceChoice {
        let address = parameters["address"] ?? ""
        guard let device = DeviceChoice("bluetooth:\(address)") else {
            throw WebError(400, "invalidArgument", "the address is not accepted; it is AA:BB:CC:DD:EE:FF")
        }
        return device
    }

    /// The device that a member of the body names; none for null or without it.
    func device(_ key: String) throws -> DeviceChoice {
        guard let text = try body.optionalText(key) else { return .none }
        guard let device = DeviceChoice(text) else {
            throw WebError(
                400, "invalidArgument",
                "\(key) is not accepted; it is speakerphone, wiredHeadset, earpiece, bluetooth or bluetooth:ADDRESS")
        }
        return device
    }
}
