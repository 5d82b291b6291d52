import BTCallAPI
import ControlLoop
import DBus

/// Somebody who calls or is called.
public protocol Contact: Sendable {
    /// The application's own; empty when it has none.
    var contactId: String { get }
    var displayName: String { get }
    /// Nil when there is no picture.
    var avatarUrl: String? { get }
    var phoneNumber: String { get }
}

/// What is known of a contact.
public struct ContactInfo: Contact, Hashable, Sendable {
    public var contactId: String
    public var displayName: String
    public var avatarUrl: String?
    public var phoneNumber: String

    /// - Parameters:
    ///   - contactId: 256 bytes at most, as are the name and the number.
    ///   - displayName: what headsets show.
    ///   - avatarUrl: 1024 bytes at most; for other programs.
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
    /// Makes this program one that knows who calls and is called, with more than a name.
    ///
    /// What it knows is in ``Call/contact``, and the name is what ``resolveContacts(_:)`` would have given; everything else is as there.
    ///
    /// - Parameter resolve: nil when nothing is known. What has no name, or is too long (``ContactInfo``), is nobody's.
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
