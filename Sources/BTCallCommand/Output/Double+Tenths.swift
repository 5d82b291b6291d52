extension Double {
    /// With one digit behind the point; `-` for what is no number that a person reads.
    var tenths: String {
        guard isFinite, abs(self) < 1e9 else { return "-" }
        let value = Int((self * 10).rounded())
        return "\(value < 0 ? "-" : "")\(abs(value) / 10).\(abs(value) % 10)"
    }
}
