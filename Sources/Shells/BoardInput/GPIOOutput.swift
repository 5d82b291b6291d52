import CBTCall
package import ControlLoop
import Glibc

/// One output line of a GPIO chip, through the character device (kernel 5.10 and later). It is off at first, and released
/// when closed.
@ControlPlane
package final class GPIOOutput {
    private let name: String
    private var descriptor: Int32

    /// Requests a line from the kernel.
    ///
    /// - Parameters:
    ///   - chip: the name of the device node (`gpiochip0`), its path, or the chip's label (`pinctrl-bcm2711`).
    ///   - line: its number on the chip, from 0.
    ///   - isInverted: on is low.
    ///   - nodes: directory of the device nodes.
    package init(chip: String, line: Int, isInverted: Bool, nodes: String = "/dev") throws(BoardInputError) {
        let chip = try GPIOLine.open(chip, nodes)
        defer { Glibc.close(chip.descriptor) }
        guard let offset = UInt32(exactly: line), offset < chip.lines else {
            throw .lacks(device: chip.path, what: "line \(line)", others: ["lines 0 to \(Int(chip.lines) - 1)"])
        }
        name = "\(chip.path) line \(line)"
        descriptor = btcall_gpio_output(
            chip.descriptor, offset, isInverted ? Int32(BTCALL_GPIO_ACTIVE_LOW) : 0, "btcalld")
        guard descriptor >= 0 else {
            throw BoardInputError(opening: name, call: "GPIO_V2_GET_LINE", code: errno)
        }
    }

    package func set(_ isOn: Bool) throws(BoardInputError) {
        guard descriptor >= 0 else { return }
        guard btcall_gpio_set(descriptor, isOn ? 1 : 0) == 0 else {
            throw BoardInputError(opening: name, call: "GPIO_V2_LINE_SET_VALUES", code: errno)
        }
    }

    package func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }
}
