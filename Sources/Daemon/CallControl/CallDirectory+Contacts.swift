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
        guard options.name == nil, !number.isEmpty, !policy.doNotDisturb, isRegistered(busName, path) else {
            return options
        }
        var options = options
        options.contact = await contacts.contact(of: number)
        options.name = options.contact?.name
        return options
    }

    /// Looks up the name of a call for which `named` has not asked the resolvers.
    package func lookUp(_ record: CallRecord) {
        let wasAsked = record.call.direction == .incoming && record.provider.busName != nil
        guard !wasAsked, record.call.details.name == nil, let number = record.call.details.number else { return }
        contacts.ask(number)
    }

    /// Adds a contact that arrived late; a name that the application gave stays.
    package func contactFound(_ contact: ContactDescription, of number: String) {
        for call in table.calls where call.details.number == number && call.details.name == nil {
            record(call.id)?.contact = contact
            let details = CallDetails(name: contact.name, hasVideo: call.details.hasVideo)
            do throws(CallReportError) {
                run(try table.update(call.id, details, from: call.provider))
            } catch {
                logger.error("call of a number with a known contact: the name cannot be set: \(error)")
            }
        }
    }
}
