import ControlLoop
import Cryptography
import Glibc
import ProgramSettings
import WebTokens

/// Reads the files with keys of tokens.
enum KeyFiles {
    private static let largest = 64 << 10
    private static let endings = [".pem", ".jwk", ".json"]

    /// A file that does not exist counts as no key.
    ///
    /// - Returns: nil when there is no key at all.
    /// - Throws: ``SettingsError`` for a file that cannot be used.
    static func read(_ settings: WebSettings) throws(SettingsError) -> TokenKeys? {
        let secret = try optional(settings.secret, .secret)
        let pushSecret = try optional(settings.pushSecret, .secret)
        var publicKeys: [String: [UInt8]] = [:]
        for name in names(in: settings.publicKeys) {
            publicKeys[name] = try optional("\(settings.publicKeys)/\(name)", .none)
        }
        guard secret != nil || pushSecret != nil || !publicKeys.isEmpty else { return nil }
        do {
            return try TokenKeys(
                secret: secret, publicKeys: publicKeys, pushSecret: pushSecret, audience: settings.audience,
                cryptography: try Sodium())
        } catch {
            throw SettingsError("keys of tokens: \(error)")
        }
    }

    private static func optional(
        _ path: String, _ secrecy: ForeignFile.Secrecy
    ) throws(SettingsError) -> [UInt8]? {
        do throws(FileRefusal) {
            return try ForeignFile.read(path, atMost: largest, secrecy: secrecy)
        } catch {
            if case .failed(let failure) = error.reason, failure.code == ENOENT { return nil }
            throw SettingsError("\(error)")
        }
    }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if endings.contains(where: name.hasSuffix), !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
