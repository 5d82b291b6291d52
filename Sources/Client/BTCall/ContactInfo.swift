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
        let connection = connection
        let object = try await connection.registerContacts { object in
            [
                object.method(
                    BTCallName.ContactResolver.resolveContact, in: [("number", "s")],
                    out: [("contact", "a{sv}")]
                ) { call async throws(BusError) in
                    guard let contact = await resolve(call.arguments[0].stringValue ?? "") else {
                        return [.vardict([:])]
                    }
                    let description = ContactDescription(
                        id: contact.contactId, name: contact.displayName, avatar: contact.avatarUrl ?? "",
                        number: contact.phoneNumber)
                    return [.vardict(description.fields)]
                },
                object.method(
                    BTCallName.ContactResolver.resolve, in: [("number", "s")], out: [("name", "s")]
                ) { call async throws(BusError) in
                    [.string(await resolve(call.arguments[0].stringValue ?? "")?.displayName ?? "")]
                },
            ]
        }
        return ContactResolution(object)
    }
}
