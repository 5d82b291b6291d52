/// What is behind the person in front of a camera that does not move.
package enum BackgroundChoice: Hashable, Sendable, CustomStringConvertible {
    /// The camera's picture as it is.
    case off
    case blur
    /// The absolute path of a PNG or JPEG file.
    case picture(String)

    package static let accepted = "off, blur, or the absolute path of a PNG or JPEG file"

    /// - Parameter text: `off`, `blur` or a path of at most 1023 bytes without control characters.
    package init?(_ text: String) {
        switch text {
        case "off": self = .off
        case "blur": self = .blur
        default:
            guard text.hasPrefix("/"), text.utf8.count < 1024, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { return nil }
            self = .picture(text)
        }
    }

    package var description: String {
        switch self {
        case .off: "off"
        case .blur: "blur"
        case .picture(let path): path
        }
    }
}
