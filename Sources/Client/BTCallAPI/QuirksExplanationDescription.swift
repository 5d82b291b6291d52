package import BluetoothTypes
package import DBus

/// The answer of `Manager1.ExplainQuirks`.
package struct QuirksExplanationDescription: Hashable, Sendable {
    /// One treatment of the headset.
    package struct Outcome: Hashable, Sendable {
        package var key: String
        package var value: String
        package var summary: String
        /// Names of rows, or `configuration`.
        package var sources: [String]

        package init(key: String, value: String, summary: String, sources: [String]) {
            self.key = key
            self.value = value
            self.summary = summary
            self.sources = sources
        }
    }

    package var address: BluetoothAddress
    /// Empty strings stand for unknown values.
    package var name = ""
    package var modalias = ""
    package var isKnown = false
    package var isConnected = false
    package var controller = ""
    package var controllerModalias = ""
    package var driver = ""
    package var kernel = ""
    package var manufacturer: Int?
    package var alternateSetting: Int?
    package var applied: [QuirkDescription] = []
    package var near: [QuirkDescription] = []
    package var outcomes: [Outcome] = []

    /// `AA:BB:CC:DD:EE:FF`
    package var addressText: String { address.description }

    package init(address: BluetoothAddress) {
        self.address = address
    }

    package init(_ fields: Fields) throws(APIError) {
        let text = try fields.string("address")
        guard let address = BluetoothAddress(text) else {
            throw APIError(.invalidArgument, "address in \(fields.subject) is \"\(text)\", not AA:BB:CC:DD:EE:FF")
        }
        self.address = address
        name = try fields.optionalString("name") ?? ""
        modalias = try fields.optionalString("modalias") ?? ""
        isKnown = try fields.optionalBool("known") ?? false
        isConnected = try fields.optionalBool("connected") ?? false
        controller = try fields.optionalString("controller") ?? ""
        controllerModalias = try fields.optionalString("controllerModalias") ?? ""
        driver = try fields.optionalString("driver") ?? ""
        kernel = try fields.optionalString("kernel") ?? ""
        manufacturer = try fields.optionalInteger("manufacturer").flatMap { $0 >= 0 ? $0 : nil }
        alternateSetting = try fields.optionalInteger("alternateSetting").flatMap { $0 >= 0 ? $0 : nil }
        for element in try fields.dictionaries("applied") { applied.append(try QuirkDescription(element)) }
        for element in try fields.dictionaries("near") { near.append(try QuirkDescription(element)) }
        for element in try fields.dictionaries("outcomes") {
            outcomes.append(
                Outcome(
                    key: try element.string("key"), value: try element.string("value"),
                    summary: try element.optionalString("summary") ?? "", sources: try element.strings("sources")))
        }
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "address": .string(address.description), "name": .text(name), "modalias": .text(modalias),
            "known": .bool(isKnown), "connected": .bool(isConnected), "controller": .text(controller),
            "controllerModalias": .text(controllerModalias), "driver": .text(driver), "kernel": .text(kernel),
            "manufacturer": .number(manufacturer), "alternateSetting": .number(alternateSetting),
            "applied": .vardicts(applied.map(\.fields)), "near": .vardicts(near.map(\.fields)),
            "outcomes": .vardicts(
                outcomes.map { outcome in
                    [
                        "key": .string(outcome.key), "value": .string(outcome.value),
                        "summary": .string(outcome.summary), "sources": .strings(outcome.sources),
                    ]
                }),
        ])
    }
}
