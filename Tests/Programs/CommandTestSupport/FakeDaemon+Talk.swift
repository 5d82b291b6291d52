import BTCallAPI
import ControlLoop
import DBus

// Push to talk: one key, of programs.
extension FakeDaemon {
    var talkMethod: ExportedInterface.Method {
        method("SetTalk", in: [("pressed", "b"), ("options", "a{sv}")]) { daemon, call in
            daemon.isTalkPressed = call.arguments[0].boolValue == true
        }
    }

    /// Presses or releases a talk key during the last call, whose application is asked.
    package func pressTalk(_ pressed: Bool) async {
        guard let path = calls.last.map({ BTCallPath.call($0.id) }) else { return }
        _ = await ask(BTCallName.CallProvider.performTalk, [.objectPath(path), .bool(pressed)])
    }

    var revokeTalkMethod: ExportedInterface.Method {
        method("RevokeTalk") { _, _ in }
    }

    var talkProperty: ExportedInterface.Property {
        property("TalkKeys", "aa{sv}") { daemon in
            .vardicts([
                TalkKeyDescription(kind: "application", name: "btcall", isPressed: daemon.isTalkPressed).fields
            ])
        }
    }
}
