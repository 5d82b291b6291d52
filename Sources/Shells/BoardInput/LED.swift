package import ControlLoop
import Glibc

/// A light that the kernel shows as a directory of the class `leds`.
@ControlPlane
package final class LED {
    private let path: String
    private let isInverted: Bool
    private let brightness: Int32
    private let brightest: Int
    private var isOpen = true

    /// Takes the light from its kernel trigger, and switches it off.
    ///
    /// - Parameters:
    ///   - path: the light's directory, `/sys/class/leds/NAME`.
    ///   - isInverted: the light is dark when on.
    package init(path: String, isInverted: Bool = false) throws(BoardInputError) {
        self.path = path
        self.isInverted = isInverted
        guard let text = Directory.text(path + "/max_brightness"), let brightest = Int(text), brightest > 0 else {
            let parent = path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
            throw .missing(device: "LED \(path)", others: Directory.names(parent).sorted())
        }
        self.brightest = brightest
        let trigger = path + "/trigger"
        if access(trigger, F_OK) == 0 { try Self.write("none", toFile: trigger) }
        brightness = try Self.open(path + "/brightness")
        do throws(BoardInputError) {
            try set(false)
        } catch {
            Glibc.close(brightness)
            throw error
        }
    }

    package func set(_ isOn: Bool) throws(BoardInputError) {
        guard isOpen else { return }
        let text = isOn != isInverted ? "\(brightest)\n" : "0\n"
        let count = text.utf8.count
        // From the beginning each time: the kernel takes a whole value, and a plain file shows the last.
        guard text.withCString({ pwrite(brightness, $0, count, 0) }) == count else {
            throw BoardInputError(opening: path + "/brightness", call: "write", code: errno)
        }
        // The kernel's attribute has no length; a plain file keeps nothing of a longer value.
        _ = ftruncate(brightness, off_t(count))
    }

    package func close() {
        guard isOpen else { return }
        isOpen = false
        Glibc.close(brightness)
    }

    private static func open(_ path: String) throws(BoardInputError) -> Int32 {
        do throws(FileRefusal) {
            return try ForeignFile.open(path, for: .writing)
        } catch {
            guard case .failed(let failure) = error.reason else { throw .unsuitable(device: path, problem: error.what) }
            throw BoardInputError(opening: path, call: failure.call, code: failure.code)
        }
    }

    private static func write(_ text: String, toFile path: String) throws(BoardInputError) {
        let descriptor = try open(path)
        defer { Glibc.close(descriptor) }
        // The kernel's attribute has no length.
        _ = ftruncate(descriptor, 0)
        let count = text.utf8.count
        guard text.withCString({ Glibc.write(descriptor, $0, count) }) == count else {
            throw BoardInputError(opening: path, call: "write", code: errno)
        }
    }
}
