import CBTCall
import Glibc
import Testing

@Suite struct ForbiddenProgramTests {
    /// Observations of a thread that has given up programs.
    private struct Findings {
        var forbidden: Int32 = -1
        var spawned: Int32 = -1
        var process: pid_t = -1
    }

    @Test func `a thread that has given up programs starts none, and keeps working`() {
        var findings = Findings()
        withUnsafeMutablePointer(to: &findings) { findings in
            var thread = pthread_t()
            // In a thread of its own, because this cannot be undone.
            let code = pthread_create(
                &thread, nil,
                { context in
                    let findings = context?.assumingMemoryBound(to: Findings.self)
                    findings?.pointee.forbidden = btcall_forbid_programs(0)
                    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
                    var child = pid_t()
                    findings?.pointee.spawned = posix_spawn(&child, "/bin/true", nil, nil, &arguments, nil)
                    free(arguments[0])
                    findings?.pointee.process = getpid()
                    return nil
                }, findings)
            #expect(code == 0)
            pthread_join(thread, nil)
        }
        #expect(findings.forbidden == 0)
        #expect(findings.spawned == EPERM)
        #expect(findings.process == getpid())
    }
}
