internal import ControlLoop

/// The exported objects: path, then interface name.
@ControlPlane
struct ObjectTree {
    private(set) var objects: [String: [String: ExportedInterface]] = [:]
    /// Object managers, each with the start of the names of the interfaces that make an object one of its own.
    private(set) var managers: [String: String] = [:]

    nonisolated init() {}

    mutating func add(_ interface: ExportedInterface, at path: String) {
        objects[path, default: [:]][interface.name] = interface
    }

    /// - Returns: whether it existed.
    mutating func remove(_ interface: String, at path: String) -> Bool {
        guard objects[path]?.removeValue(forKey: interface) != nil else { return false }
        if objects[path]?.isEmpty == true { objects[path] = nil }
        return true
    }

    mutating func addManager(at path: String, of prefix: String) {
        managers[path] = prefix
    }

    /// The object managers that signal changes of an object with these interfaces.
    func managers(above path: String, of interfaces: [String]) -> [String] {
        managers.filter { root, prefix in
            Self.isBelow(path, root) && interfaces.contains { $0.hasPrefix(prefix) }
        }.keys.sorted()
    }

    /// The paths below an object manager that are its own, in order.
    func paths(below root: String) -> [String] {
        let prefix = managers[root] ?? ""
        return objects.filter { path, interfaces in
            Self.isBelow(path, root) && interfaces.keys.contains { $0.hasPrefix(prefix) }
        }.keys.sorted()
    }

    /// Whether the path is an object, a manager, or the way to one.
    func isKnown(_ path: String) -> Bool {
        objects[path] != nil || managers[path] != nil || objects.keys.contains { Self.isBelow($0, path) }
            || managers.keys.contains { Self.isBelow($0, path) }
    }

    /// The names of the nodes directly below, in order.
    func children(of path: String) -> [String] {
        let skip = path == "/" ? 1 : path.utf8.count + 1
        var names: Set<String> = []
        for known in objects.keys where Self.isBelow(known, path) {
            let rest = known.utf8.dropFirst(skip)
            if let name = String(rest.prefix { $0 != UInt8(ascii: "/") }) { names.insert(name) }
        }
        return names.sorted()
    }

    nonisolated static func isBelow(_ path: String, _ root: String) -> Bool {
        if root == "/" { return path != "/" }
        return path.utf8.count > root.utf8.count + 1 && path.hasPrefix(root)
            && path.utf8[path.utf8.index(path.utf8.startIndex, offsetBy: root.utf8.count)] == UInt8(ascii: "/")
    }
}
