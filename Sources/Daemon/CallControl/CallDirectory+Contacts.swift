package import BTCallAPI
import ControlLoop
import Logging
import Telephony

// Names of the other parties, for calls whose applications do not know them.
extension CallDirectory {
    /// Returns the options of a report, completed with a contact if a resolver knows one; waits at most for the budget of
    /// `contacts`.
    ///
    /// A name that the application gave stays; a call that will be refused is not looked up.
    package func named(
        _ options: ReportOptions, _ number: String, busName: String, path: String
    ) async -> ReportOptions {
        let number = CallAddress(number).number
        guard options.name == nil, !number.isEmpty, !policy.doNotDisturb, let index = index(of: busName, path) else {
            return options
        }
        var options = options
        let caller = CallerDescription(
            id: options.remoteAddress ?? number, provider: providers[index].owner.name)
        options.contact = await contacts.contact(of: number, caller)
        options.name = options.contact?.name
        return options
    }

    /// Looks up the contact of a call for which `named` has not asked the resolvers.
    package func lookUp(_ record: CallRecord) {
        let wasAsked = record.call.direction == .incoming && record.provider.busName != nil
        // `named` asks for incoming calls without a name.
        guard record.contact == nil, !wasAsked || record.call.details.name != nil else { return }
        ask(about: record)
    }

    /// Asks the resolvers about a call's other party, without waiting.
    package func ask(about record: CallRecord) {
        let details = record.call.details
        guard let number = details.number else { return }
        contacts.ask(
            number,
            CallerDescription(
                id: details.remoteAddress ?? number, name: details.name ?? "", provider: record.provider.name))
    }

    /// Adds a contact that arrived late; a name that the application gave stays.
    package func contactFound(_ contact: ContactDescription, of number: String) {
        for call in table.calls where call.details.number == number {
            let record = record(call.id)
            guard call.details.name == nil else {
                if let record, record.contact == nil {
                    record.contact = contact
                    properties.send((record, [BTCallName.Call.contact]))
                }
                continue
            }
            record?.contact = contact
            let details = CallDetails(name: contact.name, hasVideo: call.details.hasVideo)
            do throws(CallReportError) {
                run(try table.update(call.id, details, from: call.provider))
            } catch {
                logger.error("call of a number with a known contact: the name cannot be set: \(error)")
            }
        }
    }
}
