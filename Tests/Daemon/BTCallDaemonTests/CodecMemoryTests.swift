import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import HandsFree
import HeadsetControl
import Logging
import TestSupport
import Testing

@Suite struct CodecMemoryStoreTests {
    private let key = CodecMemories.Key(
        adapter: BluetoothAddress(value: 0x0000_5E00_5300), headset: BluetoothAddress(value: 0x0000_5E00_5301))
    private let memory = CodecMemory(
        lacking: [.lc3SWB], ceiling: .cvsd, failures: 2, unanswered: 3, offered: [.cvsd, .mSBC, .lc3SWB])

    private func inDirectory(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-codecs-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay in the temporary directory.
        try body(folder.path())
    }

    @Test func `what was learnt is read as it was written, and an absent file is nothing`() throws {
        try inDirectory { directory in
            let store = CodecMemoryStore(directory: directory, kernel: "6.1.0")
            #expect(try store.load(codecs: [.mSBC, .cvsd]).isEmpty)
            let other = CodecMemories.Key(adapter: key.headset, headset: key.adapter)
            let all = [key: memory, other: CodecMemory(unanswered: 1)]
            try store.file.replace(with: store.text(all, codecs: [.mSBC, .cvsd]))
            #expect(try store.load(codecs: [.mSBC, .cvsd]) == all)
            try store.file.replace(with: store.text([:], codecs: [.mSBC, .cvsd]))
            #expect(try store.load(codecs: [.mSBC, .cvsd]).isEmpty)
        }
    }

    @Test func `with another kernel, or other codecs of ours, it is void`() throws {
        try inDirectory { directory in
            let store = CodecMemoryStore(directory: directory, kernel: "6.1.0")
            try store.file.replace(with: store.text([key: memory], codecs: [.mSBC, .cvsd]))
            #expect(try CodecMemoryStore(directory: directory, kernel: "6.2.0").load(codecs: [.mSBC, .cvsd]).isEmpty)
            #expect(try CodecMemoryStore(directory: directory, kernel: "6.1.0").load(codecs: [.cvsd]).isEmpty)
            #expect(
                try CodecMemoryStore(directory: directory, kernel: "6.1.0").load(codecs: [.mSBC, .cvsd]).count == 1)
        }
        #expect(!CodecMemoryStore.runningKernel.isEmpty)
    }

    @Test(arguments: [
        "[00:00:5E:00:53:00]\nfailures = 1\n", "[00:00:5E:00:53:00 00:00:5E:00:53:01]\nfailures = -1\n",
        "[00:00:5E:00:53:00 00:00:5E:00:53:01]\nfailures = 1001\n",
        "[00:00:5E:00:53:00 00:00:5E:00:53:01]\nceiling = opus\n",
        "[00:00:5E:00:53:00 00:00:5E:00:53:01]\ncolour = red\n", "nonsense\n",
    ])
    @ControlPlane func `a file that is not understood is named with its line, and learning goes on`(_ text: String)
        throws
    {
        try inDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(filePath: directory + "/codecs.conf"))
            let store = CodecMemoryStore(directory: directory, kernel: "6.1.0")
            let error = try #require(throws: ConfigurationError.self) { try store.load(codecs: [.cvsd]) }
            #expect(error.line != nil && "\(error)".contains("codecs.conf"), "\(error)")
            let log = LogLines()
            let memories = CodecMemories(
                store: store, codecs: [.cvsd], writer: StateWriter(isImmediate: true), logger: log.logger)
            #expect(!log.containing("error", "not restored", "codecs.conf").isEmpty)
            memories.learn(memory, of: key.headset, on: key.adapter)
            #expect(try store.load(codecs: [.cvsd]) == [key: memory])
        }
    }

    @Test @ControlPlane func `a directory that cannot be written is told, and what was learnt holds meanwhile`() throws
    {
        let store = CodecMemoryStore(directory: "/proc/btcall", kernel: "6.1.0")
        let memories = CodecMemories(
            store: store, codecs: [.cvsd], writer: StateWriter(isImmediate: true), logger: LogLines().logger)
        var told: [String?] = []
        memories.kept.subscribe { told.append($0) }
        memories.learn(memory, of: key.headset, on: key.adapter)
        #expect(told.count == 1 && told.first??.contains("/proc/btcall/codecs.conf") == true)
        #expect(memories.memory(of: key.headset, on: key.adapter) == memory)
        memories.learn(memory, of: key.headset, on: key.adapter)
        #expect(told.count == 1)
    }

    @Test @ControlPlane func `what is learnt on one adapter is not held against a headset on another`() throws {
        let memories = CodecMemories(
            store: nil, codecs: [.mSBC, .cvsd], writer: StateWriter(isImmediate: true), logger: LogLines().logger)
        memories.learn(memory, of: key.headset, on: key.adapter)
        #expect(memories.memory(of: key.headset, on: key.headset) == CodecMemory())
        #expect(memories.memory(of: key.headset, on: nil) == CodecMemory())
        memories.learn(memory, of: key.headset, on: nil)
        #expect(memories.knows(key.headset) && memories.memory(of: key.headset, on: nil) == memory)
        memories.forget(key.headset)
        #expect(!memories.knows(key.headset))
    }
}

extension DaemonTests {
    /// Why a headset is used with a lower codec, and what is remembered of it.
    @Suite @ControlPlane struct CodecMemoryTests {
        private let second = Choice("bluetooth:\(Box.second)") ?? .none

        private func withState(_ body: (Box) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // It may stay in the temporary directory.
            try await Box.run(configure: { $0.stateDirectory = folder.path() }, body: body)
        }

