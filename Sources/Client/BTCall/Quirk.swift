import BTCallAPI
import ControlLoop
import DBus

/// One row of the quirks database: special treatment of a headset or of the controller.
public struct Quirk: Hashable, Sendable {
    /// The file that contains the row.
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        /// Shipped with btcall.
        case shipped
        /// The administrator's file.
        case admin
    }

    public enum State: String, Hashable, Sendable, CaseIterable {
        case active, expired, off
    }

    public let name: String
    public let origin: Origin
    /// Line in the file, counted from 1.
    public let line: Int
    public let state: State
    /// First day on which the row no longer applies, for example `2027-06-30`.
    public let expires: String?
    /// As in the file, for example `address = 00:14:09`. All must hold.
    public let conditions: [String]
    public let effects: [String]
    /// Advice to the user.
    public let advice: String?
    /// Source of the information.
    public let reference: String
    /// Symptom without the row.
    public let reason: String
    /// Reasons why the row matches a headset, in words; empty unless one was asked about.
    public let because: [String]
    /// Reasons why the row does not apply to that headset.
    public let obstacles: [String]

    init(_ description: QuirkDescription) {
        name = description.name
        origin = Origin(description.origin)
        line = description.line
        state =
            switch description.state {
            case .active: .active
            case .expired: .expired
            case .off: .off
            }
        expires = description.expires.nonEmpty
        conditions = description.conditions
        effects = description.effects
        advice = description.advice.nonEmpty
        reference = description.reference
        reason = description.reason
        because = description.because
        obstacles = description.obstacles
    }
}

extension Quirk.Origin {
    init(_ origin: QuirkDescription.Origin) {
        switch origin {
        case .shipped: self = .shipped
        case .admin: self = .admin
        }
    }
}

/// The quirks database of the running bridge.
public struct QuirkTable: Hashable, Sendable {
    /// A file that was read.
    public struct File: Hashable, Sendable {
        public let path: String
        public let origin: Quirk.Origin
        /// Version stated in the file.
        public let version: String?
        public let rowCount: Int
    }

    public let files: [File]
    /// In the order of application.
    public let rows: [Quirk]
    /// Rows that the administrator's file switches off although they do not exist.
    public let unknownNames: [String]

    init(_ description: QuirksDescription) {
        files = description.files.map { file in
            File(path: file.path, origin: .init(file.origin), version: file.version.nonEmpty, rowCount: file.rows)
        }
        rows = description.rows.map { Quirk($0) }
        unknownNames = description.unknown
    }
}

/// Special treatment of one headset, with reasons.
public struct QuirkExplanation: Hashable, Sendable {
    public struct Outcome: Hashable, Sendable {
        public let key: String
        public let value: String
        /// Meaning, in one line.
        public let summary: String
        /// Names of rows, or `configuration`.
        public let sources: [String]
    }

    /// `AA:BB:CC:DD:EE:FF`
    public let address: String
    /// The headset's own name.
    public let name: String?
    /// Maker, product and version: `bluetooth:v004Cp2002d6DF1`.
    public let modalias: String?
    /// Whether bluetoothd knows it.
    public let isKnown: Bool
    public let isConnected: Bool
    /// `hci0`
    public let controller: String?
    public let controllerModalias: String?
    public let driver: String?
    public let kernel: String?
    /// Company number of the controller's maker.
    public let manufacturer: Int?
    /// The USB alternate setting used for mSBC.
    public let alternateSetting: Int?
    /// The rows that apply, in order.
    public let applied: [Quirk]
    /// Rows that match this headset but do not apply.
    public let near: [Quirk]
    public let outcomes: [Outcome]

    init(_ description: QuirksExplanationDescription) {
        address = description.addressText
        name = description.name.nonEmpty
        modalias = description.modalias.nonEmpty
        isKnown = description.isKnown
        isConnected = description.isConnected
        controller = description.controller.nonEmpty
        controllerModalias = description.controllerModalias.nonEmpty
        driver = description.driver.nonEmpty
        kernel = description.kernel.nonEmpty
        manufacturer = description.manufacturer
        alternateSetting = description.alternateSetting
        applied = description.applied.map { Quirk($0) }
        near = description.near.map { Quirk($0) }
        outcomes = description.outcomes.map { outcome in
            Outcome(key: outcome.key, value: outcome.value, summary: outcome.summary, sources: outcome.sources)
        }
    }
}

extension CallBridge {
    /// The quirks database: its files and all of its rows.
    public func quirks() async throws(BridgeError) -> QuirkTable {
        let reply = try await connection.request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.listQuirks)
        let fields = try await connection.fields(reply.first, of: BTCallName.Manager.listQuirks)
        return try decoding { () throws(APIError) in QuirkTable(try QuirksDescription(fields)) }
    }

    /// Explains the treatment of a headset; it need not be connected.
    ///
    /// - Parameter address: `AA:BB:CC:DD:EE:FF`.
    /// - Throws: `.invalidArgument` when `address` is not an address.
    public func explainQuirks(of address: String) async throws(BridgeError) -> QuirkExplanation {
        let reply = try await connection.request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.explainQuirks, [.string(address)])
        let fields = try await connection.fields(reply.first, of: BTCallName.Manager.explainQuirks)
        return try decoding { () throws(APIError) in QuirkExplanation(try QuirksExplanationDescription(fields)) }
    }
}
