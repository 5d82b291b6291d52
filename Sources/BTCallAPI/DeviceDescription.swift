package import DBus

/// A device that calls can use: an element of `Router1.Devices`.
package struct DeviceDescription: Hashable, Sendable {
    /// A local device, or one headset with its address.
    package var device: DeviceWord
    /// The name that people know: a headset's own, or the local device's.
    package var name: String
    package var isAvailable: Bool
    /// Why it is not available, in words; nil when it is.
    package var unavailableBecause: String?
    /// Where sound comes out: `speaker`, `earpiece`, `jack`, `sco:ADDRESS`, `a2dp:ADDRESS`; nil when it cannot play.
    package var output: String?
    /// Where sound goes in: `builtinMic`, `jackMic`, `sco:ADDRESS`; nil when it cannot record.
    package var input: String?
    /// The charge in per cent; nil when unknown.
    package var battery: Int?
    /// What the headset's own buttons set, 0…15; nil for a local device and for a headset that is not connected.
    package var speakerVolume: Int?
    package var microphoneVolume: Int?
    /// The voice codecs that the headset and we can do, best first: `CVSD`, `mSBC`, `LC3-SWB`.
    package var codecs: [String]
    /// `headset`, `speaker` or `watch`; nil for a local device.
    package var category: String?

    package init(
        device: DeviceWord, name: String, isAvailable: Bool, unavailableBecause: String? = nil, output: String? = nil,
        input: String? = nil, battery: Int? = nil, speakerVolume: Int? = nil, microphoneVolume: Int? = nil,
        codecs: [String] = [], category: String? = nil
    ) {
        self.device = device
        self.name = name
        self.isAvailable = isAvailable
        self.unavailableBecause = unavailableBecause
        self.output = output
        self.input = input
        self.battery = battery
        self.speakerVolume = speakerVolume
        self.microphoneVolume = microphoneVolume
        self.codecs = codecs
        self.category = category
    }

    package init(_ fields: Fields) throws(APIError) {
        device = try fields.device("device")
        name = try fields.optionalString("name") ?? ""
        isAvailable = try fields.bool("available")
        unavailableBecause = try fields.optionalString("unavailableBecause")?.nonEmpty
        output = try fields.optionalString("output")?.nonEmpty
        input = try fields.optionalString("input")?.nonEmpty
        battery = try fields.optionalInteger("battery").flatMap { (0...100).contains($0) ? $0 : nil }
        speakerVolume = try fields.optionalInteger("speakerVolume").flatMap { (0...15).contains($0) ? $0 : nil }
        microphoneVolume = try fields.optionalInteger("microphoneVolume").flatMap { (0...15).contains($0) ? $0 : nil }
        codecs = try fields.strings("codecs")
        category = try fields.optionalString("category")?.nonEmpty
    }

    /// The entries of one `a{sv}`.
    package var fields: [String: Value] {
        [
            "device": .string(device.description),
            "kind": .string(device.kind),
            "address": .string(device.address.map { "\($0)" } ?? ""),
            "name": .string(name),
            "available": .bool(isAvailable),
            "unavailableBecause": .string(unavailableBecause ?? ""),
            "output": .string(output ?? ""),
            "input": .string(input ?? ""),
            "battery": .int32(Int32(clamping: battery ?? -1)),
            "speakerVolume": .int32(Int32(clamping: speakerVolume ?? -1)),
            "microphoneVolume": .int32(Int32(clamping: microphoneVolume ?? -1)),
            "codecs": .strings(codecs),
            "category": .string(category ?? ""),
        ]
    }
}

extension Value {
    /// An `aa{sv}`.
    package static func vardicts(_ elements: [[String: Value]]) -> Value {
        .array("a{sv}", elements.map { .vardict($0) })
    }
}
