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

    var talkProperty: ExportedInterface.Property {
        .init(
            "TalkKeys", "aa{sv}",
            get: { [unowned self] in
                .vardicts([TalkKeyDescription(kind: "application", name: "btcall", isPressed: isTalkPressed).fields])
            })
    }
}
