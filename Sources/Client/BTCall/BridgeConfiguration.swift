import BTCallAPI
import ControlLoop
import DBus

/// Who the box is to the people who use it, and how the application wants to be shown.
///
/// What is nil is not set. Everything is kept over restarts of btcalld.
public struct BridgeConfiguration: Hashable, Sendable {
    /// How calls show themselves. These change only while there is no call.
    public struct CallOptions: Hashable, Sendable {
        /// What a headset with a display shows as the network, before the display name; at most 16 bytes.
        public var localizedName: String?
        /// Absolute path of the WAV file that the box rings with.
        public var ringtoneSound: String?
        /// Absolute path of a picture, for programs that draw.
        public var iconFileName: String?

        public init(localizedName: String? = nil, ringtoneSound: String? = nil, iconFileName: String? = nil) {
            self.localizedName = localizedName
            self.ringtoneSound = ringtoneSound
            self.iconFileName = iconFileName
        }
    }

    /// The account that calls belong to. Changes only while the bridge is inactive.
    public var accountID: String?
    /// The user of that account. Changes only while the bridge is inactive.
    public var userID: String?
    /// What others call this box: the alias of its Bluetooth adapters, and what headsets show as the network; at most 96 bytes.
    public var displayName: String?
    /// This box's telephone number, which headsets ask for.
    public var phoneNumber: String?
    public var callOptions: CallOptions

    public init(
        accountID: String? = nil, userID: String? = nil, displayName: String? = nil, phoneNumber: String? = nil,
        callOptions: CallOptions = CallOptions()
    ) {
        self.accountID = accountID
        self.userID = userID
        self.displayName = displayName
        self.phoneNumber = phoneNumber
        self.callOptions = callOptions
    }

    init(_ description: ConfigurationDescription) {
        self.init(
            accountID: description[.accountID].nonEmpty, userID: description[.userID].nonEmpty,
            displayName: description[.displayName].nonEmpty, phoneNumber: description[.phoneNumber].nonEmpty,
            callOptions: CallOptions(
                localizedName: description[.localizedName].nonEmpty,
                ringtoneSound: description[.ringtoneSound].nonEmpty,
                iconFileName: description[.iconFileName].nonEmpty))
    }

    var description: ConfigurationDescription {
        ConfigurationDescription([
            .accountID: accountID ?? "", .userID: userID ?? "", .displayName: displayName ?? "",
            .phoneNumber: phoneNumber ?? "", .localizedName: callOptions.localizedName ?? "",
            .ringtoneSound: callOptions.ringtoneSound ?? "", .iconFileName: callOptions.iconFileName ?? "",
        ])
    }
}

extension CallBridge {
    /// Who the box is, as it holds now.
    public func configuration() async throws(BridgeError) -> BridgeConfiguration {
        let name = BTCallName.Manager.configuration
        let fields = try await connection.property(BTCallPath.manager, BTCallName.Interface.manager, name)
        return try decoding { () throws(APIError) in
            let known = Set(ConfigurationDescription.Entry.allCases.map(\.rawValue))
            // A newer daemon may say more.
            let values = (fields.values[name]?.vardictValue ?? [:]).filter { known.contains($0.key) }
            return BridgeConfiguration(try ConfigurationDescription(Fields(values, of: name)))
        }
    }

    /// Sets all of it at once, at any time: headsets that are connected show it without connecting again.
    ///
    /// - Throws: and changes nothing then: `.wrongState` for another account or user unless the bridge is inactive,
    ///   `.callsActive` for other call options during a call, `.invalidArgument` for what is not accepted.
    public func configure(_ configuration: BridgeConfiguration) async throws(BridgeError) {
        try await connection.setProperty(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.configuration,
            .vardict(configuration.description.fields))
    }

    /// Deactivates the bridge and drops who the box is: account, user, display name and telephone number.
    ///
    /// - Parameter forgettingHeadsets: unpairs every headset as well; otherwise pairings stay.
    /// - Throws: `.unavailable` when a headset could not be forgotten; the rest is done then.
    public func logout(forgettingHeadsets: Bool = false) async throws(BridgeError) {
        try await connection.request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.logout,
            [.vardict(["forgetHeadsets": .bool(forgettingHeadsets)])], timeout: .seconds(60))
    }
}
