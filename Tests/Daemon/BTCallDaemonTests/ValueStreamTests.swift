import BTCall
import BTCallDaemon
import BTCallSimulator
import ControlLoop
import DBus
import TestSupport
import Testing

/// The next values of a stream, up to a number; fewer when it ends.
@ControlPlane
private func next<Element: Sendable>(_ count: Int, of stream: AsyncStream<Element>) async -> [Element] {
    var values: [Element] = []
    var iterator = stream.makeAsyncIterator()
    while values.count < count, let value = await iterator.next() { values.append(value) }
    return values
}

extension DaemonTests {
    @Suite @ControlPlane struct ValueStreamTests {
        @Test
        func `S4.10 library: a late subscriber gets at once whether the audio session is active`()
            async throws
        {
            try await Box.run { box in
                let early = await box.bridge.audioSessionActivated()
                // Nothing has happened yet: the present value is the first.
                #expect(await next(1, of: early) == [false])
                let session = try await box.bridge.session.activate()
                let late = await box.bridge.audioSessionActivated()
                #expect(await next(1, of: late) == [true])
                session.release()
                try await eventually("it is inactive") { try await !box.bridge.session.isActive() }
                let again = try await box.bridge.session.activate()
                #expect(await next(3, of: early) == [true, false, true])
                #expect(await next(2, of: late) == [false, true])
                again.release()
                // Another bridge starts even later, and its end ends its streams.
                let other = try await CallBridge(bus: .address("\(box.address)"))
                let stream = await other.audioSessionActivated()
                #expect(await next(1, of: stream) == [try await other.session.isActive()])
                await other.close()
                var rest = stream.makeAsyncIterator()
                while await rest.next() != nil {}
            }
        }

        @Test func `S4.10 library: devices, route and mute are streams that start with the present value`() async throws
        {
            try await Box.run { box in
                _ = try await box.connect(Box.first)
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                let routes = await box.bridge.audioDeviceManager.routes()
                #expect(await next(1, of: routes) == [DeviceChoice.none])
                let call = try await box.startCall(registration)
                #expect(await next(1, of: routes) == [.earpiece])
                // A stream of devices has the current list, and follows it.
                try await eventually("no further changes arrive") {
                    try await box.device("bluetooth:\(Box.first)")?["state"] == "available"
                }
                let devices = await box.bridge.audioDeviceManager.devices()
                var list = devices.makeAsyncIterator()
                #expect(await list.next() == (try await box.bridge.audioDeviceManager.audioDevices()))
                let mutes = await box.bridge.calls.mutedStates()
                #expect(await next(1, of: mutes) == [false])
                try await box.bridge.calls.setMuted(true)
                #expect(await next(1, of: mutes) == [true])
                #expect(await next(1, of: await box.bridge.calls.mutedStates()) == [true])
                #expect(await next(1, of: await box.bridge.audioDeviceManager.routes()) == [.earpiece])
                try await registration.update(call, .ended)
                #expect(await next(1, of: routes) == [DeviceChoice.none])
                box.bluez.setConnected(false, Box.first)
                var isGone = false
                while !isGone, let now = await list.next() {
                    isGone = now == (try await box.bridge.audioDeviceManager.audioDevices())
                }
                #expect(isGone)
            }
        }

        @Test func `S4.10 library: a call's state and the list of calls are streams that start with the present value`()
            async throws
        {
            try await Box.run { box in
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "5550100")
                let states = await box.bridge.calls.states(of: call)
                #expect(await next(1, of: states) == [.ringing])
                let lists = await box.bridge.calls.lists()
                #expect(await next(1, of: lists).map { $0.map(\.id) } == [[call]])
                try await registration.update(call, .active)
                #expect(await next(1, of: states) == [.active])
                try await registration.update(call, .held)
                // Of two readers each gets all values.
                let second = await box.bridge.calls.states(of: call)
                #expect(await next(1, of: second) == [.held])
                try await registration.update(call, .ended)
                #expect(await next(9, of: states) == [.held, .ended])
                #expect(await next(9, of: second) == [.ended])
                #expect(await next(9, of: await box.bridge.calls.states(of: call)) == [])
                var list = lists.makeAsyncIterator()
                while let calls = await list.next(), !calls.isEmpty {}
                #expect(try await box.bridge.calls.list().isEmpty)
            }
        }

        @Test func `A stream of values delivers new values after a restart of the daemon`() async throws {
            try await Box.run { box in
                let session = try await box.bridge.session.activate()
                let stream = await box.bridge.audioSessionActivated()
                #expect(await next(1, of: stream) == [true])
                try await box.restartDaemon()
                // The previous holder held the session of a daemon that has ended.
                #expect(await next(1, of: stream) == [false])
                session.release()
            }
        }
    }
}
