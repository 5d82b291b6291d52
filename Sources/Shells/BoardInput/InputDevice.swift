import CBTCall
package import ControlLoop
import Glibc

/// Watches some keys and switches of one input device; the others are filtered out.
@ControlPlane
package final class InputDevice {
    /// Whether each of the codes is on now.
    package private(set) var states: [InputCode: Bool]
    /// Called after one of them has changed.
    package var onChange: (@ControlPlane () -> Void)?
    /// Called once when the device has gone; it is closed then.
    package var onGone: (@ControlPlane () -> Void)?
    private let readStates: @ControlPlane () -> [InputCode: Bool]?
    private var reader = InputEventReader()
    private var events: EventDescriptor?

    /// Opens the device node for reading.
    ///
    /// - Parameter codes: the device must have them; see `InputNode`.
    package convenience init(path: String, codes: Set<InputCode>) throws(BoardInputError) {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw BoardInputError(opening: path, call: "open", code: errno) }
        Self.select(codes, of: descriptor)
        do throws(SystemError) {
            try self.init(descriptor: descriptor, codes: codes) { Self.states(of: codes, descriptor) }
        } catch {
            throw .failed(device: path, error)
        }
    }

    /// - Parameters:
    ///   - descriptor: non-blocking, gives `struct input_event`; ownership passes, even if the initialiser throws.
    ///   - readStates: called at the beginning and whenever events were lost; nil when the device does not answer.
    package init(
        descriptor: Int32, codes: Set<InputCode>, readStates: @escaping @ControlPlane () -> [InputCode: Bool]?
    ) throws(SystemError) {
        self.readStates = readStates
        states = Dictionary(uniqueKeysWithValues: codes.map { ($0, false) })
        events = try EventDescriptor(
            descriptor, onBytes: { [weak self] bytes in self?.received(bytes) }, onGone: { [weak self] in self?.end() })
        if let now = readStates() { states.merge(now) { $1 } }
    }

    /// Closes the device; no callback follows.
    package func close() {
        onChange = nil
        onGone = nil
        events?.close()
        events = nil
    }

    /// Reads the states again, as a check; calls `onChange` if one differs.
    package func refresh() {
        guard events != nil, let now = readStates() else { return }
        adopt(now)
    }

    private func end() {
        let handler = onGone
        close()
        handler?()
    }

    private func received(_ bytes: ArraySlice<UInt8>) {
        var now = states
        for event in reader.read(bytes) {
            switch event {
            case .changed(let code, let isOn): if now[code] != nil { now[code] = isOn }
            case .dropped: if let read = readStates() { now.merge(read) { $1 } }
            }
        }
        adopt(now)
    }

    private func adopt(_ now: [InputCode: Bool]) {
        guard now != states else { return }
        states = now
        onChange?()
    }

    private static func select(_ codes: Set<InputCode>, of descriptor: Int32) {
        // An old kernel lets everything through; the reader then drops the unwanted codes.
        _ = btcall_input_select(
            descriptor, bits(codes, .key), bits(codes, .switch), Int(BTCALL_INPUT_BYTES))
    }

    private static func bits(_ codes: Set<InputCode>, _ kind: InputCode.Kind) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(BTCALL_INPUT_BYTES))
        for code in codes where code.kind == kind && code.number < InputCode.limit {
            bytes[Int(code.number / 8)] |= 1 << (code.number % 8)
        }
        return bytes
    }

    private static func states(of codes: Set<InputCode>, _ descriptor: Int32) -> [InputCode: Bool]? {
        var states: [InputCode: Bool] = [:]
        for kind in Set(codes.map(\.kind)) {
            var bytes = [UInt8](repeating: 0, count: Int(BTCALL_INPUT_BYTES))
            let size = btcall_input_state(descriptor, kind == .switch ? 1 : 0, &bytes, bytes.count)
            guard size >= 0 else { return nil }
            for code in codes where code.kind == kind && code.number < InputCode.limit {
                states[code] = bytes[Int(code.number / 8)] & 1 << (code.number % 8) != 0
            }
        }
        return states
    }
}
