/// Errors that +CME ERROR reports to a headset (3GPP TS 27.007 §9.2, HFP 1.9 §4.34.2); plain ERROR until AT+CMEE=1.
package struct CMEError: Error, Hashable, Sendable {
    package let code: Int

    /// - Parameter code: of 3GPP TS 27.007; anything outside 0…999 becomes 0.
    package init(code: Int) {
        self.code = (0...999).contains(code) ? code : 0
    }

    package static let gatewayFailure = CMEError(code: 0)
    package static let notAllowed = CMEError(code: 3)
    package static let notSupported = CMEError(code: 4)
    package static let memoryFull = CMEError(code: 20)
    package static let invalidIndex = CMEError(code: 21)
    package static let notFound = CMEError(code: 22)
    package static let textTooLong = CMEError(code: 24)
    package static let invalidText = CMEError(code: 25)
    package static let dialStringTooLong = CMEError(code: 26)
    package static let invalidDialString = CMEError(code: 27)
    package static let noNetwork = CMEError(code: 30)
    package static let networkTimeOut = CMEError(code: 31)
}
