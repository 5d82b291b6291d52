/// A daemon may send any number: `-` stands for one that cannot be shown.
extension Double {
    /// The number with one decimal.
    package var tenths: String {
        guard isReadable else { return "-" }
        let value = Int((self * 10).rounded())
        return "\(value < 0 ? "-" : "")\(value.magnitude / 10).\(value.magnitude % 10)"
    }

    /// The number without decimals.
    package var whole: String { isReadable ? String(Int(rounded())) : "-" }

    private var isReadable: Bool { isFinite && magnitude < 1e9 }
}
