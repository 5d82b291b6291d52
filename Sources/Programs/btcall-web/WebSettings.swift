import BTCall
import ProgramSettings

/// Settings of `btcall-web` from its configuration file and its command line.
struct WebSettings: Equatable {
    static let sections = ["web", "tokens", "limits"]
    static let formerKeys = ["log.level": Key.logLevel]

    /// A key of the file, with its section.
    enum Key: String, Sendable, CaseIterable {
        case listen = "web.listen"
        case socket = "web.socket"
        case hosts = "web.hosts"
        case origins = "web.origins"
        case files = "web.files"
        case pages = "web.pages"
        case logLevel = "web.logLevel"
        case secret = "tokens.secret"
        case publicKeys = "tokens.publicKeys"
        case pushSecret = "tokens.pushSecret"
        case audience = "tokens.audience"
        case connections = "limits.connections"
        case perPeer = "limits.perPeer"
        case streams = "limits.streams"
        case requestsPerSecond = "limits.requestsPerSecond"

        var accepted: String {
            switch self {
            case .listen: ListenAddress.accepted
            case .socket: "the absolute path of a Unix socket, or none"
            case .hosts: "names separated by commas"
            case .origins: "origins as https://kiosk.example.org, separated by commas"
            case .files, .pages, .publicKeys: "the absolute path of a folder"
            case .secret, .pushSecret: "the absolute path of a file"
            case .audience: "1 to 64 printable characters"
            case .connections, .perPeer, .streams: "1 to 10000"
            case .requestsPerSecond: "1 to 1000"
            case .logLevel: LogLevel.accepted
            }
        }
    }

    /// Not the one of the library.
    typealias LogLevel = ProgramSettings.LogLevel

    /// nil: no listener on TCP.
    var listen: ListenAddress? = .standard
    /// nil: no Unix socket.
    var socket: String? = "/run/btcall/web.sock"
    /// In lower case.
    var hosts: [String] = []
    var origins: [String] = []
    var files = "/usr/share/btcall/web"
    var pages: String?
    var secret = "/etc/btcall/web.secret"
    var publicKeys = "/etc/btcall/web.keys"
    var pushSecret = "/etc/btcall/push.secret"
    var audience = "btcall"
    var limits = WebLimits()
    var logLevel = LogLevel.info
    /// The bus of btcalld; not from the file.
    var bus = BridgeBus.system
    /// The program `btcall`; not from the file.
    var tool = "btcall"
    /// Where the doctor is asked; not from the file.
    var doctor = DoctorSocket.standard

    /// - Throws: for a value that the key does not accept.
    mutating func set(_ key: Key, _ value: String) throws(SettingsError) {
        let refused = SettingsError("\(key.rawValue): '\(value)' is not accepted; it is \(key.accepted)")
        func path() throws(SettingsError) -> String {
            guard value.hasPrefix("/"), value.utf8.count < 1024 else { throw refused }
            return value
        }
        func number(_ most: Int) throws(SettingsError) -> Int {
            guard let number = Int(value), (1...most).contains(number) else { throw refused }
            return number
        }
        switch key {
        case .listen:
            guard value != "none" else {
                listen = nil
                return
            }
            guard let address = ListenAddress(value) else { throw refused }
            listen = address
        case .socket:
            guard value != "none" else {
                socket = nil
                return
            }
            guard value.utf8.count < 108 else { throw refused }
            socket = try path()
        case .hosts: hosts = Self.list(value).map { $0.lowercased() }
        case .origins:
            let list = Self.list(value)
            guard list.allSatisfy(Self.isOrigin) else { throw refused }
            origins = list
        case .files: files = try path()
        case .pages: pages = try path()
        case .secret: secret = try path()
        case .publicKeys: publicKeys = try path()
        case .pushSecret: pushSecret = try path()
        case .audience:
            guard (1...64).contains(value.utf8.count) else { throw refused }
            audience = value
        case .connections: limits.connections = try number(10_000)
        case .perPeer: limits.perPeer = try number(10_000)
        case .streams: limits.streams = try number(10_000)
        case .requestsPerSecond: limits.requestsPerSecond = try number(1000)
        case .logLevel:
            guard let level = LogLevel(rawValue: value) else { throw refused }
            logLevel = level
        }
    }

    private static func list(_ text: String) -> [String] {
        text.split(separator: ",").map { String($0.filter { $0 != " " && $0 != "\t" }) }.filter { !$0.isEmpty }
    }

    private static func isOrigin(_ text: String) -> Bool {
        ["http://", "https://"].contains { scheme in
            text.hasPrefix(scheme) && text.count > scheme.count && !text.dropFirst(scheme.count).contains("/")
        }
    }

    /// Whether a request's `Host` is a name of this machine: an address, `localhost`, or one of ``hosts``.
    func isOwn(host: String) -> Bool {
        let name = Self.name(ofHost: host.lowercased())
        return name == "localhost" || ListenAddress.isAddress(name) || hosts.contains(name)
    }

    /// Without the port and without brackets.
    private static func name(ofHost host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            return String(host[host.index(after: host.startIndex)..<end])
        }
        return String(host.prefix { $0 != ":" })
    }
}

// MARK: The program

extension WebSettings: CompanionSettings {
    static var program: String { "btcall-web" }

    static var standardFile: String { "/etc/btcall/web.conf" }

    static var options: [String: Key] {
        ["--listen": .listen, "--socket": .socket, "--files": .files, "--log-level": .logLevel]
    }

    static var usage: String {
        """
        usage: btcall-web [--config FILE] [--bus system|session|ADDRESS] [--listen ADDRESS:PORT|none] [--socket PATH|none]
                          [--files FOLDER] [--log-level LEVEL] [--foreground]
               btcall-web --check [FILE]      reads a configuration and says what is wrong with it
               btcall-web --version
        Serves the calls, routes and headsets of btcalld over HTTP and WebSocket, to web pages and programs with a token.
        The configuration is /etc/btcall/web.conf unless --config names another; without --config it may be absent.
        Options override the file. Without --bus the variable BTCALL_BUS names the bus, else it is the system's.
        --foreground logs to standard error, also under a service manager.
        """
    }
}
