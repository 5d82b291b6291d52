import BTCallAPI
import DBus
import Foundation
import TestSupport
import Testing

@Suite struct DictionaryArgumentTests {
    /// Methods that the daemon calls in applications: the applications read those dictionaries.
    private static let ofApplications = [
        BTCallName.Interface.callProvider, BTCallName.Interface.contactResolver, BTCallName.Interface.audioConfigurator,
    ]

    @Test func `Every method with a dictionary argument lists its entries`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: InterfaceFile.directory.path())
        let interfaces = files.filter { $0.hasSuffix(".xml") }.map { String($0.dropLast(4)) }
        var declared: Set<String> = []
        for interface in interfaces where !Self.ofApplications.contains(interface) {
            for (method, argument) in try InterfaceFile(interface).dictionaries {
                declared.insert("\(interface).\(method) \(argument)")
            }
        }
        #expect(declared.count == 23)
        #expect(Set(DictionaryArgument.all.map { "\($0.interface).\($0.member) \($0.argument)" }) == declared)
    }

    @Test(arguments: DictionaryArgument.all.map(\.member))
    func `The page of a method names every accepted entry`(member: String) throws {
        for taken in DictionaryArgument.all where taken.member == member {
            let page = try String(
                contentsOf: InterfaceFile.directory.appending(path: "\(taken.interface).md"), encoding: .utf8)
            let section = try Self.section(of: member, in: page)
            // A section that refers to another method's options includes that method's section.
            let other = section.firstMatch(of: /options of `(\w+)`|options are those of `(\w+)`/)
            let name = (other?.1 ?? other?.2).map { String($0) }
            let text = try section + (name.map { try Self.section(of: $0, in: page) } ?? "")
            for entry in taken.entries {
                #expect(text.contains("`\(entry.name)`"), "\(taken.interface).\(member): \(entry.name) is missing")
            }
            #expect(page.contains("An entry that is not listed is refused"), "\(taken.interface)")
        }
    }

    /// The section from the method's own line to the next method's.
    private static func section(of member: String, in page: String) throws -> Substring {
        let start = try #require(page.firstRange(of: "\n`\(member)` `(") ?? page.firstRange(of: "\n### `\(member)("))
        let rest = page[start.upperBound...]
        let end = rest.firstMatch(of: /\n(`\w+` `\(|#)/)?.range.lowerBound ?? rest.endIndex
        return rest[..<end]
    }

    @Test func `The refusal of an unknown entry names the closest and the accepted entries`() {
        func message(_ values: [String: Value], _ accepted: DictionaryArgument) -> String? {
            do throws(APIError) {
                _ = try Fields(.vardict(values), accepted)
                return nil
            } catch {
                #expect(error.code == .invalidArgument)
                return error.message
            }
        }
        #expect(
            message(["capabilties": .strings(["hold"])], .registerProvider)
                == "unknown in the options of RegisterProvider: \"capabilties\" (did you mean 'capabilities'?); accepted: "
                + "name, audio, callState, schemes, calls, capabilities, talk, rate, format, channels")
        #expect(
            message(["tto": "page"], .openPlayback)?.hasPrefix(
                "unknown in the options of OpenPlayback: \"tto\" (did you mean 'to'?); accepted: rate,") == true)
        #expect(
            message(["forgetHeadset": true], .logout)
                == "unknown in the options of Logout: \"forgetHeadset\" (did you mean 'forgetHeadsets'?); accepted: forgetHeadsets"
        )
        #expect(
            message(["x": true], .activateSession) == "unknown in the options of Activate: \"x\"; accepted: no entry")
        #expect(
            message(["resume": "yes"], .interrupt) == "resume in the options of Interrupt has to be of type b, not s")
        #expect(message(["time": .uint32(1)], .explain) == nil)
        var many: [String: Value] = [:]
        for number in 1...1000 { many["nonsense\(number)"] = true }
        #expect(
            message(many, .logout)
                == "unknown in the options of Logout: \"nonsense1\", \"nonsense10\", \"nonsense100\" and 997 more; accepted: forgetHeadsets"
        )
        let long = message([String(repeating: "é", count: 1_000_000): true], .logout)
        #expect((long?.utf8.count ?? 0) < 200)
    }
}
