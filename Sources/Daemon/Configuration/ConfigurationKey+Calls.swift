import BTCallAPI
import HandsFree
import Telephony

/// `[calls]`: dialling, incoming calls and the record of calls.
extension ConfigurationSection {
    /// Memory locations that a headset dials with ATD>n;
    private static let places = 1...99

    package static var callKeys: [ConfigurationKey] {
        [
            memoryKey, ownNumberKey, recordKey,
            integer(
                "recordKiB", "1024", "KiB at which the record is renamed to FILE.1 and a new one started; 0: never",
                0...1_048_576,
                .restart, \.recordKiB),
            boolean(
                "recordNumbers", "no", "write the other party's number and name into the record", .restart,
                \.recordsNumbers),
            boolean(
                "holdInterrupted", "yes", "hold calls, if their application can, while their audio is interrupted",
                .now, \.holdsInterrupted),
            secondCallKey,
            integer(
                "ringSeconds", "120", "seconds after which an incoming call that nobody answers is missed; 0: never",
                0...3600, .now, \.ringSeconds),
            boolean(
                doNotDisturb, "no", "refuse incoming calls; they do not ring", .now, \.callPolicy.doNotDisturb),
        ] + mediaKeys
    }

    package static let doNotDisturb = "doNotDisturb"

    private static var secondCallKey: ConfigurationKey {
        let words = CallTable.Configuration.SecondCall.allCases.map(\.rawValue).joined(separator: ", ")
        return ConfigurationKey(
            "secondCall", CallTable.Configuration.SecondCall.wait.rawValue,
            "handling of an incoming call while another one is up: wait or reject", accepted: words, effect: .now,
            read: { $0.callPolicy.secondCall.rawValue },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let word = CallTable.Configuration.SecondCall(rawValue: value) else {
                    throw ConfigurationValueError(accepted: words)
                }
                configuration.callPolicy.secondCall = word
            })
    }

    private static var memoryKey: ConfigurationKey {
        let accepted = "places from 1 to 99 with their numbers, as 1:5551000, 2:110; empty for none"
        return ConfigurationKey(
            "memory", "", "numbers that a headset dials by their place: 1:5551000, 2:110", accepted: accepted,
            effect: .now,
            read: { configuration in
                configuration.memory.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: ", ")
            },
            apply: { configuration, value throws(ConfigurationValueError) in
                var found: [Int: String] = [:]
                for word in value.split(whereSeparator: { $0 == "," || $0 == " " }) {
                    let parts = word.split(separator: ":", omittingEmptySubsequences: false)
                    guard parts.count == 2, let place = Int(parts[0]), places.contains(place), found[place] == nil,
                        isNumber(parts[1])
                    else { throw ConfigurationValueError(accepted: accepted) }
                    found[place] = String(parts[1])
                }
                guard !found.isEmpty || value.isEmpty else { throw ConfigurationValueError(accepted: accepted) }
                configuration.memory = found
            })
    }

    private static var ownNumberKey: ConfigurationKey {
        let accepted = "a telephone number of at most 32 digits, with + in front or not; empty for none"
        return ConfigurationKey(
            "ownNumber", "", "this box's telephone number, for headsets that ask for it", accepted: accepted,
            effect: .now, read: { $0.ownNumber ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard value.isEmpty || isNumber(value[...]) && value.utf8.count <= 32 else {
                    throw ConfigurationValueError(accepted: accepted)
                }
                configuration.ownNumber = value.isEmpty ? nil : value
            })
    }

    private static var recordKey: ConfigurationKey {
        let accepted = "an absolute path; empty for none"
        return ConfigurationKey(
            "record", "", "a file that gets a line of JSON for each call that has ended", accepted: accepted,
            effect: .restart, read: { $0.callRecord ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard value.isEmpty || value.hasPrefix("/") else { throw ConfigurationValueError(accepted: accepted) }
                configuration.callRecord = value.isEmpty ? nil : value
            })
    }

    private static func isNumber(_ text: Substring) -> Bool {
        (1...80).contains(text.utf8.count) && text.utf8.allSatisfy { ATText.isDialByte($0) && $0 != UInt8(ascii: ",") }
    }
}
