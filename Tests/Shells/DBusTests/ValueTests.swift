import Glibc
import Testing

@testable import DBus

struct ValueTests {
    @Test func `a property dictionary is sorted, and looked up through its variants`() {
        let value = Value.vardict(["b": .uint32(7), "a": "text", "c": .variant(.variant(true))])
        #expect(value.typeSignature == "a{sv}")
        #expect(value.entries?.map(\.key) == ["a", "b", "c"])
        #expect(value["a"]?.stringValue == "text")
        #expect(value["b"]?.uint32Value == 7)
        #expect(value["c"] == .bool(true))
        #expect(value["d"] == nil)
        #expect(value.vardictValue == ["a": "text", "b": .uint32(7), "c": true])
    }

    @Test func `conveniences look through variants and are nil for other types`() {
        #expect(Value.variant(.variant(.objectPath("/a"))).objectPathValue == "/a")
        #expect(Value.objectPath("/a").stringValue == "/a")
        #expect(Value.string("/a").objectPathValue == nil)
        #expect(Value.strings(["a", "b"]).stringsValue == ["a", "b"])
        #expect(Value.objectPaths(["/a"]).stringsValue == ["/a"])
        #expect(Value.bytes([1, 2]).bytesValue == [1, 2])
        #expect(Value.bytes([1, 2]).stringsValue == nil)
        #expect(Value.uint64(.max).integerValue == nil)
        #expect(Value.int16(-3).integerValue == -3)
        #expect(Value.bool(true).integerValue == nil)
        #expect(Value.uint32(1).int32Value == nil)
    }

    @Test func `a passed descriptor is closed once, by its owner`() throws {
        let file = open("/dev/null", O_RDONLY)
        do {
            let passed = PassedDescriptor(taking: file)
            #expect(passed.descriptor == file)
        }
        #expect(fcntl(file, F_GETFD) == -1)
        let taken = PassedDescriptor(taking: open("/dev/null", O_RDONLY))
        let copy = try PassedDescriptor(duplicating: taken.descriptor)
        let descriptor = taken.take()
        #expect(taken.take() == -1)
        #expect(taken.descriptor == -1)
        #expect(copy.descriptor != descriptor)
        #expect(close(descriptor) == 0)
    }

    @Test func `addresses are parsed from their text`() {
        #expect(BusAddress("system") == .system)
        #expect(BusAddress("session") == .session)
        #expect(BusAddress("unix:path=/x") == .address("unix:path=/x"))
        #expect(BusAddress("nonsense") == nil)
        #expect(BusAddress("") == nil)
    }

    @Test func `a match rule quotes apostrophes`() throws {
        let rule = MatchRule(sender: "a.b", pathNamespace: "/a", member: "C", argument0: "it's")
        #expect(rule.text == #"type='signal',sender='a.b',path_namespace='/a',member='C',arg0='it'\''s'"#)
        try rule.check()
        let namespace = MatchRule(member: "C", argument0Namespace: "a.b")
        #expect(namespace.text == "type='signal',member='C',arg0namespace='a.b'")
        try namespace.check()
        for (name, isBelow) in [("a.b", true), ("a.b.c", true), ("a.bc", false), ("a", false)] {
            #expect(namespace.matches(path: "/", interface: "i.i", member: "C") { name } == isBelow)
        }
        #expect(!namespace.matches(path: "/", interface: "i.i", member: "C") { nil })
        #expect(throws: BusError.self) { try MatchRule(argument0Namespace: "a'.b").check() }
        #expect(throws: BusError.self) { try MatchRule(path: "/a", pathNamespace: "/a").check() }
        #expect(throws: BusError.self) { try MatchRule(interface: "x'y.z").check() }
    }

    @Test(
        arguments: [
            ("/a", "/", true), ("/", "/", false), ("/a/b", "/a", true), ("/ab", "/a", false), ("/a", "/a", false),
            ("/a", "/a/b", false),
        ])
    func `a path is below another one only by whole components`(path: String, root: String, expected: Bool) {
        #expect(ObjectTree.isBelow(path, root) == expected)
    }
}
