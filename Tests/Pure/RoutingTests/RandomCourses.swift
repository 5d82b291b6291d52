import Foundation

/// Number of batches of random courses, multiplied by BTCALL_SOAK: `scripts/soak` runs more, the mutations fewer.
func randomCourses(_ usual: Int) -> Range<Int> {
    let factor = ProcessInfo.processInfo.environment["BTCALL_SOAK"].flatMap { Double($0) } ?? 1
    return 0..<max(Int((Double(usual) * factor).rounded(.up)), 1)
}