        /// The second headset says that it can do mSBC, and refuses every link with it.
        ///
        /// - Returns: whether mSBC was proposed.
        private func talk(_ box: Box) async throws -> Bool {
            let ears = try await box.connect(Box.second, codecs: [.cvsd, .mSBC])
            let registration = try await box.register()
            let call = try await box.startCall(registration)
            try await box.route(second)
            #expect(try await box.bridge.status().codec == "CVSD")
            try await registration.update(call, .ended)
            try await registration.unregister()
            try await box.route(.none)
            try await eventually("the link is closed") { !box.daemon.graph.holdsLink(Box.second) }
            return ears.events.contains(.codecSelected(.mSBC))
        }

        private func reason(_ box: Box) async throws -> String {
            let reply = try await box.client.call(
                BTCallName.bus, BTCallPath.headset(Box.second), "org.freedesktop.DBus.Properties", "Get",
                [.string(BTCallName.Interface.headset), "CodecReason"])
            return reply.first?.unwrapped.stringValue ?? "?"
        }

        private func disconnect(_ box: Box) async throws {
            box.bluez.disconnect(Box.second)
            try await eventually("it is gone") { box.daemon.headsets.description(of: Box.second) == nil }
        }

        @Test
        func `A codec that failed in two connections is not tried in a third, over a restart, until it is forgotten`()
            async throws
        {
            try await withState { box in
                try await box.prefer(.bluetooth)
                #expect(try await talk(box))
                #expect(try await reason(box).contains("mSBC failed in this connection"))
                try await disconnect(box)
                #expect(try await talk(box))
                try await disconnect(box)
                #expect(try await !talk(box))
                #expect(try await reason(box).contains("mSBC failed in 2 connections in a row"))
                let devices = try await Program(box.address)("devices").text
                #expect(
                    devices.contains("headset 2: ") && devices.contains("btcall headset forget-codec"), "\(devices)")
                #expect(
                    try await box.device(second.description)?["codecReason"]?.stringValue?.contains("mSBC failed")
                        == true)
                try await disconnect(box)
                try await box.restartDaemon()
                #expect(try await !talk(box))
                let (text, status) = try await Program(box.address)("headset", "forget-codec", "headset 2")
                #expect(status == 0 && text.contains("\(Box.second)"), "\(text)")
                #expect(try await reason(box).isEmpty)
                try await disconnect(box)
                #expect(try await talk(box))
            }
        }

        @Test func `It is forgotten when the headset is unpaired`() async throws {
            try await withState { box in
                try await box.prefer(.bluetooth)
                _ = try await talk(box)
                try await disconnect(box)
                _ = try await talk(box)
                try await disconnect(box)
                #expect(box.daemon.headsets.codecMemories.knows(Box.second))
                box.bluez.remove(Box.second)
                try await eventually("it is forgotten") { !box.daemon.headsets.codecMemories.knows(Box.second) }
                box.bluez.addHeadset(Box.second, name: "headset 2")
                #expect(try await talk(box))
            }
        }

        @Test func `One that was unpaired while the daemon was away is forgotten when it is back`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // It may stay in the temporary directory.
            let stranger = BluetoothAddress(value: 0x0000_5E00_5399)
            let store = CodecMemoryStore(directory: folder.path())
            try store.file.replace(
                with: store.text(
                    [
                        .init(adapter: Box.adapter, headset: stranger): CodecMemory(unanswered: 1),
                        .init(adapter: Box.adapter, headset: Box.first): CodecMemory(unanswered: 1),
                        .init(adapter: stranger, headset: stranger): CodecMemory(unanswered: 2),
                    ], codecs: [.mSBC, .cvsd]))
            try await Box.run(
                configure: { configuration in
                    configuration.stateDirectory = folder.path()
                    configuration.waits.adapter = .milliseconds(50)
                },
                body: { box in
                    let memories = box.daemon.headsets.codecMemories
                    try await eventually("the stranger is forgotten") {
                        memories.memory(of: stranger, on: Box.adapter) == CodecMemory()
                    }
                    #expect(memories.knows(Box.first))
                    // Whether it is paired with an adapter that is not plugged in is not known.
                    #expect(memories.memory(of: stranger, on: stranger).unanswered == 2)
                })
        }

        @Test func `Why there is only CVSD is said in each case`() async throws {
            try await Box.run { box in
                _ = try await box.connect(Box.second, codecs: [.cvsd])
                #expect(try await reason(box) == "the headset offers nothing better")
                try await disconnect(box)
                _ = try await box.connect(Box.second, codecs: [.cvsd, .mSBC])
                #expect(try await reason(box).isEmpty)
                try await box.bridge.setSetting("bluetooth.codecs", to: "cvsd")
                #expect(try await reason(box).contains("[bluetooth] codecs"))
            }
        }

        @Test func `Forgetting what is not known is refused with what would be right`() async throws {
            try await Box.run { box in
                let error = await refusal { () throws(BridgeError) in
                    try await box.bridge.forgetCodecs(of: "00:00:5E:00:53:77")
                }
                #expect(error?.code == .unavailable && error?.message.contains("btcall devices") == true)
                let wrong = await refusal { () throws(BridgeError) in try await box.bridge.forgetCodecs(of: "red") }
                #expect(wrong?.code == .invalidArgument && wrong?.message.contains("AA:BB:CC:DD:EE:FF") == true)
                let (text, status) = try await Program(box.address)("headset", "forget-codec", "no such")
                #expect(status == 1 && text.contains("known are"), "\(text)")
            }
        }
    }
}
