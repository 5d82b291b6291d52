internal import Glibc

/// Descriptors that stay free for what must not fail for want of one: a message of the bus that brings some (libdbus ends the
/// connection when it cannot take them), a headset's connection, a sound card.
///
/// The kernel gives the lowest free number. Whoever opens a descriptor because a client asks for it gives one of the last numbers
/// back, so that clients cannot use up the last ones.
package enum DescriptorReserve {
    /// How many numbers below the limit (`RLIMIT_NOFILE`) are kept: what one connection to the bus may need at once, 47.
    package static let count: Int32 = 48

    /// - Throws: `EMFILE` when a descriptor that a client asked for has one of the last numbers; the caller closes it.
    package static func check(_ descriptors: [Int32]) throws(SystemError) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let last = Int32(clamping: limit.rlim_cur)
        // Where the limit is very low there is no room for a reserve as well.
        let first = last - min(count, last / 4)
        guard descriptors.allSatisfy({ $0 < first }) else {
            throw SystemError(call: "descriptor", code: EMFILE)
        }
    }
}
