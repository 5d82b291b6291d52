// swift-tools-version: 6.2
import Glibc
import PackageDescription

// Every target is written in language mode 6 with warnings as errors. Pure targets add strict memory safety: nothing in
// them may touch a pointer. Docs: docs/inside/Architecture.md.
let common: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]
// scripts/test optimises modules with long computations even in its debug build. Not always: other packages cannot depend on
// a library with unsafe flags, and a debugger sees less.
let computing: [SwiftSetting] =
    Context.environment["BTCALL_OPTIMIZED_TESTS"] == nil
    ? [] : [.unsafeFlags(["-O"], .when(configuration: .debug))]
let pure: [SwiftSetting] = common + computing + [.strictMemorySafety()]

// For the shipped daemon: relocations in their short form (glibc 2.36 and later), and no table of its thousands of symbols,
// which only programs that load it as a library would need; functions with the same code are kept once, because nothing compares
// their addresses. Saves an eighth of its size.
let small: [LinkerSetting] = [
    .unsafeFlags(
        [
            "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "--no-export-dynamic",
            "-Xlinker", "--icf=all",
        ],
        .when(configuration: .release))
]

// Debian 12 has webrtc-audio-processing 0.3, Debian 13 has 1.x, whose interface is C++. The newest that pkg-config knows is used;
// PKG_CONFIG_PATH and PKG_CONFIG_LIBDIR count. Without either, webrtc-1.cc stops the build and names the package to install. SwiftPM
// keeps this decision until the manifest, the environment or its cache changes (swift package purge-cache).
let pkgConfigDirectories: [String] = {
    #if arch(arm64)
        let architecture = "aarch64-linux-gnu"
    #else
        let architecture = "x86_64-linux-gnu"
    #endif
    let standard = ["/usr/local", "/usr"].flatMap { prefix in
        ["lib/\(architecture)", "lib", "share"].map { "\(prefix)/\($0)/pkgconfig" }
    }
    func directories(_ variable: String) -> [String]? {
        Context.environment[variable]?.split(separator: ":").map(String.init)
    }
    return (directories("PKG_CONFIG_PATH") ?? []) + (directories("PKG_CONFIG_LIBDIR") ?? standard)
}()
func isKnownToPkgConfig(_ module: String) -> Bool {
    pkgConfigDirectories.contains { access("\($0)/\(module).pc", R_OK) == 0 }
}
let webRTC: (source: String, library: String) =
    isKnownToPkgConfig("webrtc-audio-processing") && !isKnownToPkgConfig("webrtc-audio-processing-1")
    ? ("webrtc-0.c", "webrtc_audio_processing") : ("webrtc-1.cc", "webrtc-audio-processing-1")

// Headers of GStreamer, also below a sysroot. Not by pkg-config, which every build would ask, also one without btcall-video,
// and whose -pthread the package manager warns of.
let gStreamer: [CSetting] = {
    let folders =
        ["include/gstreamer-1.0", "include/glib-2.0"]
        + ["x86_64", "aarch64"].map { "lib/\($0)-linux-gnu/glib-2.0/include" }
    // "=" is the sysroot, and means nothing without one.
    return [.unsafeFlags(["=", ""].flatMap { root in folders.map { "-I\(root)/usr/\($0)" } })]
}()

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
func nio(_ product: String) -> Target.Dependency { .product(name: product, package: "swift-nio") }

