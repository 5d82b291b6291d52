import CommandKit
import Glibc

/// Verbs of btcall-lab that also work as verbs of btcall: existing scripts use `btcall replay` and `btcall gateway`.
enum LaptopVerbs {
    private static let program = "btcall-lab"
    static let names: Set = ["bench", "decode", "demo", "gateway", "latency", "replay"]

    /// A shell's exit status for a program that does not exist.
    private static let notFound: Int32 = 127

    /// Replaces this process with btcall-lab when the command line names one of its verbs: the program beside this one,
    /// otherwise the one in PATH.
    ///
    /// Returns for other verbs. Without btcall-lab the process ends and names the package that has it.
    static func handOver(_ arguments: [String]) {
        guard let verb = verb(of: arguments) else { return }
        // Messages begin with the typed name.
        let words = [Program.name] + arguments
        var pointers = words.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        if let folder = Self.folder { _ = execv("\(folder)/\(program)", &pointers) }
        _ = execvp(program, &pointers)
        let reason = errno == ENOENT ? "" : " (\(String(cString: strerror(errno))))"
        Output.terminal.printError(
            "\(verb) is a verb of \(program), which is not installed\(reason): install the package \(program), then `\(program) \(verb)`"
        )
        exit(notFound)
    }

    /// The verb of btcall-lab on a command line, or in a request for help about it.
    static func verb(of arguments: [String]) -> String? {
        let word = arguments.first == "help" ? arguments.dropFirst().first : arguments.first
        return word.flatMap { names.contains($0) ? $0 : nil }
    }

    /// The directory of this program.
    private static var folder: String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = bytes.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map {
                readlink("/proc/self/exe", $0.assumingMemoryBound(to: CChar.self), bytes.count)
            } ?? -1
        }
        guard count > 0 else { return nil }
        return bytes[..<count].lastIndex(of: UInt8(ascii: "/")).map { String(decoding: bytes[..<$0], as: UTF8.self) }
    }
}
