import ControlLoop

/// The values of a stream so far.
@ControlPlane
final class StreamLog<Element: Sendable> {
    private(set) var elements: [Element] = []
    private var task: Task<Void, Never>?

    init(_ stream: AsyncStream<Element>) {
        task = Task { @ControlPlane [weak self] in
            for await element in stream { self?.elements.append(element) }
        }
    }

    deinit { task?.cancel() }

    /// Returns when the stream has ended.
    func end() async { await task?.value }
}
