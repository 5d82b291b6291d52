import BTCallAPI
import ControlLoop
package import DBus

// What lasts as long as its owner keeps a descriptor open.
extension RouterObject {
    package func heldMethods() -> [ExportedInterface.Method] {
        typealias Name = BTCallName.Router
        return [
            .init(
                Name.acquireSelection, in: [("device", "s"), ("options", "a{sv}")], out: [("handle", "h")]
            ) { [weak self] call async throws(BusError) in
                try reply { () throws(APIError) in
                    guard let self else { return [] }
                    let device = try Self.device(text(call, 0, "device", .word))
                    try self.checkSelection(of: device)
                    return [.unixDescriptor(try self.selections.select(device, for: call.sender))]
                }
            },
            .init(
                Name.interrupt, in: [("source", "s"), ("options", "a{sv}")], out: [("handle", "h")]
            ) { [weak self] call async throws(BusError) in
                try reply { () throws(APIError) in
                    guard let self else { return [] }
                    let options = try Fields(argument(call, 1), of: "options")
                    let resumes = try options.optionalBool("resume") ?? true
                    return [
                        .unixDescriptor(
                            try self.interruptions.begin(
                                text(call, 0, "source", .word), resumes: resumes, of: call.sender))
                    ]
                }
            },
        ]
    }
}
