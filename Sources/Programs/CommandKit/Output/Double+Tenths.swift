/// Numbers of a daemon may be anything: `-` stands for what is no number that a person reads.
extension Double {
    /// With one digit behind the point.
    package var tenths: String {
        guard isReadable else { return "-" }
        let value = Int((self * 10).rounded())
        return "\(value < 0 ? "-" : "")\(value.magnitude / 10).\(value.magnitude % 10)"
    }

    /// Without digits behind the point.
    package var whole: String { isReadable ? String(Int(rounded())) : "-" }

    private var isReadable: Bool { isFinite && magnitude < 1e9 }
}
