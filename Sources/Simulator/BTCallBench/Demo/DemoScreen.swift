package import ControlLoop
import Foundation

/// Shows a demonstration on a terminal: the steps as they occur, and one line with route and level meters.
@ControlPlane
package final class DemoScreen {
    private let isTerminal = isatty(1) == 1
    private var hasMeter = false

    /// Words for the reasons of route changes in `btcall why`.
    private static let words = [
        "callStarted": "the call has begun", "newDeviceAvailable": "a headset has connected",
        "linkSilent": "the headset delivers no audio any more", "linkLoss": "the headset is gone",
    ]

    package nonisolated init() {}

    package func show(_ progress: Demonstration.Progress) {
        switch progress {
        case .step(let number, let title): line("\(number). \(title)")
        case .route("none", _): line("   the call has no device any more")
        case .route(let device, let reason): line("   the call is on \(device): \(Self.words[reason] ?? reason)")
        case .note(let text): line("   \(text)")
        case .comparing(let done, let count):
            let text = "   comparing the recordings with the speech: \(done) of \(count)"
            guard isTerminal else { return done == count ? line(text) : () }
            print("\r\u{1B}[K\(text)", terminator: "")
            hasMeter = true
            fflush(nil)
        case .levels(let seconds, let route, let farEnd, let heard):
            guard isTerminal else { return }
            let time = String(format: "%5.1f s", seconds)
            let name = route.padding(toLength: 10, withPad: " ", startingAt: 0)
            print(
                "\r\u{1B}[K\(time)  \(name)  far end \(Self.meter(farEnd))  person \(Self.meter(heard))", terminator: ""
            )
            hasMeter = true
            fflush(nil)
        }
    }

    /// Ends the meter's line.
    package nonisolated func finish() {
        if isatty(1) == 1 { print("\r\u{1B}[K", terminator: "") }
    }

    private func line(_ text: String) {
        print(hasMeter ? "\r\u{1B}[K\(text)" : text)
        hasMeter = false
        fflush(nil)
    }

    /// Ten cells over 40 dB.
    private static func meter(_ peak: Int) -> String {
        let decibels = peak > 0 ? 20 * log10(Double(peak) / 32768) : -100
        let cells = max(0, min(10, Int((decibels + 40) / 4)))
        return String(repeating: "█", count: cells) + String(repeating: "·", count: 10 - cells)
    }
}
