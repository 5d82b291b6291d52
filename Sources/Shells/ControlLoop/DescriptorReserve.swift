internal import Glibc

/// Descriptors that stay free for uses that must not fail: a message of the bus with descriptors (libdbus ends the
/// connection when it cannot take them), a headset's connection, a sound card.
///
/// The kernel gives the lowest free number. Code that opens a descriptor on a client's request closes it again if it has one
/// of the last numbers, so that clients cannot use up the last ones.
package enum DescriptorReserve {
    /// Reserved numbers below the limit (`RLIMIT_NOFILE`): one connection to the bus may need 47 at once.
    package static let count: Int32 = 48

    /// - Throws: `EMFILE` when a descriptor for a client has one of the last numbers; the caller closes it.
    package static func check(_ descriptors: [Int32]) throws(SystemError) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let last = Int32(clamping: limit.rlim_cur)
        // A very low limit has no room for the full reserve.
        let first = last - min(count, last / 4)
        guard descriptors.allSatisfy({ $0 < first }) else {
            throw SystemError(call: "descriptor", code: EMFILE)
        }
    }
}
