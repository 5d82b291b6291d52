package import BTCallAPI
package import BluetoothTypes
import ControlLoop
import DBus
import HandsFree
import HeadsetControl

// The quirks database, and its effect on one headset.
extension ManagerObject {
    func listQuirks(_: MethodCall) -> [Value] { [.vardict(quirks.description.fields)] }

    func explainQuirks(_ call: MethodCall) throws(APIError) -> [Value] {
        [.vardict(quirks.description(of: try call.address(0)).fields)]
    }
}

extension HeadsetQuirks {
    package var description: QuirksDescription {
        let today = Self.today
        return QuirksDescription(
            files: database.files.map { file in
                QuirksDescription.File(
                    path: file.path, origin: .init(file.origin), version: file.version ?? "", rows: file.rowCount)
            },
            rows: database.rows.map { QuirkDescription($0, on: today) }, unknown: database.unknownNames)
    }

    package func description(of address: BluetoothAddress) -> QuirksExplanationDescription {
        let explanation = explain(address)
        let (subject, today) = (explanation.subject, Self.today)
        func describe(_ match: QuirksExplanation.Match) -> QuirkDescription {
            var description = QuirkDescription(match.row, on: today)
            description.because = match.reasons
            description.obstacles = match.obstacles
            return description
        }
        var description = QuirksExplanationDescription(address: address)
        description.name = subject.name ?? ""
        description.modalias = subject.modalias ?? ""
        description.isKnown = isKnown(address)
        description.isConnected = isConnected(address)
        description.controller = subject.controller.name ?? ""
        description.controllerModalias = subject.controller.modalias ?? ""
        description.driver = subject.controller.driver ?? ""
        description.kernel = subject.kernel ?? ""
        description.manufacturer = subject.controller.manufacturer
        description.alternateSetting = subject.controller.alternateSettingOfMSBC
        description.applied = explanation.applied.map(describe)
        description.near = explanation.near.map(describe)
        description.outcomes = explanation.outcomes.map { outcome in
            let effect = outcome.effect
            return .init(
                key: effect.key.rawValue, value: effect.value, summary: effect.summary, sources: outcome.sources)
        }
        return description
    }
}

extension QuirkDescription.Origin {
    fileprivate init(_ origin: QuirkRow.Origin) {
        switch origin {
        case .shipped: self = .shipped
        case .admin: self = .admin
        }
    }
}

extension QuirkDescription {
    fileprivate init(_ row: QuirkRow, on today: CalendarDate) {
        let state: State =
            switch row.state(on: today) {
            case .active: .active
            case .expired: .expired
            case .off: .off
            }
        self.init(
            name: row.name, origin: .init(row.origin), line: row.line, state: state,
            expires: row.expires?.description ?? "", conditions: row.conditions.map(\.description),
            effects: row.effects.map(\.description), advice: row.advice ?? "", reference: row.reference,
            reason: row.reason)
    }
}
