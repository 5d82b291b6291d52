/// Signal of a key, recognised by a reader in the bytes, the events or the link of its device.
package enum TalkSignal: String, Hashable, Sendable, CaseIterable {
    case pressed, released
    /// A button that sends the same message for each press, and nothing when it is released.
    case tapped
}

/// How a wireless device reports its key; keys of the board (evdev, GPIO) need none.
package enum TalkProtocol: String, Hashable, Sendable, CaseIterable {
    /// A command on the headset's AT connection: AT+XEVENT=TALK,1.
    case at
    /// The voice link: the headset opens it to talk and closes it to listen.
    case link
    /// Bytes of an RFCOMM stream, of the Serial Port Profile in most cases: +PTT=P.
    case serial
    /// Notifications of a GATT characteristic (Bluetooth Low Energy).
    case notification
}
