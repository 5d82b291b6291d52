package import ControlLoop
package import Testing

/// Collects values from handlers, for a test to wait for.
@ControlPlane
package final class Mailbox<Element: Sendable> {
    package private(set) var elements: [Element] = []
    private var waiting: (count: Int, continuation: CheckedContinuation<Void, Never>, timer: Timer)?

    package nonisolated init() {}

    package func put(_ element: Element) {
        elements.append(element)
        if let waiting, elements.count >= waiting.count { wake() }
    }

    /// Waits for `count` elements, at most five seconds, and removes all of them.
    package func take(_ count: Int = 1, sourceLocation: SourceLocation = #_sourceLocation) async -> [Element] {
        if elements.count < count {
            await withCheckedContinuation { continuation in
                guard elements.count < count else { return continuation.resume() }
                let timer = ControlLoop.shared.schedule(after: .seconds(30)) {
                    Issue.record("waited for \(count), got \(self.elements)", sourceLocation: sourceLocation)
                    self.wake()
                }
                waiting = (count, continuation, timer)
            }
        }
        defer { elements = [] }
        return elements
    }

    private func wake() {
        let woken = waiting
        waiting = nil
        woken?.timer.cancel()
        woken?.continuation.resume()
    }
}
