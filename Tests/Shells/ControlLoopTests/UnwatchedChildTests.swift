import Glibc
import Testing

@testable import ControlLoop

@Suite @ControlPlane struct UnwatchedChildTests {
    @Test func `a child that the kernel cannot watch delays nobody`() async throws {
        let loop = ControlLoop.shared
        var child = pid_t()
        let words = ["sleep", "20"]
        let arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        try #require(posix_spawnp(&child, "sleep", nil, nil, arguments, environ) == 0)
        let others = Task { @ControlPlane [child] in
            for _ in 1...3 { await loop.sleep(for: .milliseconds(10)) }
            kill(child, SIGKILL)
        }
        await loop.waitUntilEnded(child) { (_, _) throws(SystemError) in
            throw SystemError(call: "epoll_ctl", code: ENOSPC)
        }
        await others.value
        var status: Int32 = 0
        #expect(waitpid(child, &status, WNOHANG) == child && status == SIGKILL)
    }
}
