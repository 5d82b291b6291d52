import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import TestSupport
import Testing

@testable import BlueZ

@Suite @ControlPlane
struct BatteryProviderTests {
    private let first = BlueZFixture.first
    private let second = BlueZFixture.second

    private func provider(_ fixture: BlueZFixture) async throws -> (BatteryProvider, DeviceRegistry) {
        let registry = DeviceRegistry(bus: fixture.bus, logger: fixture.log.logger)
        let provider = BatteryProvider(bus: fixture.bus, registry: registry, logger: fixture.log.logger)
        registry.events.subscribe { [weak provider] _ in provider?.refresh() }
        try await eventually { registry.isServicePresent }
        return (provider, registry)
    }

    private func battery(_ fixture: BlueZFixture, _ address: BluetoothAddress) -> String? {
        fixture.fake.battery(of: address).map { "\($0.percent) \($0.source ?? "-")" }
    }

    @Test func `a battery appears with the first report, changes, and goes with its headset`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let (provider, registry) = try await provider(fixture)
        #expect(fixture.fake.batteryProviders.isEmpty)
        provider.set(.init(percent: 70, source: "HFP AT+BIEV"), of: first)
        try await eventually { battery(fixture, first) == "70 HFP AT+BIEV" }
        try await eventually { registry.device(first)?.battery == 70 }
        #expect(fixture.fake.batteryProviders.map(\.path) == ["/org/btcall/battery/hci0"])
        provider.set(.init(percent: 20, source: "HFP AT+XEVENT"), of: second)
        provider.set(.init(percent: 60, source: "HFP AT+BIEV"), of: first)
        try await eventually { battery(fixture, first) == "60 HFP AT+BIEV" }
        try await eventually { battery(fixture, second) == "20 HFP AT+XEVENT" }
        // bluetoothd reads the source once; other programs see its present value.
        provider.set(.init(percent: 50, source: "HFP AT+CSRBATT"), of: first)
        try await eventually { battery(fixture, first) == "50 HFP AT+BIEV" }
        let object = "/org/btcall/battery/hci0/dev_\(first.pathComponent)"
        let watcher = try BusConnection(fixture.privateBus.address)
        defer { watcher.close() }
        let owner = try #require(fixture.fake.batteryProviders.first?.owner)
        let all = try await watcher.call(
            owner, object, BlueZNames.properties, "GetAll", [.string(BlueZNames.batteryProvider)]
        ).first
        #expect(all?["Source"] == "HFP AT+CSRBATT" && all?["Percentage"] == .byte(50))
        #expect(all?["Device"]?.objectPathValue == registry.device(first)?.path)
        provider.set(nil, of: first)
        try await eventually { battery(fixture, first) == nil }
        #expect(battery(fixture, second) == "20 HFP AT+XEVENT" && fixture.fake.batteryProviders.count == 1)
        provider.stop()
        try await eventually { fixture.fake.batteryProviders.isEmpty && battery(fixture, second) == nil }
    }

    @Test func `batteries are registered again after bluetoothd or the adapter has come back`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let (provider, _) = try await provider(fixture)
        provider.set(.init(percent: 70, source: "HFP AT+BIEV"), of: first)
        try await eventually { battery(fixture, first) == "70 HFP AT+BIEV" }
        fixture.fake.stop()
        #expect(battery(fixture, first) == nil)
        provider.set(.init(percent: 50, source: "HFP AT+BIEV"), of: first)
        try await fixture.fake.start()
        try await eventually { battery(fixture, first) == "50 HFP AT+BIEV" }
        fixture.fake.remove(path: "/org/bluez/hci0")
        try await eventually { fixture.fake.batteryProviders.isEmpty }
        fixture.fake.addAdapter(address: BlueZFixture.adapter)
        fixture.fake.addHeadset(first, name: "First")
        try await eventually { battery(fixture, first) == "50 HFP AT+BIEV" }
        #expect(fixture.fake.batteryProviders.count == 1)
    }

    @Test func `the battery of a headset on another adapter is registered on that adapter`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let other = BluetoothAddress(value: 0x001B_DC08_0013)
        fixture.fake.addAdapter("hci1", address: BluetoothAddress(value: 0x001B_DC07_0002))
        fixture.fake.addHeadset(other, name: "Third", adapter: "/org/bluez/hci1")
        let (provider, registry) = try await provider(fixture)
        try await eventually { registry.device(other) != nil }
        provider.set(.init(percent: 30, source: "HFP AT+BIEV"), of: other)
        provider.set(.init(percent: 40, source: "HFP AT+BIEV"), of: first)
        try await eventually { battery(fixture, other) == "30 HFP AT+BIEV" }
        try await eventually { battery(fixture, first) == "40 HFP AT+BIEV" }
        #expect(Set(fixture.fake.batteryProviders.map(\.adapter)) == ["/org/bluez/hci0", "/org/bluez/hci1"])
    }

    @Test func `a bluetoothd that accepts no batteries is reported once, however many headsets come`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        fixture.fake.takesBatteries = false
        let (provider, _) = try await provider(fixture)
        let expected = "info: bluetoothd does not accept the battery levels of headsets"
        func told() -> Int { fixture.log.all.count { $0.hasPrefix(expected) } }
        provider.set(.init(percent: 70, source: "HFP AT+BIEV"), of: first)
        try await eventually { told() == 1 }
        provider.set(.init(percent: 60, source: "HFP AT+BIEV"), of: first)
        try await fixture.fake.restart()
        // The second bluetoothd accepts them: its call shows that the first one's answer did not end the registration.
        fixture.fake.takesBatteries = true
        try await fixture.fake.restart()
        try await eventually { battery(fixture, first) == "60 HFP AT+BIEV" }
        #expect(told() == 1)
    }
}

@ControlPlane
private func eventually(
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: @ControlPlane () -> Bool
) async throws {
    try await eventually("the state is reached", sourceLocation: sourceLocation, condition)
}
