import BTCallAPI
import ControlLoop
import DBus

/// A person who calls or is called.
public protocol Contact: Sendable {
    /// The application's own identifier; empty when it has none.
    var contactId: String { get }
    var displayName: String { get }
    /// Address of a picture; nil without one.
    var avatarUrl: String? { get }
    var phoneNumber: String { get }
}

/// Known data of a contact.
public struct ContactInfo: Contact, Hashable, Sendable {
    public var contactId: String
    public var displayName: String
    public var avatarUrl: String?
    public var phoneNumber: String

    /// - Parameters:
    ///   - contactId: at most 256 bytes, as are the name and the number.
    ///   - displayName: the name that headsets show.
    ///   - avatarUrl: at most 1024 bytes; for other programs.
    public init(
        contactId: String = "", displayName: String, avatarUrl: String? = nil, phoneNumber: String
    ) {
        self.contactId = contactId
        self.displayName = displayName
        self.avatarUrl = avatarUrl
        self.phoneNumber = phoneNumber
    }

    init(_ description: ContactDescription) {
        self.init(
            contactId: description.id, displayName: description.name,
            avatarUrl: description.avatar.nonEmpty,
            phoneNumber: description.number)
    }
}

/// The other party of a call that is looked up, as the call's application gave it.
public struct CallerContext: Hashable, Sendable {
    /// The address in the application's notation, or else the number.
    public let callerId: String
    /// nil when the application gave no name.
    public let callerName: String?
    /// The application's registered name; empty when btcalld does not report it.
    public let provider: String

    init(_ description: CallerDescription) {
        callerId = description.id
        callerName = description.name.nonEmpty
        provider = description.provider
    }
}

extension CallBridge {
    /// Registers this program as a source of contact data: more than names.
    ///
    /// ``Call/contact`` holds the data, whose name serves as ``resolveContacts(_:)`` would have given it; everything else is
    /// as there.
    ///
    /// - Parameter resolve: returns nil when the contact is unknown. A contact without a name, or with one that is too long
    ///   (``ContactInfo``), is ignored.
    public func resolveContactInfo(
        _ resolve: @escaping @Sendable (_ number: String) async -> (any Contact)?
    ) async throws(BridgeError) -> ContactResolution {
        let object = try await connection.registerContacts { object in
            object.contactMethods { number, _ in await resolve(number) }
        }
        return ContactResolution(object)
    }

    /// Registers this program as a source of contact data that also reads who calls.
    ///
    /// It is asked about calls with a name, too, which do not wait for it: ``Call/contact`` is set, and the name stays.
    ///
    /// - Parameter resolve: receives the number and the call's caller, otherwise as above.
    public func resolveContactInfo(
        _ resolve: @escaping @Sendable (_ number: String, _ caller: CallerContext) async -> (any Contact)?
    ) async throws(BridgeError) -> ContactResolution {
        let object = try await connection.registerContacts { object in
            let withContext = object.method(
                BTCallName.ContactResolver.resolveCaller, in: [("number", "s"), ("context", "a{sv}")],
                out: [("contact", "a{sv}")]
            ) { call async throws(BusError) in
                let number = call.arguments[0].stringValue ?? ""
                let fields = Fields(call.arguments[1].vardictValue ?? [:], of: "the context of ResolveCaller")
                let caller = (try? CallerDescription(fields)) ?? CallerDescription(id: number)
                return [.vardict(fieldsOf(await resolve(number, CallerContext(caller))))]
            }
            // A daemon without ResolveCaller calls the others.
            return [withContext]
                + object.contactMethods { number, caller in await resolve(number, caller) }
        }
        return ContactResolution(object)
    }
}

extension RegisteredObject {
    /// The methods that receive only a number.
    fileprivate func contactMethods(
        _ resolve: @escaping @Sendable (_ number: String, _ caller: CallerContext) async -> (any Contact)?
    ) -> [ExportedInterface.Method] {
        [
            method(
                BTCallName.ContactResolver.resolveContact, in: [("number", "s")], out: [("contact", "a{sv}")]
            ) { call async throws(BusError) in
                let number = call.arguments[0].stringValue ?? ""
                return [.vardict(fieldsOf(await resolve(number, CallerContext(CallerDescription(id: number)))))]
            },
            method(
                BTCallName.ContactResolver.resolve, in: [("number", "s")], out: [("name", "s")]
            ) { call async throws(BusError) in
                let number = call.arguments[0].stringValue ?? ""
                let contact = await resolve(number, CallerContext(CallerDescription(id: number)))
                return [.string(contact?.displayName ?? "")]
            },
        ]
    }
}

/// The entries of a contact on the bus; none when it is unknown.
private func fieldsOf(_ contact: (any Contact)?) -> [String: Value] {
    guard let contact else { return [:] }
    return ContactDescription(
        id: contact.contactId, name: contact.displayName, avatar: contact.avatarUrl ?? "", number: contact.phoneNumber
    ).fields
}
