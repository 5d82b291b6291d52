import Foundation

/// How many random courses to try: `scripts/soak` asks for more by BTCALL_SOAK, a factor.
func randomCourses(_ usual: Int) -> Range<Int> {
    let factor = ProcessInfo.processInfo.environment["BTCALL_SOAK"].flatMap { Int($0) } ?? 1
    return 0..<usual * max(factor, 1)
}
