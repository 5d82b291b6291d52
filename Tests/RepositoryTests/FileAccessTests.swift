import Foundation
import Testing

/// Files are opened in few places, each with its reason: `ForeignFile` opens files of others, `OwnFile` writes files.
@Suite struct FileAccessTests {
    /// Sources by their paths, without comments.
    private func sources() throws -> [(path: String, lines: [Substring])] {
        let folder = RepositoryTests.root.appending(path: "Sources")
        let names = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
        return try names.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".c") }.sorted().map { name in
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            return (name, text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") })
        }
    }

    /// Sources with a line that has the one and not the other.
    private func places(of pattern: some RegexComponent, but exception: Regex<Substring>? = nil) throws -> Set<String> {
        let places = try sources().filter { source in
            source.lines.contains { line in
                line.contains(pattern) && exception.map { !line.contains($0) } != false
            }
        }
        return Set(places.map(\.path))
    }

    @Test func `Files are read through ForeignFile, but for what the kernel shows and what a person names`() throws {
        let opening = try places(
            of: /\bO_RD(ONLY|WR)\b|\bfopen\(|Data\(contentsOf|contentsOfFile/, but: /"\/proc\/|"\/dev\/null"/)
        #expect(
            opening == [
                // The one place.
                "Shells/ControlLoop/ForeignFile.swift",
                // A directory, to sync it.
                "Shells/ControlLoop/OwnFile.swift",
                // Memory of its own, by /proc/self/fd.
                "C/CBTCall/control.c",
                // Below /sys and /dev.
                "C/CVideo/video.c", "C/CPictures/outlet.c", "Shells/Pictures/Pipeline.swift",
                "Daemon/HeadsetControl/Quirks/ControllerFacts.swift", "Shells/BoardInput/GPIOLine.swift",
                "Shells/BoardInput/InputDevice.swift",
                // A FIFO that a person names, without waiting.
                "Programs/BTCallCommand/Provider/RawAudio.swift",
                // The limits of `btcall-lab bench`, and what a speech synthesiser has just written, for developers.
                "Programs/btcall-lab/Commands/BenchCommand.swift", "Simulator/BTCallBench/Demo/SpeechSource.swift",
            ])
    }

    @Test func `Files are made through OwnFile, but for those that a person names`() throws {
        let making = try places(of: /\bO_CREAT\b|createFile\(|atomically: true/)
        #expect(
            making.subtracting([
                // Pages and pictures of a program that a person runs.
                "Programs/IntercomExample/Main.swift", "Simulator/BTCallBench/Demo/DemoResult.swift",
                "Simulator/BTCallSimulator/FakeBlueZBus.swift",
            ]) == ["Shells/ControlLoop/OwnFile.swift"])
    }

    @Test func `Nothing gets its mode or its owner by a path that may lead elsewhere meanwhile`() throws {
        #expect(try places(of: /\b(chmod|chown|lchown)\(/).isEmpty)
    }
}
