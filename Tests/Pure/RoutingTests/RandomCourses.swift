import Foundation

/// How many batches of random courses to try. BTCALL_SOAK is a factor: `scripts/soak` asks for more by it, the
/// mutations for less.
func randomCourses(_ usual: Int) -> Range<Int> {
    let factor = ProcessInfo.processInfo.environment["BTCALL_SOAK"].flatMap { Double($0) } ?? 1
    return 0..<max(Int((Double(usual) * factor).rounded(.up)), 1)
}