let package = Package(
    name: "btcall",
    products: [
        .executable(name: "btcalld", targets: ["btcalld"]),
        .executable(name: "btcall", targets: ["BTCallCommand"]),
        .executable(name: "btcall-baresip", targets: ["btcall-baresip"]),
        .executable(name: "btcall-lab", targets: ["BTCallLab"]),
        .executable(name: "btcall-video", targets: ["btcall-video"]),
        .executable(name: "btcall-web", targets: ["btcall-web"]),
        .library(name: "BTCall", targets: ["BTCall"]),
        .library(name: "BTCallSimulator", targets: ["BTCallSimulator"]),
    ],
    traits: [
        .default(enabledTraits: ["WebRTC"]),
        .trait(name: "LC3", description: "Super wide band speech (LC3-SWB), with liblc3."),
        .trait(name: "WebRTC", description: "Echo cancellation with webrtc-audio-processing, else speexdsp."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        // System libraries and C.
        .systemLibrary(
            name: "CDBus", path: "Sources/C/CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(
            name: "CALSA", path: "Sources/C/CALSA", pkgConfig: "alsa", providers: [.apt(["libasound2-dev"])]),
        .systemLibrary(name: "CSBC", path: "Sources/C/CSBC", pkgConfig: "sbc", providers: [.apt(["libsbc-dev"])]),
        .systemLibrary(
            name: "CSpeexDSP", path: "Sources/C/CSpeexDSP", pkgConfig: "speexdsp",
            providers: [.apt(["libspeexdsp-dev"])]),
        .systemLibrary(name: "CBluetooth", path: "Sources/C/CBluetooth"),
        // Without pkgConfig: the default build would look for it.
        .systemLibrary(name: "CLC3", path: "Sources/C/CLC3", providers: [.apt(["liblc3-dev"])]),
        .systemLibrary(name: "CINIH", path: "Sources/C/CINIH", pkgConfig: "inih", providers: [.apt(["libinih-dev"])]),
        .systemLibrary(
            name: "CSodium", path: "Sources/C/CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .target(name: "CBTCall", path: "Sources/C/CBTCall"),
        // Of btcall-video only.
        .target(name: "CVideo", path: "Sources/C/CVideo"),
        .target(
            name: "CPictures", path: "Sources/C/CPictures", cSettings: gStreamer,
            linkerSettings: ["gstapp-1.0", "gstvideo-1.0", "gstreamer-1.0", "gobject-2.0", "glib-2.0"]
                .map { .linkedLibrary($0) }),
        // Empty without the trait. The folder webrtc-1 stands for the library's own folder of headers, which only an unsafe flag
        // could name.
        .target(
            name: "CVoiceProcessing", path: "Sources/C/CVoiceProcessing", sources: [webRTC.source],
            cSettings: [.define("BTCALL_WEBRTC", .when(traits: ["WebRTC"])), .headerSearchPath("webrtc-1")],
            linkerSettings: [.linkedLibrary(webRTC.library, .when(traits: ["WebRTC"]))]),
        // Contains no Swift and is not part of the daemon's size: scripts/build-sco-routing builds the shipped program.
        .target(name: "CSCORouting", path: "Sources/C/CSCORouting"),
        .executableTarget(
            name: "btcall-sco-routing", dependencies: ["CSCORouting"], path: "Sources/Programs/btcall-sco-routing"),

        // Pure: decide.
        // libm decides whether a number is whole.
        .target(
            name: "JSONText", path: "Sources/Pure/JSONText", swiftSettings: pure,
            linkerSettings: [.linkedLibrary("m")]),
        .target(name: "Spelling", path: "Sources/Pure/Spelling", swiftSettings: pure),
        // Files and command lines of the programs beside btcalld.
        .target(name: "ProgramSettings", path: "Sources/Pure/ProgramSettings", swiftSettings: pure),
        .target(name: "BluetoothTypes", path: "Sources/Pure/BluetoothTypes", swiftSettings: pure),
        .target(name: "Telephony", path: "Sources/Pure/Telephony", swiftSettings: pure),
        .target(
            name: "HandsFree", dependencies: ["BluetoothTypes", "Spelling", "Telephony"],
            path: "Sources/Pure/HandsFree", swiftSettings: pure),
        .target(
            name: "Routing", dependencies: ["BluetoothTypes", "JSONText", "Spelling"],
            path: "Sources/Pure/Routing", swiftSettings: pure),
        .target(
            name: "HeadsetPolicy", dependencies: ["BluetoothTypes", "HandsFree"], path: "Sources/Pure/HeadsetPolicy",
            swiftSettings: pure),
        // The words of push to talk that programs and the daemon share: a program links nothing else of it.
        .target(name: "TalkWords", path: "Sources/Pure/TalkWords", swiftSettings: pure),
        .target(
            name: "Talk", dependencies: ["BluetoothTypes", "HandsFree", "Spelling", "TalkWords"],
            path: "Sources/Pure/Talk", swiftSettings: pure),
        .target(
            name: "BaresipControl", dependencies: ["BluetoothTypes", "JSONText", "ProgramSettings", "Telephony"],
            path: "Sources/Pure/BaresipControl",
            swiftSettings: pure),
        .target(name: "WebTokens", dependencies: ["JSONText"], path: "Sources/Pure/WebTokens", swiftSettings: pure),
        .target(name: "VideoCapture", path: "Sources/Pure/VideoCapture", swiftSettings: pure),
        .target(
            name: "VideoPlan", dependencies: ["VideoCapture"], path: "Sources/Pure/VideoPlan", swiftSettings: pure),

        // Real time: move samples.
        .target(
            name: "RealTimeStorage", path: "Sources/RealTime/RealTimeStorage", swiftSettings: common + computing),
        .target(
            name: "AudioDSP",
            dependencies: [
                "BluetoothTypes", "CBTCall", "CSBC", "CSpeexDSP",
                .target(name: "CLC3", condition: .when(traits: ["LC3"])),
                .target(name: "CVoiceProcessing", condition: .when(traits: ["WebRTC"])),
            ], path: "Sources/RealTime/AudioDSP",
            swiftSettings: common + computing),
        .target(
            name: "AudioEngine", dependencies: ["AudioDSP", "BluetoothTypes", "CBTCall", "RealTimeStorage"],
            path: "Sources/RealTime/AudioEngine",
            swiftSettings: common + computing),

        // Shells: act.
        .target(
            name: "ControlLoop", dependencies: ["BluetoothTypes", "CBTCall", "JSONText", logging],
            path: "Sources/Shells/ControlLoop", swiftSettings: common),
        .target(
            name: "DBus", dependencies: ["BluetoothTypes", "CBTCall", "CDBus", "ControlLoop", logging],
            path: "Sources/Shells/DBus", swiftSettings: common),
        .target(
            name: "BlueZ", dependencies: ["DBus", "ControlLoop", "BluetoothTypes", logging],
            path: "Sources/Shells/BlueZ", swiftSettings: common),
        .target(
            name: "BluetoothSockets", dependencies: ["BluetoothTypes", "CBluetooth", "ControlLoop"],
            path: "Sources/Shells/BluetoothSockets",
            swiftSettings: common),
        .target(
            name: "ALSA", dependencies: ["CALSA", "CBTCall", "ControlLoop"], path: "Sources/Shells/ALSA",
            swiftSettings: common),
        .target(
            name: "BoardInput", dependencies: ["BluetoothTypes", "CBTCall", "ControlLoop"],
            path: "Sources/Shells/BoardInput", swiftSettings: common),
        .target(
            name: "Cameras", dependencies: ["BoardInput", "CVideo", "ControlLoop", "VideoCapture"],
            path: "Sources/Shells/Cameras", swiftSettings: common),
        // Pictures in shared memory: dbus/org.btcall.Video1.md.
        .target(
            name: "FrameRings", dependencies: ["CBTCall", "ControlLoop"], path: "Sources/Shells/FrameRings",
            swiftSettings: common),
        // Pipelines of GStreamer, of btcall-video only: docs/inside/Video.md.
        .target(
            name: "Pictures",
            dependencies: [
                "BluetoothTypes", "BoardInput", "CBTCall", "CPictures", "ControlLoop", "FrameRings", "VideoCapture",
                "VideoPlan",
            ], path: "Sources/Shells/Pictures", swiftSettings: common),
        .target(
            name: "Cryptography", dependencies: ["CSodium", "ControlLoop", "WebTokens"],
            path: "Sources/Shells/Cryptography", swiftSettings: common),
        .target(
            name: "BTCallAPI", dependencies: ["BluetoothTypes", "DBus", "Spelling", "TalkWords"],
            path: "Sources/Client/BTCallAPI",
            swiftSettings: common),
        .target(
            name: "BTCall",
            dependencies: [
                "BTCallAPI", "BluetoothTypes", "ControlLoop", "DBus", "FrameRings", "JSONText", "TalkWords",
            ],
            path: "Sources/Client/BTCall", swiftSettings: common),
        // The library's values as JSON: for the command line and for web pages.
        .target(
            name: "BTCallJSON", dependencies: ["BTCall", "BluetoothTypes", "ControlLoop", "JSONText"],
            path: "Sources/Client/BTCallJSON", swiftSettings: common),
        // The daemon in rooms: each imports only those above it.
        .target(
            name: "Configuration",
            dependencies: [
                "ALSA", "AudioDSP", "BTCallAPI", "BluetoothTypes", "BoardInput", "CINIH", "ControlLoop", "HandsFree",
                "HeadsetPolicy", "Routing", "Spelling", "Talk", "TalkWords", "Telephony", logging,
            ], path: "Sources/Daemon/Configuration", swiftSettings: common),
        // The application's side of a call's audio, used by programs, bench and tests as far end.
        .target(
            name: "CallExchange", dependencies: ["AudioDSP", "AudioEngine", "BTCall", "ControlLoop"],
            path: "Sources/Client/CallExchange", swiftSettings: common),
        .target(
            name: "Diagnostics",
            dependencies: [
                "AudioDSP", "BTCallAPI", "BluetoothTypes", "CBTCall", "Configuration", "ControlLoop", "DBus", "Routing",
                "Telephony", logging,
            ],
            path: "Sources/Daemon/Diagnostics", swiftSettings: common),
        .target(
            name: "AudioPaths",
            dependencies: [
                "ALSA", "AudioDSP", "AudioEngine", "BTCallAPI", "BluetoothTypes", "BoardInput", "CBTCall",
                "Configuration", "ControlLoop", "DBus", "Diagnostics", "Routing", "Telephony", logging,
            ],
            path: "Sources/Daemon/AudioPaths", swiftSettings: common),
        .target(
            name: "CallControl",
            dependencies: [
                "AudioDSP", "AudioEngine", "AudioPaths", "BTCallAPI", "BluetoothTypes",
                "Configuration", "ControlLoop", "DBus", "Diagnostics", "JSONText", "Routing", "Talk", "TalkWords",
                "Telephony", logging,
            ],
            path: "Sources/Daemon/CallControl", swiftSettings: common),
        .target(
            name: "BoardControl",
            dependencies: [
                "ALSA", "BluetoothTypes", "BoardInput", "Configuration", "ControlLoop", "Diagnostics", "Routing",
                logging,
            ],
            path: "Sources/Daemon/BoardControl", swiftSettings: common),
        .target(
            name: "HeadsetControl",
            dependencies: [
                "AudioEngine", "AudioPaths", "BTCallAPI", "BlueZ", "BluetoothSockets", "BluetoothTypes", "BoardControl",
                "CallControl", "Configuration", "ControlLoop", "DBus", "Diagnostics", "HandsFree", "HeadsetPolicy",
                "Routing", "Talk", "Telephony", logging,
            ],
            path: "Sources/Daemon/HeadsetControl", swiftSettings: common),
        .target(
            name: "TalkControl",
            dependencies: [
                "AudioDSP", "AudioEngine", "AudioPaths", "BTCallAPI", "BlueZ", "BluetoothSockets", "BluetoothTypes",
                "BoardControl", "CallControl", "Configuration", "ControlLoop", "DBus", "Diagnostics", "HeadsetControl",
                "Routing", "Talk", "TalkWords", "Telephony", logging,
            ],
            path: "Sources/Daemon/TalkControl", swiftSettings: common),
        .target(
            name: "BusObjects",
            dependencies: [
                "AudioDSP", "AudioEngine", "AudioPaths", "BTCallAPI", "BlueZ", "BluetoothTypes",
                "CallControl", "Configuration", "ControlLoop", "DBus", "Diagnostics", "HandsFree", "HeadsetControl",
                "HeadsetPolicy", "Routing", "Talk", "TalkControl", "TalkWords", "Telephony",
            ],
            path: "Sources/Daemon/BusObjects", swiftSettings: common),
        .target(
            name: "BTCallDaemon",
            dependencies: [
                "Diagnostics", "AudioPaths", "CallControl", "BoardControl", "HeadsetControl", "TalkControl",
                "BusObjects",
                "ALSA", "AudioEngine", "BTCallAPI", "BlueZ", "BluetoothSockets", "BluetoothTypes", "CBTCall",
                "Configuration", "ControlLoop", "DBus", "Routing", "Spelling", logging,
            ], path: "Sources/Daemon/BTCallDaemon",
            swiftSettings: common),
        .target(
            name: "BTCallSimulator",
            dependencies: [
                "BluetoothTypes", "JSONText", "Routing", "AudioDSP", "ControlLoop", "DBus",
                "CBTCall",
            ], path: "Sources/Simulator/BTCallSimulator",
            swiftSettings: common),
        // Speech, codecs, lossy links, and rooms with echoes: to measure concealment and voice processing.
        .target(
            name: "BTCallTrials", dependencies: ["AudioDSP"], path: "Sources/Simulator/BTCallTrials",
            swiftSettings: common + computing),
        .target(
            name: "BTCallBench",
            dependencies: [
                "AudioDSP", "AudioEngine", "AudioPaths", "BTCall", "BTCallDaemon", "BTCallSimulator", "BTCallTrials",
                "BlueZ", "BluetoothSockets", "BluetoothTypes", "CallExchange", "Configuration", "ControlLoop", "DBus",
                "HeadsetControl", "Routing", "Talk", "TalkWords", logging,
            ], path: "Sources/Simulator/BTCallBench",
            swiftSettings: common + computing),
        .executableTarget(
            name: "btcalld", dependencies: ["BTCallDaemon"], path: "Sources/Programs/btcalld", swiftSettings: common,
            linkerSettings: small),
        // Common parts of the command lines: output, completion, manual, and a call with the program as far end.
        .target(
            name: "CommandKit",
            dependencies: ["BTCall", "CallExchange", "ControlLoop", "JSONText", "Spelling", argumentParser],
            path: "Sources/Programs/CommandKit", swiftSettings: common),
        .executableTarget(
            name: "BTCallCommand",
            dependencies: [
                "ALSA", "BTCall", "BTCallAPI", "BTCallJSON", "BluetoothSockets", "BluetoothTypes", "CALSA",
                "CallExchange", "CommandKit", "Configuration", "ControlLoop", "Cryptography", "DBus", "JSONText",
                "Routing", "Spelling", "WebTokens", argumentParser,
            ], path: "Sources/Programs/BTCallCommand",
            swiftSettings: common, linkerSettings: small),
        .executableTarget(
            name: "BTCallLab",
            dependencies: [
                "AudioDSP", "BTCall", "BTCallAPI", "BTCallBench", "BTCallDaemon", "BTCallSimulator",
                "BTCallTrials", "BluetoothSockets", "BluetoothTypes", "CallExchange", "CommandKit", "Configuration",
                "ControlLoop", "HandsFree", "JSONText", "Routing", "Telephony", argumentParser,
            ], path: "Sources/Programs/btcall-lab",
            swiftSettings: common, linkerSettings: small),

        // Applications on the library, their common start, and the example of BTCall.docc.
        .target(
            name: "CompanionKit", dependencies: ["BTCall", "BTCallAPI", "ControlLoop", "ProgramSettings", logging],
            path: "Sources/Programs/CompanionKit", swiftSettings: common),
        .executableTarget(
            name: "btcall-baresip",
            dependencies: [
                "BTCall", "BaresipControl", "BluetoothTypes", "CompanionKit", "ControlLoop", "Telephony", logging,
            ], path: "Sources/Programs/btcall-baresip", swiftSettings: common, linkerSettings: small),
        // HTTP and WebSocket: docs/inside/Web.md.
        .executableTarget(
            name: "btcall-web",
            dependencies: [
                "BTCall", "BTCallAPI", "BTCallJSON", "BluetoothTypes", "CompanionKit", "ControlLoop", "Cryptography",
                "JSONText", "ProgramSettings", "WebTokens", logging, nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"),
                nio("NIOWebSocket"),
            ], path: "Sources/Programs/btcall-web", swiftSettings: common, linkerSettings: small),
        // Cameras: docs/inside/Video.md.
        .executableTarget(
            name: "btcall-video",
            dependencies: [
                "BTCall", "BTCallAPI", "BluetoothTypes", "BoardInput", "Cameras", "CompanionKit", "ControlLoop", "DBus",
                "FrameRings", "Pictures", "ProgramSettings", "VideoCapture", "VideoPlan", logging,
            ], path: "Sources/Programs/btcall-video", swiftSettings: common, linkerSettings: small),
        .executableTarget(
            name: "IntercomExample", dependencies: ["BTCall"], path: "Sources/Programs/IntercomExample",
            swiftSettings: common),

        // Tests, one target for each source target, and their common support.
        .target(
            name: "TestSupport",
            dependencies: [
                "BluetoothTypes", "CALSA", "CBTCall", "CSBC", "Cameras", "ControlLoop", "VideoCapture", logging,
            ],
            path: "Tests/TestSupport", swiftSettings: common + computing),
        .testTarget(
            name: "BluetoothTypesTests", dependencies: ["BluetoothTypes"], path: "Tests/Pure/BluetoothTypesTests",
            swiftSettings: common),
        .testTarget(
            name: "JSONTextTests", dependencies: ["JSONText", "TestSupport"], path: "Tests/Pure/JSONTextTests",
            swiftSettings: common),
        .testTarget(
            name: "WebTokensTests", dependencies: ["JSONText", "TestSupport", "WebTokens"],
            path: "Tests/Pure/WebTokensTests", swiftSettings: common),
        .testTarget(
            name: "VideoCaptureTests", dependencies: ["TestSupport", "VideoCapture"],
            path: "Tests/Pure/VideoCaptureTests", swiftSettings: common),
        .testTarget(
            name: "VideoPlanTests", dependencies: ["TestSupport", "VideoCapture", "VideoPlan"],
            path: "Tests/Pure/VideoPlanTests", swiftSettings: common),
        .testTarget(
            name: "SCORoutingTests", dependencies: ["CSCORouting"], path: "Tests/C/SCORoutingTests",
            swiftSettings: common),
        .testTarget(
            name: "TelephonyTests", dependencies: ["Telephony"], path: "Tests/Pure/TelephonyTests",
            swiftSettings: common),
        .testTarget(
            name: "HandsFreeTests",
            dependencies: [
                "HandsFree", "Telephony", "BluetoothTypes", "BluetoothSockets", "ControlLoop", "BTCallLab",
                "TestSupport",
            ], path: "Tests/Pure/HandsFreeTests",
            resources: [.copy("Dialogues")], swiftSettings: common),
        // The fuzzed code, which libFuzzer runs, too: Tests/Fuzz/README.md.
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "BaresipControl", "BluetoothTypes", "Configuration", "HandsFree", "JSONText", "Talk", "TalkWords",
                "Telephony",
            ],
            path: "Tests/Fuzz",
            exclude: [
                "Driver", "README.md", "at.dict", "baresip.dict", "corpus", "crashes", "fuzz", "json.dict",
                "quirks.dict",
                "seed", "talk.dict",
            ],
            swiftSettings: common),
        .testTarget(
            name: "RoutingTests",
            dependencies: ["BTCallSimulator", "BluetoothTypes", "JSONText", "Routing", "Spelling"],
            path: "Tests/Pure/RoutingTests",
            resources: [.copy("Scenarios")], swiftSettings: common),
        .testTarget(
            name: "HeadsetPolicyTests", dependencies: ["BluetoothTypes", "HandsFree", "HeadsetPolicy", "TestSupport"],
            path: "Tests/Pure/HeadsetPolicyTests",
            swiftSettings: common),
        .testTarget(
            name: "TalkTests", dependencies: ["BluetoothTypes", "HandsFree", "Talk", "TalkWords", "TestSupport"],
            path: "Tests/Pure/TalkTests", resources: [.copy("Dialogues")], swiftSettings: common),
        .testTarget(
            name: "BaresipControlTests",
            dependencies: [
                "BaresipControl", "BluetoothTypes", "JSONText", "ProgramSettings", "Telephony", "TestSupport",
            ],
            path: "Tests/Pure/BaresipControlTests", swiftSettings: common),
        .executableTarget(
            name: "RoutingBench", dependencies: ["BluetoothTypes", "Routing"], path: "Tests/Benchmarks/RoutingBench",
            swiftSettings: common),
        .executableTarget(
            name: "CommandBench", dependencies: ["BluetoothTypes", "HandsFree", "Telephony"],
            path: "Tests/Benchmarks/CommandBench", swiftSettings: common),
        .executableTarget(
            name: "ConcealmentBench", dependencies: ["AudioDSP", "BTCallTrials"],
            path: "Tests/Benchmarks/ConcealmentBench", swiftSettings: common),
        // A day of calls, headsets and faults in virtual time: Tests/VirtualSoak/README.md.
        .executableTarget(
            name: "VirtualSoak",
            dependencies: [
                "Configuration", "HeadsetControl",
                "AudioDSP", "AudioEngine", "BTCall", "BTCallBench", "BTCallDaemon", "BTCallSimulator", "BlueZ",
                "BluetoothTypes", "CallExchange", "ControlLoop", "DBus", "Routing", logging,
            ],
            path: "Tests/VirtualSoak/Soak", swiftSettings: common),
        .testTarget(name: "VirtualSoakTests", dependencies: ["VirtualSoak"], swiftSettings: common),
        .testTarget(
            name: "RealTimeStorageTests", dependencies: ["RealTimeStorage", "TestSupport"],
            path: "Tests/RealTime/RealTimeStorageTests", swiftSettings: common),
        .testTarget(
            name: "AudioDSPTests",
            dependencies: ["AudioDSP", "BluetoothTypes", "BTCallTrials", "TestSupport"],
            path: "Tests/RealTime/AudioDSPTests",
            swiftSettings: common),
        .testTarget(
            name: "AudioEngineTests",
            dependencies: [
                "AudioEngine", "AudioDSP", "BluetoothTypes", "CALSA", "CBTCall", "BTCallTrials", "RealTimeStorage",
                "TestSupport",
            ], path: "Tests/RealTime/AudioEngineTests",
            swiftSettings: common),
        .testTarget(
            name: "ALSATests", dependencies: ["ALSA", "CALSA", "ControlLoop"], path: "Tests/Shells/ALSATests",
            swiftSettings: common),
        .testTarget(
            name: "BoardInputTests",
            dependencies: ["BoardInput", "BluetoothTypes", "CBTCall", "ControlLoop", "TestSupport"],
            path: "Tests/Shells/BoardInputTests",
            swiftSettings: common),
        .executableTarget(
            name: "ControlLoopProbe", dependencies: ["BluetoothTypes", "ControlLoop", "DBus", logging],
            path: "Tests/Shells/ControlLoopTests/Probe", swiftSettings: common),
        .testTarget(
            name: "ControlLoopTests",
            dependencies: ["BluetoothTypes", "ControlLoop", "CBTCall", "ControlLoopProbe", "TestSupport", logging],
            path: "Tests/Shells/ControlLoopTests",
            exclude: ["Probe"], swiftSettings: common),
        .testTarget(
            name: "DBusTests",
            dependencies: [
                "BluetoothTypes", "ControlLoop", "CDBus", "DBus", "ControlLoopProbe", "TestSupport",
            ], path: "Tests/Shells/DBusTests",
            exclude: ["Fixtures"], swiftSettings: common),
        .testTarget(
            name: "BlueZTests",
            dependencies: [
                "BlueZ", "BTCallSimulator", "BluetoothTypes", "ControlLoop", "DBus", "TestSupport", logging,
            ], path: "Tests/Shells/BlueZTests",
            swiftSettings: common),
        .testTarget(
            name: "BluetoothSocketsTests",
            dependencies: ["BluetoothSockets", "BluetoothTypes", "ControlLoop", "TestSupport"],
            path: "Tests/Shells/BluetoothSocketsTests",
            swiftSettings: common),
        .testTarget(
            name: "CamerasTests", dependencies: ["Cameras", "ControlLoop", "TestSupport", "VideoCapture"],
            path: "Tests/Shells/CamerasTests", swiftSettings: common),
        .testTarget(
            name: "FrameRingsTests", dependencies: ["CBTCall", "ControlLoop", "FrameRings", "TestSupport"],
            path: "Tests/Shells/FrameRingsTests", swiftSettings: common),
        .testTarget(
            name: "PicturesTests",
            dependencies: ["ControlLoop", "FrameRings", "Pictures", "TestSupport", "VideoCapture", "VideoPlan"],
            path: "Tests/Shells/PicturesTests", swiftSettings: common),
        .testTarget(
            name: "CryptographyTests", dependencies: ["Cryptography", "WebTokens"],
            path: "Tests/Shells/CryptographyTests", resources: [.copy("Vectors")], swiftSettings: common),
        .testTarget(
            name: "BTCallAPITests", dependencies: ["BTCallAPI", "BluetoothTypes", "DBus", "TalkWords", "TestSupport"],
            path: "Tests/Client/BTCallAPITests",
            swiftSettings: common),
        .testTarget(
            name: "BTCallTests", dependencies: ["BTCall", "BTCallAPI", "BluetoothTypes", "DBus"],
            path: "Tests/Client/BTCallTests",
            swiftSettings: common),
        // The rooms of the daemon, each without the later ones: FloorsTests.
        .testTarget(
            name: "ConfigurationTests",
            dependencies: [
                "AudioDSP", "BTCallAPI", "BluetoothTypes", "BoardInput", "Configuration", "ControlLoop", "HandsFree",
                "Routing", "Talk", "TalkWords", "TestSupport", logging,
            ], path: "Tests/Daemon/ConfigurationTests", swiftSettings: common),
        .testTarget(
            name: "DiagnosticsTests",
            dependencies: [
                "AudioDSP", "BluetoothTypes", "Configuration", "ControlLoop", "DBus", "Diagnostics", "Routing",
                "Telephony", "TestSupport",
            ], path: "Tests/Daemon/DiagnosticsTests", swiftSettings: common),
        .testTarget(
            name: "AudioPathsTests",
            dependencies: [
                "ALSA", "AudioEngine", "AudioPaths", "BTCallAPI", "BluetoothTypes", "Configuration", "ControlLoop",
                "Routing", "TestSupport",
            ], path: "Tests/Daemon/AudioPathsTests", swiftSettings: common),
        .testTarget(
            name: "CallControlTests",
            dependencies: [
                "AudioDSP", "AudioPaths", "BTCallAPI", "BluetoothTypes", "CallControl", "ControlLoop", "DBus",
                "Routing", "TestSupport",
            ], path: "Tests/Daemon/CallControlTests", swiftSettings: common),
        .testTarget(
            name: "BoardControlTests",
            dependencies: [
                "BluetoothTypes", "BoardControl", "BoardInput", "Configuration", "ControlLoop", "Routing",
                "TestSupport", logging,
            ], path: "Tests/Daemon/BoardControlTests", swiftSettings: common),
        .testTarget(
            name: "HeadsetControlTests",
            dependencies: [
                "AudioPaths", "BTCallSimulator", "BlueZ", "BluetoothSockets", "BluetoothTypes", "Configuration",
                "ControlLoop", "DBus", "Diagnostics", "HandsFree", "HeadsetControl", "HeadsetPolicy", "TestSupport",
            ], path: "Tests/Daemon/HeadsetControlTests", swiftSettings: common),
        .testTarget(
            name: "BusObjectsTests",
            dependencies: [
                "AudioPaths", "BTCallAPI", "BTCallSimulator", "BluetoothTypes", "BusObjects", "CallControl",
                "ControlLoop", "DBus", "Diagnostics", "Routing", "TestSupport",
            ], path: "Tests/Daemon/BusObjectsTests", swiftSettings: common),
        .testTarget(
            name: "BTCallDaemonTests",
            dependencies: [
                "Diagnostics", "AudioPaths", "CallControl", "BoardControl", "HeadsetControl", "BusObjects",
                "Configuration", "HeadsetPolicy",
                "ALSA", "AudioDSP", "AudioEngine", "BTCallDaemon", "BTCallSimulator", "BTCallBench", "BTCall",
                "BTCallAPI", "BaresipControl", "BlueZ", "BluetoothSockets",
                "BluetoothTypes", "BoardInput", "ControlLoop", "DBus", "HandsFree", "JSONText", "Routing", "Talk",
                "TalkWords",
                "Telephony",
                "TestSupport", "BTCallTrials", "CBTCall", "CallExchange", "IntercomExample", "btcall-baresip",
                "btcall-web", logging,
            ], path: "Tests/Daemon/BTCallDaemonTests", swiftSettings: common),
        .testTarget(
            name: "BTCallBaresipTests", dependencies: ["BTCallAPI", "btcall-baresip"],
            path: "Tests/Programs/BTCallBaresipTests", swiftSettings: common),
        .testTarget(
            name: "BTCallWebTests",
            dependencies: [
                "BTCall", "BTCallAPI", "BluetoothTypes", "CommandTestSupport", "ControlLoop", "Cryptography", "DBus",
                "JSONText", "ProgramSettings", "TalkWords", "TestSupport", "WebTokens", "btcall-web", logging,
                nio("NIOHTTP1"),
            ], path: "Tests/Programs/BTCallWebTests", swiftSettings: common),
        .executableTarget(
            name: "TapClient", dependencies: ["BTCall"], path: "Tests/Programs/BTCallVideoTests/TapClient",
            swiftSettings: common),
        .testTarget(
            name: "BTCallVideoTests",
            dependencies: [
                "BTCall", "BTCallAPI", "BluetoothTypes", "CBTCall", "Cameras", "CommandTestSupport", "ControlLoop",
                "DBus", "FrameRings", "Pictures", "ProgramSettings", "TapClient", "TestSupport", "VideoCapture",
                "VideoPlan", "btcall-video", logging,
            ], path: "Tests/Programs/BTCallVideoTests", exclude: ["TapClient"], swiftSettings: common),
        .testTarget(
            name: "BTCallBenchTests",
            dependencies: ["AudioDSP", "BTCallBench", "BTCallSimulator", "BTCallTrials", "CallExchange"],
            path: "Tests/Programs/BTCallBenchTests", swiftSettings: common),
        // The daemon as a program sees it, and programs as a person sees them.
        .target(
            name: "CommandTestSupport",
            dependencies: [
                "BTCall", "BTCallAPI", "CommandKit", "ControlLoop", "DBus", argumentParser,
            ],
            path: "Tests/Programs/CommandTestSupport", swiftSettings: common),
        .testTarget(
            name: "BTCallCommandTests",
            dependencies: [
                "BTCallCommand", "BTCall", "BTCallAPI", "BTCallDaemon", "BTCallJSON", "BTCallLab", "BTCallSimulator",
                "BluetoothSockets", "BluetoothTypes", "Cameras", "CallExchange", "CommandKit", "CommandTestSupport",
                "Configuration", "ControlLoop", "Cryptography", "DBus", "FrameRings", "JSONText", "Routing", "Spelling",
                "TalkWords",
                "TestSupport", "VideoCapture", "WebTokens", "btcall-video", argumentParser, logging,
            ], path: "Tests/Programs/BTCallCommandTests", swiftSettings: common),
        .testTarget(
            name: "BTCallLabTests",
            dependencies: [
                "AudioDSP", "BTCallLab", "BTCall", "BTCallAPI", "BTCallBench", "BTCallTrials", "CallExchange",
                "CommandKit", "CommandTestSupport", "ControlLoop", "TestSupport", argumentParser,
            ], path: "Tests/Programs/BTCallLabTests", swiftSettings: common),
        .testTarget(
            name: "RepositoryTests",
            dependencies: [
                "BTCallAPI", "BTCallCommand", "BTCallDaemon", "Configuration", "BTCallLab", "BTCallSimulator",
                "BluetoothTypes",
                "CommandKit", "HandsFree", "Talk", "TestSupport", argumentParser,
            ], exclude: ["AcceptedNames/Accepted.tsv"], swiftSettings: common),
    ]
)

// The library under the thread sanitizer, in scripts/test: that suite alone is built, not all tests a second time, and without
// the programs that only other suites of the daemon start. One of them brings swift-nio, which was half of that build.
if Context.environment["BTCALL_STRESS_TESTS"] != nil {
    package.targets.removeAll { $0.type == .test && $0.name != "BTCallDaemonTests" }
    let stress = package.targets.first { $0.name == "BTCallDaemonTests" }
    stress?.sources = ["DaemonTests.swift", "LibraryStressTests.swift", "Support"]
    stress?.dependencies.removeAll {
        guard case .byNameItem(let name, _) = $0 else { return false }
        return ["IntercomExample", "btcall-baresip", "btcall-web"].contains(name)
    }
}

// In scripts/cross: the named test targets alone are built.
if let names = Context.environment["BTCALL_TEST_TARGETS"]?.split(separator: " ").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
