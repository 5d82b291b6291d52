import BTCallAPI
import ControlLoop
import DBus

/// One row of the quirks database: what some headset, or the controller, needs to be treated differently.
public struct Quirk: Hashable, Sendable {
    /// The file that it stands in.
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        /// Comes with btcall.
        case shipped
        /// The administrator's.
        case admin
    }

    public enum State: String, Hashable, Sendable, CaseIterable {
        case active, expired, off
    }

    public let name: String
    public let origin: Origin
    /// Where in the file, counted from 1.
    public let line: Int
    public let state: State
    /// The first day on which it does not apply any more, `2027-06-30`.
    public let expires: String?
    /// As in the file: `address = 00:14:09`. All have to hold.
    public let conditions: [String]
    public let effects: [String]
    /// What a person can do.
    public let advice: String?
    /// Where it is known from.
    public let reference: String
    /// What goes wrong without it.
    public let reason: String
    /// Why it means a headset, in words; empty unless one was asked about.
    public let because: [String]
    /// What keeps it from applying to that headset.
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
        /// As the file says.
        public let version: String?
        public let rowCount: Int
    }

    public let files: [File]
    /// In the order in which they apply.
    public let rows: [Quirk]
    /// Rows that the administrator's file switches off and that do not exist.
    public let unknownNames: [String]

    init(_ description: QuirksDescription) {
        files = description.files.map { file in
            File(path: file.path, origin: .init(file.origin), version: file.version.nonEmpty, rowCount: file.rows)
        }
        rows = description.rows.map { Quirk($0) }
        unknownNames = description.unknown
    }
}

/// What is done for one headset, and why.
public struct QuirkExplanation: Hashable, Sendable {
    public struct Outcome: Hashable, Sendable {
        public let key: String
        public let value: String
        /// What it means, one line.
        public let summary: String
        /// Names of rows, or `configuration`.
        public let sources: [String]
    }

    /// `AA:BB:CC:DD:EE:FF`
    public let address: String
    /// The name that it gives itself.
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
    /// The USB alternate setting that mSBC goes by.
    public let alternateSetting: Int?
    /// The rows that apply, in this order.
    public let applied: [Quirk]
    /// Rows that mean this headset and do not apply.
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

    /// What is done for a headset, and why; it need not be connected.
    ///
    /// - Parameter address: `AA:BB:CC:DD:EE:FF`.
    /// - Throws: `.invalidArgument` for what is no address.
    public func explainQuirks(of address: String) async throws(BridgeError) -> QuirkExplanation {
        let reply = try await connection.request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.explainQuirks, [.string(address)])
        let fields = try await connection.fields(reply.first, of: BTCallName.Manager.explainQuirks)
        return try decoding { () throws(APIError) in QuirkExplanation(try QuirksExplanationDescription(fields)) }
    }
}
