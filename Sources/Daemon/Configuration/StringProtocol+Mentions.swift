extension StringProtocol {
    /// Whether the text contains a word, compared byte by byte. `contains(_:)` of a string would link the regular expression
    /// library, 1.6 MB.
    package func mentions(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { wanted in
            var rest = utf8[...]
            while rest.count >= wanted.count {
                if rest.starts(with: wanted) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}
