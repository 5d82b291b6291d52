import CommandKit
import Foundation
import TestSupport
import Testing

/// Code that would end the program at an unexpected number or text from outside.
@Suite struct TrapTests {
    private struct Place: Hashable, CustomStringConvertible {
        let path: String
        let line: String
        var description: String { "\(path): \(line)" }
    }

    /// Lines of code below `Sources` that fit, by file, without comments.
    private func places(of pattern: some RegexComponent, except folders: [String] = []) throws -> [Place] {
        try Page.paths(withSuffix: ".swift", under: ["Sources"]).sorted().flatMap { path -> [Place] in
            guard !folders.contains(where: { path.hasPrefix("Sources/\($0)/") }) else { return [] }
            return try RepositoryTests.contents(path).split(separator: "\n").compactMap { line in
                let code = String(line.drop { $0 == " " })
                return !code.hasPrefix("//") && code.contains(pattern) ? Place(path: path, line: code) : nil
            }
        }
    }

    @Test func `Nothing is forced, and nothing ends the program on purpose`() throws {
        #expect(try places(of: /\btry!|\bas!|\bfatalError\(|\.unsafelyUnwrapped\b/) == [])
    }

    @Test func `The size of a number is its magnitude: the least integer has no abs`() throws {
        // Of numbers with a fraction, and of samples of 16 bits in a wider integer.
        #expect(try places(of: /\babs\(/, except: ["Simulator/BTCallTrials"]) == [])
    }

    /// A conversion of a number with a fraction, which traps for NaN, for infinity and beyond the integer's range.
    private struct Bounded {
        let path: String
        /// A part of the line.
        let code: String
        let reason: String

        init(_ path: String, _ code: String, _ reason: String) {
            (self.path, self.code, self.reason) = ("Sources/\(path)", code, reason)
        }
    }

    private static let bounded: [Bounded] = [
        Bounded("Programs/CommandKit/Output/Double+Tenths.swift", "Int((self * 10).rounded())", "below 10^9"),
        Bounded("Programs/CommandKit/Output/Double+Tenths.swift", "String(Int(rounded()))", "below 10^9"),
        Bounded(
            "Programs/BTCallCommand/Live/LiveView.swift", "min(max(share, 0), 1) * Double(width)",
            "0…1 of a width, not NaN"),
        Bounded(
            "Programs/CommandKit/TestCall/TestCallReport.swift", "(decibels / 6).rounded(.up)",
            "of a sample of 16 bits"),
        Bounded(
            "Programs/BTCallCommand/Commands/WatchCommand.swift", "Int64(seconds * 1000)", "0.1…3600, two lines before"),
        Bounded(
            "Programs/BTCallCommand/Commands/TestCallCommand.swift", "Int64(seconds * 1000)",
            "0…86400, two lines before"),
        Bounded("Programs/BTCallCommand/Setup/SoundCheck.swift", "Int16(value * 32767)", "a sine of ours, far below 1"),
        Bounded("Daemon/HeadsetControl/Devices/PCMMixer.swift", "microphoneVolume * 100", "0…1, as it is accepted"),
        Bounded("Client/CallExchange/FarEnd.swift", "Int16(8192 * sin(", "a sine of ours, a quarter of full scale"),
        Bounded(
            "Daemon/HeadsetControl/VolumesAndBattery/BoardBattery.swift", "Int($0.rounded())", "0…100, in the same line"
        ),
    ]

    @Test func `A number with a fraction becomes an integer only where it is known to be one`() throws {
        // Samples and clocks of our own: the real-time code is proven by its tests, the bench measures and draws.
        let measured = ["RealTime", "Simulator/BTCallBench", "Simulator/BTCallTrials", "Programs/IntercomExample"]
        let conversion = /\bU?Int(8|16|32|64)?\(.*(\brounded\(|\bDouble\(|\bseconds \*|\/ \.(milli)?seconds\(|\* 32767)/
        var unused = Set(Self.bounded.map { "\($0.path): \($0.code)" })
        for place in try places(of: conversion, except: measured) {
            if place.line.contains(/\bU?Int(8|16|32|64)?\(exactly:/) { continue }
            let known = Self.bounded.first { $0.path == place.path && place.line.contains($0.code) }
            #expect(known != nil, "\(place): bound it, or add it here with the reason why it is bounded")
            if let known { unused.remove("\(known.path): \(known.code)") }
        }
        #expect(unused == [], "not there any more")
    }

    @Test func `A build for 32 bits is refused with one line`() throws {
        let compiler = Process()
        let output = Pipe()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // Without a library for that machine, which nothing in the file needs.
        compiler.arguments = [
            "swiftc", "-frontend", "-typecheck", "-target", "armv7-unknown-linux-gnueabihf", "-parse-stdlib",
            "-disable-implicit-concurrency-module-import", "-disable-implicit-string-processing-module-import",
            RepositoryTests.root.appending(path: "Sources/Pure/BluetoothTypes/WordSize.swift").path,
        ]
        compiler.standardError = output
        try compiler.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        compiler.waitUntilExit()
        #expect(compiler.terminationStatus == 1)
        #expect(text.split(separator: "\n").count { $0.contains("WordSize.swift:") } == 1, "\(text)")
        #expect(text.contains("error: btcall needs a 64-bit machine: build it for "), "\(text)")
    }
}
