import BoardInput
import Foundation
import Testing

/// A class directory like the kernel's, in a directory of the test's own.
struct ClassDirectory: ~Copyable {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-input-\(UUID())")

    func add(
        _ event: String, parent: String = "devices/platform/keys/input/input1", name: String, key: String = "0",
        sw: String = "0"
    ) throws {
        let device = root.appendingPathComponent(parent)
        let capabilities = device.appendingPathComponent("capabilities")
        try FileManager.default.createDirectory(at: capabilities, withIntermediateDirectories: true)
        try Data("\(name)\n".utf8).write(to: device.appendingPathComponent("name"))
        try Data("\(key)\n".utf8).write(to: capabilities.appendingPathComponent("key"))
        try Data("\(sw)\n".utf8).write(to: capabilities.appendingPathComponent("sw"))
        let node = device.appendingPathComponent(event)
        try FileManager.default.createDirectory(at: node, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            at: node.appendingPathComponent("device"), withDestinationURL: device)
        let classes = root.appendingPathComponent("class")
        try FileManager.default.createDirectory(at: classes, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            at: classes.appendingPathComponent(event), withDestinationURL: node)
    }

    var catalogue: InputCatalogue {
        InputCatalogue(
            nodes: root.appendingPathComponent("nodes").path, classes: root.appendingPathComponent("class").path)
    }

    deinit { try? FileManager.default.removeItem(at: root) }
}

@Suite struct InputCatalogueTests {
    @Test func `devices are listed in order with their keys, switches and card, and none is opened`() throws {
        let classes = ClassDirectory()
        try classes.add("event10", parent: "devices/pci/sound/card1/input10", name: "Board Headphone", sw: "4")
        // KEY_PHONE (169) is bit 41 of the third word.
        try classes.add(
            "event2", parent: "devices/platform/cradle/input/input2", name: "cradle", key: "20000000000 0 0")
        let all = classes.catalogue.all()
        #expect(all.map(\.name) == ["cradle", "Board Headphone"])
        #expect(all.map(\.card) == [nil, 1])
        #expect(all[0].codes == [.phone])
        #expect(all[1].codes == [.headphoneInserted])
        #expect(all[1].path.hasSuffix("/nodes/event10"))
    }

    @Test func `a device is found by its name and by a link that leads to its node`() throws {
        let classes = ClassDirectory()
        try classes.add("event3", name: "gpio-keys", sw: "14")
        let nodes = classes.root.appendingPathComponent("nodes/by-path")
        try FileManager.default.createDirectory(at: nodes, withIntermediateDirectories: true)
        try Data().write(to: classes.root.appendingPathComponent("nodes/event3"))
        let link = nodes.appendingPathComponent("platform-gpio-keys-event")
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "../event3")
        #expect(try classes.catalogue.find("gpio-keys").codes == [.headphoneInserted, .microphoneInserted])
        #expect(try classes.catalogue.find(link.path).name == "gpio-keys")
    }

    @Test func `the error of a missing device names the present ones`() throws {
        let classes = ClassDirectory()
        try classes.add("event0", name: "Power Button", key: "10000000000000 0")
        let error = #expect(throws: BoardInputError.self) { try classes.catalogue.find("cradle") }
        #expect(error?.description == "there is no input device cradle; there is Power Button")
        #expect(InputCatalogue(nodes: "/nonexistent", classes: "/nonexistent").all().isEmpty)
    }

    @Test func `an invalid bitmap gives no codes`() throws {
        let classes = ClassDirectory()
        try classes.add("event0", name: "odd", key: "zebra", sw: "")
        #expect(classes.catalogue.all().map(\.codes) == [[]])
    }
}
