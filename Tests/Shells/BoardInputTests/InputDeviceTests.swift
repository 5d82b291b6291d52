import BluetoothTypes
import BoardInput
import ControlLoop
import Glibc
import TestSupport
import Testing

/// The kernel's end of a device: a socket pair in its place.
struct Far {
    let descriptor: Int32
    let near: Int32

    init() throws {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
        (near, descriptor) = (pair[0], pair[1])
    }

    func write(_ bytes: [UInt8]) { #expect(Glibc.write(descriptor, bytes, bytes.count) == bytes.count) }
    func hangUp() { close(descriptor) }
}

/// The kernel's answers to queries.
@ControlPlane
private final class Truth<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
}

@Suite @ControlPlane struct InputDeviceTests {
    @Test func `the initial state is known, and every change is reported once`() async throws {
        let far = try Far()
        let device = try InputDevice(descriptor: far.near, codes: [.headphoneInserted, .phone]) {
            [.headphoneInserted: true, .phone: false]
        }
        var told: [[InputCode: Bool]] = []
        device.onChange = { told.append(device.states) }
        #expect(device.states == [.headphoneInserted: true, .phone: false])
        far.write(Wire.plug(true) + Wire.event(1, 30, 1) + Wire.report)
        far.write(Wire.phone(1))
        try await eventually("the key is seen") { device.states[.phone] == true }
        far.write(Wire.plug(false))
        try await eventually("the plug is seen") { device.states[.headphoneInserted] == false }
        #expect(told == [[.headphoneInserted: true, .phone: true], [.headphoneInserted: false, .phone: true]])
        device.close()
        far.hangUp()
    }

    @Test func `lost events are made good by reading the states again`() async throws {
        let far = try Far()
        let truth = Truth([InputCode.phone: false])
        let device = try InputDevice(descriptor: far.near, codes: [.phone]) { truth.value }
        truth.value = [.phone: true]
        far.write(Wire.dropped)
        try await eventually("the key is seen") { device.states[.phone] == true }
        truth.value = [.phone: false]
        var changes = 0
        device.onChange = { changes += 1 }
        device.refresh()
        device.refresh()
        #expect(changes == 1)
        device.close()
        far.hangUp()
    }

    @Test func `the removal of a device is reported once`() async throws {
        let far = try Far()
        let device = try InputDevice(descriptor: far.near, codes: [.phone]) { nil }
        #expect(device.states == [.phone: false])
        var ends = 0
        device.onGone = { ends += 1 }
        far.hangUp()
        try await eventually("the end is seen") { ends > 0 }
        device.close()
        #expect(ends == 1)
    }

    @Test func `a line reports its level at the beginning and after each edge`() async throws {
        let far = try Far()
        let level = Truth(true)
        let line = try GPIOLine(descriptor: far.near) { level.value }
        var told: [Bool] = []
        line.onChange = { told.append(line.isActive) }
        #expect(line.isActive)
        far.write(Wire.edge(2))
        try await eventually("it is inactive") { !line.isActive }
        // A short pulse within one read is no change.
        far.write(Wire.edge(1) + Wire.edge(2))
        far.write(Wire.edge(1))
        try await eventually("it is active") { line.isActive }
        level.value = false
        line.refresh()
        #expect(told == [false, true, false])
        line.close()
        far.hangUp()
    }

    @Test func `a line that no longer answers counts as gone`() async throws {
        let far = try Far()
        let truth = Truth<Bool?>(true)
        let line = try GPIOLine(descriptor: far.near) { truth.value }
        var ends = 0
        line.onGone = { ends += 1 }
        line.refresh()
        #expect(ends == 0)
        truth.value = nil
        line.refresh()
        line.refresh()
        #expect(ends == 1)
        far.hangUp()
    }

    @Test func `errors of nodes that cannot be opened name them, with a remedy`() {
        #expect(throws: BoardInputError.missing(device: "/nonexistent", others: [])) {
            try InputDevice(path: "/nonexistent", codes: [.phone])
        }
        #expect(throws: BoardInputError.missing(device: "GPIO chip gpiochip77", others: [])) {
            try GPIOLine(chip: "gpiochip77", line: 1, isInverted: false, bias: .unchanged, nodes: "/nonexistent")
        }
        // A file that is no chip: the kernel's own text.
        let error = #expect(throws: BoardInputError.self) {
            try GPIOLine(chip: "/dev/null", line: 1, isInverted: false, bias: .pullUp)
        }
        #expect(error?.description.contains("GPIO_GET_CHIPINFO") == true)
        let denied = BoardInputError.denied(path: "/dev/input/event3")
        #expect(denied.remedy.contains("70-btcall.rules"))
        // The errno of a light in /sys under a unit that protects the kernel's tunables.
        let readOnly = BoardInputError(opening: "/sys/class/leds/mic/trigger", call: "open", code: EROFS)
        #expect(readOnly == .readOnly(path: "/sys/class/leds/mic/trigger"))
        #expect(readOnly.remedy.contains("ProtectKernelTunables"))
    }
}
