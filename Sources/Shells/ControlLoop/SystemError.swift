internal import CBTCall
internal import Glibc

/// A failed system call with its error number.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    package let call: String
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Takes the calling thread's `errno`: create it before anything else can change it.
    package init(_ call: String) {
        self.init(call: call, code: errno)
    }

    /// Runs a system call, again while it is interrupted, and returns its result; throws if that is negative.
    package static func check(_ call: String, _ body: () -> Int32) throws(SystemError) -> Int32 {
        while true {
            let result = body()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { throw SystemError(call: call, code: code) }
        }
    }

    /// As in "connect: Connection refused (ECONNREFUSED)".
    package var description: String {
        let text = strerror(code).map { String(cString: $0) } ?? "error"
        let name = btcall_error_name(code).map { String(cString: $0) } ?? "errno \(code)"
        return "\(call): \(text) (\(name))"
    }
}
