import ArgumentParser
import BTCall

/// The other party of a call made elsewhere, and the devices that the call may use.
struct ReportedPartyArguments: ParsableArguments, Sendable {
    private static let kinds = Call.Route.allCases.map(\.rawValue).joined(separator: ", ")

    @Argument(help: "The other party's number; empty when withheld.")
    var number: String

    @Option(help: "The other party's name.")
    var name: String?

    @Option(
        name: .customLong("route"),
        help: ArgumentHelp(
            "A kind of device that the call may use: \(kinds); once for each. By default it may use all.",
            valueName: "kind"),
        completion: .list(Call.Route.allCases.map(\.rawValue)), transform: ReportedPartyArguments.route)
    var routes: [Call.Route] = []

    private static func route(_ word: String) throws -> Call.Route {
        guard let route = Call.Route(rawValue: word) else { throw ValidationError("accepted: \(kinds)") }
        return route
    }
}
