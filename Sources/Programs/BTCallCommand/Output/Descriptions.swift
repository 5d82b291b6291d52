import BTCall

extension Call {
    /// The other party in words, for example `Alice (5550100)`.
    var party: String { Self.party(name: name, number: number) }

    static func party(name: String?, number: String?) -> String {
        switch (name, number) {
        case (let name?, let number?): "\(name) (\(number))"
        case (let name?, nil): name
        case (nil, let number?): number
        case (nil, nil): "unknown number"
        }
    }
}

extension BridgeProblem {
    /// One line for people.
    var text: String { remedy.isEmpty ? what : "\(what): \(remedy)" }
}
