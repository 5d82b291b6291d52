import BTCall
import BTCallDaemon
import BTCallSimulator
import ControlLoop
import TestSupport
import Testing

extension DaemonTests {
    /// Hooks of `btcall watch`.
    @Suite @ControlPlane struct WatchTests {
        /// A hook that appends its data to a file.
        private static let note = #"""
            printf '%s|%s|%s|%s|%s|%s\n' $BTCALL_EVENT "$BTCALL_CALL" "$BTCALL_NUMBER" "$BTCALL_NAME" \
            "$BTCALL_STATE" "$BTCALL_DIRECTION"
            """#

        @Test func `S2.31 the hook runs once per incoming call, with the call's data in its environment`() async throws
        {
            try await Box.run { box in
                let watch = try Program(box.address).start(
                    "watch", "--event", "incomingCall", "--event", "daemonAppeared", "--exec", Self.note)
                try await eventually("it watches") { watch.lines == ["daemonAppeared|||||"] }
                let registration = try await box.register()
                let evil = #"$(kill $PPID); "`kill $PPID`" '; kill $PPID"#
                let first = try await registration.reportIncoming(number: "+49 30 1", name: evil)
                try await registration.update(first, .ended)
                let other = try await registration.reportOutgoing(number: "2")
                try await registration.update(other, .ended)
                let last = try await registration.reportIncoming(number: "")
                try await registration.update(last, .ended)
                try await eventually("both calls are reported") { watch.lines.count >= 3 }
                watch.terminate()
                #expect(try await watch.status() == 0)
                #expect(
                    watch.lines == [
                        "daemonAppeared|||||",
                        "incomingCall|\(first)|+49 30 1|\(evil)|ringing|incoming",
                        "incomingCall|\(last)|||ringing|incoming",
                    ])
                #expect(watch.errors == "")
            }
        }

        @Test func `A hook gets the call of a state change, also for a call that existed before`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "1", name: "Alice")
                let watch = try Program(box.address).start(
                    "watch", "--event", "callState", "--event", "callRemoved", "--event", "daemonAppeared", "--json",
                    "--exec", "[ \"$BTCALL_EVENT\" = daemonAppeared ] || " + Self.note)
                try await eventually("it watches") { watch.objects.count == 1 }
                // Earlier calls are known when the first event is handled.
                try await registration.update(call, .active)
                try await registration.update(call, .ended, reason: .busy)
                try await eventually("everything is reported") { watch.objects.count == 4 }
                watch.terminate()
                #expect(try await watch.status() == 0)
                let told = watch.lines.filter { !$0.hasPrefix("{") }
                #expect(
                    told == [
                        "callState|\(call)|1|Alice|active|incoming", "callState|\(call)|1|Alice|ended|incoming",
                        "callRemoved|\(call)|1|Alice||incoming",
                    ])
                #expect(watch.objects.map { $0["status"] as? Int } == [0, 0, 0, 0])
            }
        }
    }
}
