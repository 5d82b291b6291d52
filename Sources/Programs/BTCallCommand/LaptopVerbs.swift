import CommandKit
import Glibc

/// Verbs of btcall-lab that may be typed as verbs of btcall: `btcall replay` and `btcall gateway` are in the scripts of others.
enum LaptopVerbs {
    private static let program = "btcall-lab"
    static let names: Set = ["bench", "decode", "demo", "gateway", "latency", "replay"]

    /// As a shell says that there is no such program.
    private static let notFound: Int32 = 127

    /// Becomes btcall-lab where the command line names one of its verbs: the one beside this program, else the one in PATH.
    ///
    /// Returns where it does not. Without btcall-lab the process ends and says which package has it.
    static func handOver(_ arguments: [String]) {
        guard let verb = verb(of: arguments) else { return }
        // Messages begin with the name that was typed.
        let words = [Program.name] + arguments
        var pointers = words.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        if let folder = Self.folder { _ = execv("\(folder)/\(program)", &pointers) }
        _ = execvp(program, &pointers)
        let reason = errno == ENOENT ? "" : " (\(String(cString: strerror(errno))))"
        Output.terminal.printError(
            "\(verb) is a verb of \(program), which is not here\(reason): install the package \(program), then `\(program) \(verb)`"
        )
        exit(notFound)
    }

    /// The verb of btcall-lab that a command line names, also one that help is wanted for.
    static func verb(of arguments: [String]) -> String? {
        let word = arguments.first == "help" ? arguments.dropFirst().first : arguments.first
        return word.flatMap { names.contains($0) ? $0 : nil }
    }

    /// Where this program is.
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
