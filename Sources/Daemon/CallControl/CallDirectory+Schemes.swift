package import BTCallAPI
import ControlLoop

// The choice of the provider that dials an address, by its scheme.
extension CallDirectory {
    /// The key of the provider that dials; nil lets the table choose among those that take plain numbers.
    ///
    /// - Parameter name: the requested provider; nil for any.
    /// - Throws: `noSuchProvider` with the registered providers, for a scheme that none of them takes.
    package func dialer(of address: CallAddress, _ name: String?) throws(APIError) -> String? {
        guard let scheme = address.scheme, scheme != CallAddress.numbers else { return name }
        let able = providers.filter { provider in
            let options = provider.owner.options
            return options.capabilities.contains(.dial) && (name == nil || provider.key == name)
                && (options.schemes.isEmpty || options.schemes.contains(scheme))
        }
        // A provider that registered the scheme goes before one that registered none.
        guard let chosen = able.first(where: { !$0.owner.options.schemes.isEmpty }) ?? able.first else {
            let whose = name.map { "the provider \($0) does not take" } ?? "no registered provider takes"
            throw APIError(.noSuchProvider, "\(whose) \(scheme): addresses; registered: \(listOfSchemes)")
        }
        return chosen.key
    }

    /// A text such as `phone (sip, tel), gate (intercom), pager (does not dial)`.
    package var listOfSchemes: String {
        guard !providers.isEmpty else { return "nobody" }
        return providers.map { provider in
            let options = provider.owner.options
            let schemes = options.schemes.isEmpty ? "any" : options.schemes.joined(separator: ", ")
            return "\(provider.key) (\(options.capabilities.contains(.dial) ? schemes : "does not dial"))"
        }.joined(separator: ", ")
    }
}
