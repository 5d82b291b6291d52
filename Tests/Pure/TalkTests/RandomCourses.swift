import Foundation

/// Number of random courses: `scripts/soak` multiplies it by BTCALL_SOAK.
func randomCourses(_ usual: Int) -> Range<Int> {
    let factor = ProcessInfo.processInfo.environment["BTCALL_SOAK"].flatMap { Int($0) } ?? 1
    return 0..<usual * max(factor, 1)
}
