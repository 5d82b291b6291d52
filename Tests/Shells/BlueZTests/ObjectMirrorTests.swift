import BluetoothTypes
import DBus
import Testing

@testable import BlueZ

@Suite
struct ObjectMirrorTests {
    let path = "/org/bluez/hci0/dev_00_1B_DC_08_00_11"

    func interfaces(_ properties: [String: Value]) -> Value {
        .dictionary("s", "a{sv}", [DictionaryEntry("org.bluez.Device1", .vardict(properties))])
    }

    @Test func `an object is kept with its known properties`() {
        var mirror = ObjectMirror()
        let result = mirror.apply(
            .added(path: path, interfaces: interfaces(["Connected": true, "TxPower": .int16(-40), "Name": "First"])))
        #expect(result.isDifferent)
        #expect(result.problems.isEmpty)
        #expect(mirror.objects == [path: ["org.bluez.Device1": ["Connected": true, "Name": "First"]]])
    }

    @Test func `a property of the wrong type keeps its earlier value and is reported`() {
        var mirror = ObjectMirror()
        _ = mirror.apply(.added(path: path, interfaces: interfaces(["Connected": true, "Name": "First"])))
        let result = mirror.apply(
            .changed(
                path: path, interface: "org.bluez.Device1",
                properties: .vardict(["Connected": "yes", "Name": "Other", "UUIDs": .string("none")]), invalidated: []))
        #expect(result.isDifferent)
        #expect(
            result.problems == [
                "org.bluez.Device1.Connected of \(path): type s, expected b",
                "org.bluez.Device1.UUIDs of \(path): type s, expected as",
            ])
        #expect(mirror.objects[path]?["org.bluez.Device1"] == ["Connected": true, "Name": "Other"])
    }

    @Test func `an invalidated property is forgotten`() {
        var mirror = ObjectMirror()
        _ = mirror.apply(.added(path: path, interfaces: interfaces(["Connected": true, "Name": "First"])))
        let result = mirror.apply(
            .changed(path: path, interface: "org.bluez.Device1", properties: .vardict([:]), invalidated: ["Name"]))
        #expect(result.isDifferent)
        #expect(mirror.objects[path]?["org.bluez.Device1"] == ["Connected": true])
    }

    @Test func `unrelated changes make no difference`() {
        var mirror = ObjectMirror()
        _ = mirror.apply(.added(path: path, interfaces: interfaces(["Connected": true])))
        let changes: [ObjectMirror.Change] = [
            .changed(
                path: path, interface: "org.bluez.Device1", properties: .vardict(["TxPower": .int16(-40)]),
                invalidated: []
            ),
            .changed(
                path: path, interface: "org.bluez.MediaControl1", properties: .vardict(["Connected": true]),
                invalidated: []),
            .changed(
                path: "/elsewhere", interface: "org.bluez.Device1", properties: .vardict(["Connected": false]),
                invalidated: []),
            .removed(path: path, interfaces: ["org.bluez.MediaControl1"]),
            .disconnected(path: path, reason: .timeout),
        ]
        for change in changes { #expect(mirror.apply(change) == (false, [])) }
    }

    @Test func `an object goes with its last interface`() {
        var mirror = ObjectMirror()
        _ = mirror.apply(.added(path: path, interfaces: interfaces(["Connected": true])))
        #expect(mirror.apply(.removed(path: path, interfaces: ["org.bluez.Device1"])).isDifferent)
        #expect(mirror.objects.isEmpty)
    }

    @Test(arguments: [Value.string("x"), .uint32(1), .array("s", ["a"]), .vardict(["org.bluez.Device1": "x"])])
    func `an answer that is no tree is reported and leaves the mirror empty`(value: Value) {
        var mirror = ObjectMirror()
        _ = mirror.replace(with: value)
        #expect(mirror.objects.values.filter { !$0.isEmpty }.isEmpty)
        #expect(!mirror.apply(.added(path: path, interfaces: value)).problems.isEmpty)
    }
}
