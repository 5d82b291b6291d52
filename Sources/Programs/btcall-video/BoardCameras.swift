import BoardInput
import ControlLoop
import Glibc

/// The cameras of known boards: `camera.front` and `camera.back` of boards.conf, which `btcall setup` reads for sound cards.
///
/// One image for several boards has no configuration file for each.
enum BoardCameras {
    private static let file = "/usr/share/btcall/boards.conf"
    private static let mostBytes = 256 * 1024
    /// Of the device tree, or of the BIOS.
    private static let models = ["/sys/firmware/devicetree/base/model", "/sys/class/dmi/id/product_name"]

    /// The names for this board: none without the file, and for a board that the file does not know.
    ///
    /// - Parameter root: prefix of all paths; empty for this machine.
    static func names(root: String = "") -> CameraNames {
        // What is wrong with the file, `btcall setup` says.
        guard let model = model(root), let bytes = try? ForeignFile.read(root + file, atMost: mostBytes) else {
            return CameraNames()
        }
        return names(in: String(decoding: bytes, as: UTF8.self), model: model)
    }

    private static func model(_ root: String) -> String? {
        models.lazy.compactMap { Directory.text(root + $0).map { word($0[...]) } }.first { !$0.isEmpty }
    }

    /// The first value of each key, of the boards whose model is this one.
    static func names(in text: String, model: String) -> CameraNames {
        var found = CameraNames()
        var board = CameraNames()
        var isThis = false
        func finish() {
            if isThis { found.complete(with: board) }
            (board, isThis) = (CameraNames(), false)
        }
        for line in text.split(whereSeparator: \.isNewline).map({ word($0) }) {
            if line.hasPrefix("[") { finish() }
            guard let equals = line.firstIndex(of: "="), !line.hasPrefix("#"), !line.hasPrefix(";") else { continue }
            let value = word(line[line.index(after: equals)...])
            switch word(line[..<equals]) {
            case "model": isThis = value.split(separator: "|").contains { fnmatch(String($0), model, 0) == 0 }
            case "camera.front" where CameraNames.isName(value): board.front = value
            case "camera.back" where CameraNames.isName(value): board.back = value
            default: break
            }
        }
        finish()
        return found
    }

    /// Without blanks at both ends, and the zero byte of the device tree.
    private static func word(_ text: Substring) -> String {
        let isBlank: (Character) -> Bool = { $0.isWhitespace || $0 == "\0" }
        return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
