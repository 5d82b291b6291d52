import BTCallAPI
import BluetoothTypes
import DBus

// Arguments of a method call. The bus connection checks them against the declared signature before a handler runs, so a
// client never sees the fallbacks below.
extension MethodCall {
    private func argument(_ index: Int) -> Value { arguments.indices.contains(index) ? arguments[index] : .string("") }

    func flag(_ index: Int, else fallback: Bool = false) -> Bool { argument(index).boolValue ?? fallback }

    func integer(_ index: Int) -> Int { argument(index).integerValue ?? 0 }

    /// - Parameter what: name of the argument, for the message.
    /// - Throws: `invalidArgument` for a text longer than the limit.
    func text(_ index: Int, _ what: String, _ limit: TextLimit) throws(APIError) -> String {
        try limit.check(argument(index).stringValue ?? "", what)
    }

    /// The argument as an object path.
    func path(_ index: Int, _ what: String) throws(APIError) -> String { try text(index, what, .address) }

    /// The argument as a dictionary's entries.
    ///
    /// - Throws: `invalidArgument` for an entry that the method does not accept, or a value of the wrong type.
    func fields(_ index: Int, _ accepted: DictionaryArgument) throws(APIError) -> Fields {
        try Fields(argument(index), accepted)
    }

    /// - Throws: `invalidArgument` for an invalid Bluetooth address.
    func address(_ index: Int) throws(APIError) -> BluetoothAddress {
        let word = try text(index, "address", .word)
        guard let address = BluetoothAddress(word) else {
            throw APIError(
                .invalidArgument,
                "\"\(word)\" is no Bluetooth address; accepted: six octets like 00:14:09:12:34:56")
        }
        return address
    }
}
