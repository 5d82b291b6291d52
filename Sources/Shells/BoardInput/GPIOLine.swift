import CBTCall
package import ControlLoop
import Glibc

/// One input line of a GPIO chip, watched through the character device (kernel 5.10 and later).
@ControlPlane
package final class GPIOLine {
    package enum Bias: String, Sendable, CaseIterable {
        /// As set by the board or its firmware.
        case unchanged, none, pullUp, pullDown
    }

    package private(set) var isActive: Bool
    package var onChange: (@ControlPlane () -> Void)?
    /// Called once when the chip has gone; the line is released then.
    package var onGone: (@ControlPlane () -> Void)?
    private let readValue: @ControlPlane () -> Bool?
    private var reader = LineEventReader()
    private var events: EventDescriptor?

    /// Debounce time in the kernel: a mechanical contact bounces for a few milliseconds.
    package nonisolated static let debounceMicroseconds: UInt32 = 10_000

    /// Requests a line from the kernel.
    ///
    /// - Parameters:
    ///   - chip: the name of the device node (`gpiochip0`), its path, or the chip's label (`pinctrl-bcm2711`).
    ///   - line: its number on the chip, from 0.
    ///   - isInverted: active is low.
    ///   - nodes: directory of the device nodes.
    package convenience init(
        chip: String, line: Int, isInverted: Bool, bias: Bias, nodes: String = "/dev"
    ) throws(BoardInputError) {
        let chip = try Self.open(chip, nodes)
        defer { Glibc.close(chip.descriptor) }
        guard let offset = UInt32(exactly: line), offset < chip.lines else {
            throw .lacks(device: chip.path, what: "line \(line)", others: ["lines 0 to \(Int(chip.lines) - 1)"])
        }
        let options =
            (isInverted ? BTCALL_GPIO_ACTIVE_LOW : 0)
            | {
                switch bias {
                case .unchanged: 0
                case .none: BTCALL_GPIO_NO_BIAS
                case .pullUp: BTCALL_GPIO_PULL_UP
                case .pullDown: BTCALL_GPIO_PULL_DOWN
                }
            }()
        let name = "\(chip.path) line \(line)"
        var descriptor = btcall_gpio_watch(
            chip.descriptor, offset, Int32(options), Self.debounceMicroseconds, "btcalld")
        if descriptor < 0, errno == EINVAL || errno == ENXIO || errno == EOPNOTSUPP {
            // Neither the chip nor this kernel can debounce the line.
            descriptor = btcall_gpio_watch(chip.descriptor, offset, Int32(options), 0, "btcalld")
        }
        guard descriptor >= 0 else {
            let code = errno
            throw code == ENXIO || code == EINVAL || code == EOPNOTSUPP
                ? .lacks(device: name, what: "interrupt, or not that bias", others: [])
                : BoardInputError(opening: name, call: "GPIO_V2_GET_LINE", code: code)
        }
        do throws(SystemError) {
            try self.init(descriptor: descriptor) {
                let value = btcall_gpio_value(descriptor)
                return value < 0 ? nil : value == 1
            }
        } catch {
            throw .failed(device: name, error)
        }
    }

    /// - Parameters:
    ///   - descriptor: non-blocking, gives `struct gpio_v2_line_event`; ownership passes, even if the initialiser throws.
    ///   - readValue: called at the beginning and by `refresh`; nil when the line does not answer.
    package init(descriptor: Int32, readValue: @escaping @ControlPlane () -> Bool?) throws(SystemError) {
        self.readValue = readValue
        isActive = false
        events = try EventDescriptor(
            descriptor, onBytes: { [weak self] bytes in self?.received(bytes) }, onGone: { [weak self] in self?.end() })
        isActive = readValue() ?? false
    }

    /// Releases the line; no callback follows.
    package func close() {
        onChange = nil
        onGone = nil
        events?.close()
        events = nil
    }

    /// Reads the line again, as a check; calls `onChange` if it differs. Kernels before 6.6 do not report a chip that goes
    /// away; this call notices it.
    package func refresh() {
        guard events != nil else { return }
        if let now = readValue() { adopt(now) } else { end() }
    }

    private func end() {
        let handler = onGone
        close()
        handler?()
    }

    private func received(_ bytes: ArraySlice<UInt8>) {
        // When its queue is full the kernel drops the oldest events: the last one always is the present state.
        if let last = reader.read(bytes).last { adopt(last) }
    }

    private func adopt(_ now: Bool) {
        guard now != isActive else { return }
        isActive = now
        onChange?()
    }

    struct Chip {
        let path: String
        let descriptor: Int32
        let lines: UInt32
    }

    static func open(_ wanted: String, _ nodes: String) throws(BoardInputError) -> Chip {
        if wanted.hasPrefix("/") { return try chip(wanted).chip }
        let names = Directory.names(nodes).filter { $0.hasPrefix("gpiochip") }
        if names.contains(wanted) { return try chip("\(nodes)/\(wanted)").chip }
        var others: [String] = []
        for name in names.sorted() {
            do throws(BoardInputError) {
                let (candidate, label) = try chip("\(nodes)/\(name)")
                if label == wanted { return candidate }
                Glibc.close(candidate.descriptor)
                others.append("\(name) (\(label))")
            } catch {
                others.append(name)
            }
        }
        throw .missing(device: "GPIO chip \(wanted)", others: others)
    }

    private static func chip(_ path: String) throws(BoardInputError) -> (chip: Chip, label: String) {
        let descriptor = Glibc.open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BoardInputError(opening: path, call: "open", code: errno) }
        var label = [CChar](repeating: 0, count: 32)
        var lines: UInt32 = 0
        guard btcall_gpio_chip(descriptor, &label, &lines) == 0 else {
            let code = errno
            Glibc.close(descriptor)
            throw .failed(device: path, SystemError(call: "GPIO_GET_CHIPINFO", code: code))
        }
        let text = String(decoding: label.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (Chip(path: path, descriptor: descriptor, lines: lines), text)
    }
}
