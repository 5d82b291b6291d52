package import BTCallAPI
package import Telephony

extension CallCapabilities {
    package init(_ words: Set<ProviderOptions.Capability>) {
        self = []
        for word in words { formUnion(CallCapabilities(word: word.rawValue) ?? []) }
    }

    /// The bus's words for the capabilities, in alphabetical order; a capability without a word is left out.
    package var words: [String] {
        ProviderOptions.Capability.allCases.map(\.rawValue).filter { word in
            CallCapabilities(word: word).map(isSuperset(of:)) ?? false
        }.sorted()
    }
}

extension ProviderOptions {
    /// The capabilities of a call: those reported for it that its application registered.
    package func limit(_ words: Set<Capability>) -> CallCapabilities {
        CallCapabilities(words.intersection(capabilities))
    }
}
