package import BTCallAPI
package import Telephony

extension CallCapabilities {
    package init(_ words: Set<ProviderOptions.Capability>) {
        self = []
        for word in words { formUnion(CallCapabilities(word: word.rawValue) ?? []) }
    }

    /// In the order of the alphabet; what the bus has no word for is left out.
    package var words: [String] {
        ProviderOptions.Capability.allCases.map(\.rawValue).filter { word in
            CallCapabilities(word: word).map(isSuperset(of:)) ?? false
        }.sorted()
    }
}

extension ProviderOptions {
    /// What a call can do of what is said of it: nothing that its application cannot do at all.
    package func limit(_ words: Set<Capability>) -> CallCapabilities {
        CallCapabilities(words.intersection(capabilities))
    }
}
