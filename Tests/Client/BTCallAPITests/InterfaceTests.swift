import BTCallAPI
import BluetoothTypes
import DBus
import Foundation
import TestSupport
import Testing

@Suite struct InterfaceTests {
    static let names: [(interface: String, members: Set<String>)] = [
        (
            BTCallName.Interface.manager,
            [
                BTCallName.Manager.activate, BTCallName.Manager.deactivate, BTCallName.Manager.version,
                BTCallName.Manager.state, BTCallName.Manager.problems, BTCallName.Manager.listSettings,
                BTCallName.Manager.setSetting, BTCallName.Manager.resetSetting, BTCallName.Manager.listQuirks,
                BTCallName.Manager.explainQuirks, BTCallName.Manager.forgetCodecs,
                BTCallName.Manager.boardBattery, BTCallName.Manager.configuration, BTCallName.Manager.logout,
                BTCallName.Manager.subscribeLog, BTCallName.Manager.metrics,
                BTCallName.Manager.reportCameraUse, BTCallName.Manager.cameraInUse,
            ]
        ),
        (
            BTCallName.Interface.pairing,
            [
                BTCallName.Pairing.open, BTCallName.Pairing.close, BTCallName.Pairing.scan,
                BTCallName.Pairing.trust, BTCallName.Pairing.forget, BTCallName.Pairing.state,
                BTCallName.Pairing.searching, BTCallName.Pairing.secondsLeft,
                BTCallName.Pairing.deviceFound, BTCallName.Pairing.finished,
            ]
        ),
        (
            BTCallName.Interface.router,
            [
                BTCallName.Router.start, BTCallName.Router.stop, BTCallName.Router.select,
                BTCallName.Router.clearSelection, BTCallName.Router.refresh, BTCallName.Router.explain,
                BTCallName.Router.incident,
                BTCallName.Router.routeChanged, BTCallName.Router.activationFailed, BTCallName.Router.started,
                BTCallName.Router.preferred, BTCallName.Router.defaultDevice, BTCallName.Router.selected,
                BTCallName.Router.activeRoute, BTCallName.Router.pending, BTCallName.Router.mode,
                BTCallName.Router.codec, BTCallName.Router.reason, BTCallName.Router.devices,
                BTCallName.Router.acquireSelection, BTCallName.Router.interrupt, BTCallName.Router.interruptions,
                BTCallName.Router.replacedPreference,
            ]
        ),
        (
            BTCallName.Interface.session,
            [
                BTCallName.Session.activate, BTCallName.Session.deactivate, BTCallName.Session.manual,
                BTCallName.Session.active, BTCallName.Session.opened, BTCallName.Session.registerConfigurator,
                BTCallName.Session.unregisterConfigurator,
            ]
        ),
        (
            BTCallName.Interface.audio,
            [
                BTCallName.Audio.statistics, BTCallName.Audio.openInjection, BTCallName.Audio.micVolume,
                BTCallName.Audio.appVolume, BTCallName.Audio.muteMode, BTCallName.Audio.openManual,
                BTCallName.Audio.acquireManual, BTCallName.Audio.manualRendering,
                BTCallName.Audio.openTap, BTCallName.Audio.allowRecording, BTCallName.Audio.recordingDenied,
                BTCallName.Audio.recordingRequested,
                BTCallName.Audio.voiceProcessing, BTCallName.Audio.voiceProcessingBypassed,
                BTCallName.Audio.voiceProcessor, BTCallName.Audio.echoCancellation,
                BTCallName.Audio.noiseSuppression, BTCallName.Audio.automaticGain, BTCallName.Audio.highPass,
                BTCallName.Audio.speakingWhileMuted,
                BTCallName.Audio.microphoneEnabled, BTCallName.Audio.recordingAlwaysPrepared,
                BTCallName.Audio.prepared, BTCallName.Audio.allowMicrophone, BTCallName.Audio.microphoneAccess,
                BTCallName.Audio.microphoneInUse, BTCallName.Audio.privacyOutput,
                BTCallName.Audio.automaticConfiguration, BTCallName.Audio.openPlayback, BTCallName.Audio.levels,
            ]
        ),
        (
            BTCallName.Interface.calls,
            [
                BTCallName.Calls.registerProvider, BTCallName.Calls.unregisterProvider, BTCallName.Calls.removeAll,
                BTCallName.Calls.reportIncoming, BTCallName.Calls.reportOutgoing, BTCallName.Calls.place,
                BTCallName.Calls.callAdded, BTCallName.Calls.callRemoved, BTCallName.Calls.calls,
                BTCallName.Calls.muted,
                BTCallName.Calls.doNotDisturb, BTCallName.Calls.incomingCall,
                BTCallName.Calls.log, BTCallName.Calls.registerContactResolver,
                BTCallName.Calls.unregisterContactResolver,
                BTCallName.Calls.cameraSettingsChanged,
                BTCallName.Calls.swap, BTCallName.Calls.conference, BTCallName.Calls.setTalk,
                BTCallName.Calls.talkKeys, BTCallName.Calls.learnTalk, BTCallName.Calls.forgetTalk,
                BTCallName.Calls.talkLearning,
            ]
        ),
        (
            BTCallName.Interface.call,
            [
                BTCallName.Call.routes, BTCallName.Call.camera, BTCallName.Call.answer, BTCallName.Call.end,
                BTCallName.Call.setHeld, BTCallName.Call.sendDTMF, BTCallName.Call.status,
                BTCallName.Call.statusChanged, BTCallName.Call.requestedMedia, BTCallName.Call.recordingRequestedBy,
                BTCallName.Call.account, BTCallName.Call.icon,
                BTCallName.Call.update, BTCallName.Call.stateChanged, BTCallName.Call.id, BTCallName.Call.state,
                BTCallName.Call.direction, BTCallName.Call.number, BTCallName.Call.name, BTCallName.Call.provider,
                BTCallName.Call.index, BTCallName.Call.startedAt, BTCallName.Call.ssrcs, BTCallName.Call.link,
                BTCallName.Call.quality, BTCallName.Call.qualityParts, BTCallName.Call.qualityTotal,
                BTCallName.Call.audioProblem, BTCallName.Call.recording,
                BTCallName.Call.handle, BTCallName.Call.remoteAddress, BTCallName.Call.hasVideo,
                BTCallName.Call.reportCamera,
                BTCallName.Call.capabilities, BTCallName.Call.muted, BTCallName.Call.audio, BTCallName.Call.video,
                BTCallName.Call.localAudioEnabled, BTCallName.Call.localVideoEnabled, BTCallName.Call.setMedia,
                BTCallName.Call.requestMediaChange, BTCallName.Call.answerMediaChange,
                BTCallName.Call.mediaChangeRequested, BTCallName.Call.contact, BTCallName.Call.revokeTalk,
                BTCallName.Call.talkMode, BTCallName.Call.talking, BTCallName.Call.talkState,
                BTCallName.Call.talkHolder,
            ]
        ),
        (
            BTCallName.Interface.callProvider,
            [
                BTCallName.CallProvider.performStart, BTCallName.CallProvider.performAnswer,
                BTCallName.CallProvider.performEnd, BTCallName.CallProvider.performSetHeld,
                BTCallName.CallProvider.performDTMF, BTCallName.CallProvider.audioReady,
                BTCallName.CallProvider.released,
                BTCallName.CallProvider.performSetMuted, BTCallName.CallProvider.performSwap,
                BTCallName.CallProvider.performConference, BTCallName.CallProvider.performMediaChange,
                BTCallName.CallProvider.performTalk,
            ]
        ),
        (
            BTCallName.Interface.contactResolver,
            [
                BTCallName.ContactResolver.resolve, BTCallName.ContactResolver.resolveContact,
                BTCallName.ContactResolver.resolveCaller,
            ]
        ),
        (BTCallName.Interface.audioConfigurator, [BTCallName.AudioConfigurator.configure]),
        (
            BTCallName.Interface.video,
            [
                BTCallName.Video.setCamera, BTCallName.Video.setCapture, BTCallName.Video.reset,
                BTCallName.Video.requestAccess, BTCallName.Video.cameraSettingsChanged, BTCallName.Video.cameras,
                BTCallName.Video.camera, BTCallName.Video.cameraSettings, BTCallName.Video.resolution,
                BTCallName.Video.frameRate, BTCallName.Video.problem, BTCallName.Video.setView,
                BTCallName.Video.setBackground, BTCallName.Video.openTap, BTCallName.Video.closeTap,
                BTCallName.Video.offerRemote, BTCallName.Video.withdrawRemote, BTCallName.Video.picture,
                BTCallName.Video.views, BTCallName.Video.background, BTCallName.Video.outputDevice,
                BTCallName.Video.taps,
            ]
        ),
        (
            BTCallName.Interface.headset,
            [
                BTCallName.Headset.connect, BTCallName.Headset.disconnect, BTCallName.Headset.buttonPressed,
                BTCallName.Headset.address,
                BTCallName.Headset.name, BTCallName.Headset.connected, BTCallName.Headset.codec,
                BTCallName.Headset.codecs, BTCallName.Headset.codecReason, BTCallName.Headset.audioPolicy,
                BTCallName.Headset.battery, BTCallName.Headset.speakerVolume, BTCallName.Headset.microphoneVolume,
                BTCallName.Headset.mediaVolume, BTCallName.Headset.mediaCodec, BTCallName.Headset.mediaState,
                BTCallName.Headset.microphoneMuted, BTCallName.Headset.powerSource,
                BTCallName.Headset.enhancedSafety, BTCallName.Headset.vendorEvent, BTCallName.Headset.talk,
                BTCallName.Headset.talkDelay,
            ]
        ),
    ]

