package import Foundation
import FoundationXML

/// The declarations of an interface file in `dbus/`.
package struct InterfaceFile {
    /// Signatures as `in -> out`.
    package var methods: [String: String] = [:]
    /// Names of methods' dictionary arguments (`a{sv}`), by method.
    package var dictionaries: [String: String] = [:]
    package var signals: [String: String] = [:]
    package var properties: [String: String] = [:]
    package var writableProperties: Set<String> = []

    /// Names of all members.
    package var members: Set<String> { Set(methods.keys).union(signals.keys).union(properties.keys) }

    package static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "dbus")

    /// - Parameter name: the interface; also the file's name.
    package init(_ name: String) throws {
        try self.init(name, in: Data(contentsOf: Self.directory.appending(path: "\(name).xml")))
    }

    /// - Parameter data: introspection data, as of a file or of an object.
    package init(_ name: String, in data: Data) throws {
        let reader = Reader(name)
        let parser = XMLParser(data: data)
        parser.delegate = reader
        guard parser.parse() else { throw CocoaError(.fileReadCorruptFile) }
        self = reader.file
    }

    private init() {}

    /// Collects arguments as `in -> out`, those of a signal as one signature.
    private final class Reader: NSObject, XMLParserDelegate {
        let interface: String
        var file = InterfaceFile()
        private var member: (kind: String, name: String)?
        private var input = ""
        private var output = ""
        private var isInside = false

        init(_ interface: String) {
            self.interface = interface
        }

        func parser(
            _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            let name = attributes["name"] ?? ""
            switch element {
            case "interface": isInside = name == interface
            case "method", "signal":
                (member, input, output) = ((element, name), "", "")
            case "arg":
                if member?.kind == "method" && attributes["direction"] == "in" {
                    input += attributes["type"] ?? ""
                    if isInside, attributes["type"] == "a{sv}" { file.dictionaries[member?.name ?? ""] = name }
                } else {
                    output += attributes["type"] ?? ""
                }
            case "property":
                guard isInside else { return }
                file.properties[name] = attributes["type"]
                if attributes["access"] == "readwrite" { file.writableProperties.insert(name) }
            default: break
            }
        }

        func parser(
            _ parser: XMLParser, didEndElement element: String, namespaceURI: String?, qualifiedName: String?
        ) {
            guard isInside, let member, element == member.kind else { return }
            if member.kind == "method" { file.methods[member.name] = "\(input) -> \(output)" }
            if member.kind == "signal" { file.signals[member.name] = output }
            self.member = nil
        }
    }
}
