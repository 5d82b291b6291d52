import BTCallAPI
import ControlLoop
import DBus

/// Identity of the box towards its users, and presentation of the application.
///
/// A nil value is not set. All values are kept over restarts of btcalld.
public struct BridgeConfiguration: Hashable, Sendable {
    /// Presentation of calls. Changes only while there is no call.
    public struct CallOptions: Hashable, Sendable {
        /// Network name on a headset with a display, used before the display name; at most 16 bytes.
        public var localizedName: String?
        /// Absolute path of the WAV file used as ring tone.
        public var ringtoneSound: String?
        /// Absolute path of a picture, for programs with a display.
        public var iconFileName: String?

        public init(localizedName: String? = nil, ringtoneSound: String? = nil, iconFileName: String? = nil) {
            self.localizedName = localizedName
            self.ringtoneSound = ringtoneSound
            self.iconFileName = iconFileName
        }
    }

    /// The account of the calls. Changes only while the bridge is inactive.
    public var accountID: String?
    /// The user of that account. Changes only while the bridge is inactive.
    public var userID: String?
    /// Name of this box for others: alias of its Bluetooth adapters, and network name on headsets; at most 96 bytes.
    public var displayName: String?
    /// This box's telephone number, for headsets that ask for it.
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
    /// The configuration in force.
    public func configuration() async throws(BridgeError) -> BridgeConfiguration {
        let name = BTCallName.Manager.configuration
        let fields = try await connection.property(BTCallPath.manager, BTCallName.Interface.manager, name)
        return try decoding { () throws(APIError) in
            let known = Set(ConfigurationDescription.Entry.allCases.map(\.rawValue))
            // A newer daemon may send more.
            let values = (fields.values[name]?.vardictValue ?? [:]).filter { known.contains($0.key) }
            return BridgeConfiguration(try ConfigurationDescription(Fields(values, of: name)))
        }
    }

    /// Sets the whole configuration at once, at any time: connected headsets show it without reconnecting.
    ///
    /// - Throws: without changing anything: `.wrongState` for another account or user unless the bridge is inactive,
    ///   `.callsActive` for other call options during a call, `.invalidArgument` for a value that is not accepted.
    public func configure(_ configuration: BridgeConfiguration) async throws(BridgeError) {
        try await connection.setProperty(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.configuration,
            .vardict(configuration.description.fields))
    }

    /// Deactivates the bridge and removes account, user, display name and telephone number.
    ///
    /// - Parameter forgettingHeadsets: also unpairs every headset; otherwise pairings stay.
    /// - Throws: `.unavailable` when a headset could not be forgotten; the rest is done then.
    public func logout(forgettingHeadsets: Bool = false) async throws(BridgeError) {
        try await connection.request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.logout,
            [.vardict(["forgetHeadsets": .bool(forgettingHeadsets)])], timeout: .seconds(60))
    }
}
