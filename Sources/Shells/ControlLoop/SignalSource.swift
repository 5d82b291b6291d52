internal import CBTCall
internal import Glibc

/// One handler of a signal that arrives through the loop instead of interrupting a thread.
@ControlPlane
package final class SignalSource {
    let signal: Int32
    fileprivate let handler: @ControlPlane () -> Void
    private weak var table: SignalTable?

    fileprivate init(signal: Int32, table: SignalTable, _ handler: @escaping @ControlPlane () -> Void) {
        self.signal = signal
        self.table = table
        self.handler = handler
    }

    /// Removes the handler; without handlers the signal has its default effect again.
    package func cancel() {
        table?.remove(self)
    }
}

/// All signals that the loop handles, on one signalfd.
@ControlPlane
final class SignalTable {
    private var descriptor: Int32 = -1
    private var source: DescriptorSource?
    private var handlers: [SignalSource] = []

    nonisolated init() {}

    func add(
        _ signal: Int32, on loop: ControlLoop, _ handler: @escaping @ControlPlane () -> Void
    ) throws(SystemError) -> SignalSource {
        let code = btcall_mask_signal(signal, 1)
        if code != 0 { throw SystemError(call: "sigaddset", code: code) }
        let added = SignalSource(signal: signal, table: self, handler)
        handlers.append(added)
        do {
            try update()
            if source == nil {
                source = try loop.add(descriptor, .readable) { [unowned self] _ in self.deliver() }
            }
        } catch {
            remove(added)
            throw error
        }
        return added
    }

    func remove(_ source: SignalSource) {
        guard let index = handlers.firstIndex(where: { $0 === source }) else { return }
        handlers.remove(at: index)
        guard !handlers.contains(where: { $0.signal == source.signal }) else { return }
        // A set that shrinks cannot fail on an open descriptor; the handler is gone in any case.
        try? update()
        _ = btcall_mask_signal(source.signal, 0)
    }

    private func update() throws(SystemError) {
        let numbers = Array(Set(handlers.map(\.signal)))
        descriptor = try SystemError.check("signalfd") {
            numbers.withUnsafeBufferPointer { btcall_signal_descriptor(descriptor, $0.baseAddress, $0.count) }
        }
    }

    private func deliver() {
        while case let signal = btcall_read_signal(descriptor), signal != 0 {
            for handler in handlers where handler.signal == signal { handler.handler() }
        }
    }
}
