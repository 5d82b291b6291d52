package import BTCallAPI
import ControlLoop

// Who dials an address: the scheme decides.
extension CallDirectory {
    /// The key of the provider that is to dial; nil lets the table choose among those that take plain numbers.
    ///
    /// - Parameter name: of the provider that is wanted; nil for any.
    /// - Throws: `noSuchProvider` with the providers there are, for a scheme that nobody takes.
    package func dialer(of address: CallAddress, _ name: String?) throws(APIError) -> String? {
        guard let scheme = address.scheme, scheme != CallAddress.numbers else { return name }
        let able = providers.filter { provider in
            let options = provider.owner.options
            return options.capabilities.contains(.dial) && (name == nil || provider.key == name)
                && (options.schemes.isEmpty || options.schemes.contains(scheme))
        }
        // Who says that it takes the scheme goes before who says nothing.
        guard let chosen = able.first(where: { !$0.owner.options.schemes.isEmpty }) ?? able.first else {
            let whose = name.map { "the provider \($0) does not take" } ?? "no registered provider takes"
            throw APIError(.noSuchProvider, "\(whose) \(scheme): addresses; registered: \(listOfSchemes)")
        }
        return chosen.key
    }

    /// `phone (sip, tel), gate (intercom), pager (does not dial)`.
    package var listOfSchemes: String {
        guard !providers.isEmpty else { return "nobody" }
        return providers.map { provider in
            let options = provider.owner.options
            let schemes = options.schemes.isEmpty ? "any" : options.schemes.joined(separator: ", ")
            return "\(provider.key) (\(options.capabilities.contains(.dial) ? schemes : "does not dial"))"
        }.joined(separator: ", ")
    }
}
