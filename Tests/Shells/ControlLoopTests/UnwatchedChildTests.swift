import Glibc
import Testing

@testable import ControlLoop

@Suite @ControlPlane struct UnwatchedChildTests {
    @Test func `a child that the kernel cannot watch delays nobody`() async throws {
        let loop = ControlLoop.shared
        var child = pid_t()
        let words = ["sleep", "0.3"]
        let arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        try #require(posix_spawnp(&child, "sleep", nil, nil, arguments, environ) == 0)
        var turns = 0
        let others = Task { @ControlPlane in
            while !Task.isCancelled {
                turns += 1
                await loop.sleep(for: .milliseconds(10))
            }
        }
        await loop.waitUntilEnded(child) { (_, _) throws(SystemError) in
            throw SystemError(call: "epoll_ctl", code: ENOSPC)
        }
        others.cancel()
        #expect(turns >= 3)
        var status: Int32 = 0
        #expect(waitpid(child, &status, WNOHANG) == child && status == 0)
    }
}
