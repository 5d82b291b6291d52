/// Selects the signals of a subscription.
struct MatchRule: Hashable, Sendable {
    var sender: String?
    var path: String?
    var pathNamespace: String?
    var interface: String?
    var member: String?
    var argument0: String?
    /// The first argument is this name, or begins with it and a dot.
    var argument0Namespace: String?

    /// - Throws: `InvalidArgs` for invalid names.
    func check() throws(BusError) {
        if let sender { try NameRule.busName.check(sender) }
        if let path { try NameRule.objectPath.check(path) }
        if let pathNamespace { try NameRule.objectPath.check(pathNamespace) }
        if let interface { try NameRule.interface.check(interface) }
        if let member { try NameRule.member.check(member) }
        if path != nil && pathNamespace != nil {
            throw .invalidArguments("a match rule has a path or a path namespace, not both")
        }
        if let argument0Namespace { try NameRule.interface.check(argument0Namespace) }
        if argument0?.utf8.contains(0) == true { throw .invalidArguments("a match rule contains a zero byte") }
    }

    /// The rule as text (D-Bus specification, "Match Rules").
    var text: String {
        var parts = ["type='signal'"]
        if let sender { parts.append("sender='\(sender)'") }
        if let path { parts.append("path='\(path)'") }
        if let pathNamespace { parts.append("path_namespace='\(pathNamespace)'") }
        if let interface { parts.append("interface='\(interface)'") }
        if let member { parts.append("member='\(member)'") }
        if let argument0 {
            // An apostrophe ends the quotation, stands escaped outside it, and begins another one.
            let quoted = argument0.map { $0 == "'" ? "'\\''" : String($0) }.joined()
            parts.append("arg0='\(quoted)'")
        }
        if let argument0Namespace { parts.append("arg0namespace='\(argument0Namespace)'") }
        return parts.joined(separator: ",")
    }

    /// Checks everything but the sender, which needs the owners of names.
    func matches(path: String, interface: String, member: String, argument0: () -> String?) -> Bool {
        if let wanted = self.member, wanted != member { return false }
        if let wanted = self.interface, wanted != interface { return false }
        if let wanted = self.path, wanted != path { return false }
        if let pathNamespace, pathNamespace != path, !ObjectTree.isBelow(path, pathNamespace) { return false }
        if let wanted = self.argument0, wanted != argument0() { return false }
        if let argument0Namespace {
            guard let name = argument0(), name == argument0Namespace || name.hasPrefix(argument0Namespace + ".") else {
                return false
            }
        }
        return true
    }
}