    @Test(arguments: names.map(\.interface))
    func `Every name in code is in the interface file, and vice versa`(interface: String) throws {
        let members = Self.names.filter { $0.interface == interface }.flatMap(\.members)
        #expect(Set(members) == (try InterfaceFile(interface)).members)
    }

    @Test func `Every interface file has names in code and a reference page`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: InterfaceFile.directory.path())
        let interfaces = files.filter { $0.hasSuffix(".xml") }.map { String($0.dropLast(4)) }
        #expect(Set(interfaces) == Set(Self.names.map(\.interface)))
        #expect(Set(interfaces) == Set(files.filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }))
    }

    @Test(arguments: names.map(\.interface))
    func `The reference page names every member of its interface with its signature, and only known errors`(
        interface: String
    ) throws {
        let file = try InterfaceFile(interface)
        let page = try String(contentsOf: InterfaceFile.directory.appending(path: "\(interface).md"), encoding: .utf8)
        for member in file.members {
            #expect(page.contains("`\(member)"), "\(interface).\(member) is missing")
        }
        for (property, type) in file.properties {
            #expect(page.contains("`\(property)` | `\(type)`"), "the type of \(interface).\(property)")
        }
        for word in page.split(whereSeparator: { !$0.isLetter && $0 != "." }) {
            guard word.hasPrefix(APIError.namePrefix) else { continue }
            #expect(APIError.Code(rawValue: String(word.dropFirst(APIError.namePrefix.count))) != nil, "\(word)")
        }
    }

    @Test func `Properties are encoded with the types of the interface files`() throws {
        let address = try #require(BluetoothAddress("AA:BB:CC:DD:EE:FF"))
        let call = CallDescription(id: "", state: .active, direction: .incoming, provider: "", index: 1)
        let encoded: [(String, [String: Value])] = [
            (
                BTCallName.Interface.manager,
                ManagerDescription(version: "1", state: .active).properties.merging(
                    [
                        BTCallName.Manager.configuration: .vardict(ConfigurationDescription([:]).fields),
                        BTCallName.Manager.cameraInUse: .bool(false),
                    ],
                    uniquingKeysWith: { $1 })
            ),
            (BTCallName.Interface.router, RouterState().properties),
            (BTCallName.Interface.call, call.properties),
            (BTCallName.Interface.headset, HeadsetDescription(address: address, name: "").properties),
            (
                BTCallName.Interface.audio,
                [
                    BTCallName.Audio.statistics: .vardict(AudioStatistics().fields),
                    BTCallName.Audio.micVolume: .double(1), BTCallName.Audio.appVolume: .double(1),
                    BTCallName.Audio.muteMode: .string(MuteMode.inputMixer.rawValue),
                    BTCallName.Audio.manualRendering: .bool(false),
                    BTCallName.Audio.voiceProcessing: .bool(true),
                    BTCallName.Audio.voiceProcessingBypassed: .bool(false),
                    BTCallName.Audio.voiceProcessor: .string("webrtc"),
                    BTCallName.Audio.echoCancellation: .bool(true), BTCallName.Audio.noiseSuppression: .bool(true),
                    BTCallName.Audio.automaticGain: .bool(true), BTCallName.Audio.highPass: .bool(true),
                    BTCallName.Audio.microphoneEnabled: .bool(true),
                    BTCallName.Audio.recordingAlwaysPrepared: .bool(false), BTCallName.Audio.prepared: .bool(false),
                    BTCallName.Audio.microphoneAccess: .string("allowed"),
                    BTCallName.Audio.microphoneInUse: .bool(false), BTCallName.Audio.privacyOutput: .string("none"),
                    BTCallName.Audio.automaticConfiguration: .bool(true),
                ]
            ),
        ]
        for (interface, properties) in encoded {
            #expect(properties.mapValues(\.typeSignature) == (try InterfaceFile(interface)).properties)
        }
    }
}
