// swift-tools-version: 6.2
import PackageDescription

// Every target is written in language mode 6 with warnings as errors. Pure targets add strict memory safety: nothing in
// them may touch a pointer. Docs: Sources/BTCallDaemon/BTCallDaemon.docc/Architecture.md.
let common: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]
let pure: [SwiftSetting] = common + [.strictMemorySafety()]

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "btcall",
    products: [
        .executable(name: "btcalld", targets: ["btcalld"]),
        .executable(name: "btcall", targets: ["BTCallCommand"]),
        .library(name: "BTCall", targets: ["BTCall"]),
        .library(name: "BTCallSimulator", targets: ["BTCallSimulator"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // System libraries and C.
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CALSA", pkgConfig: "alsa", providers: [.apt(["libasound2-dev"])]),
        .systemLibrary(name: "CSBC", pkgConfig: "sbc", providers: [.apt(["libsbc-dev"])]),
        .systemLibrary(name: "CSpeexDSP", pkgConfig: "speexdsp", providers: [.apt(["libspeexdsp-dev"])]),
        .systemLibrary(name: "CBluetooth", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
        .systemLibrary(name: "CINIH", pkgConfig: "inih", providers: [.apt(["libinih-dev"])]),
        .target(name: "CBTCall"),

        // Pure: decide.
        .target(name: "BluetoothTypes", swiftSettings: pure),
        .target(name: "Telephony", swiftSettings: pure),
        .target(name: "HandsFree", dependencies: ["BluetoothTypes", "Telephony"], swiftSettings: pure),
        .target(name: "Routing", dependencies: ["BluetoothTypes"], swiftSettings: pure),

        // Real time: move samples.
        .target(name: "AudioDSP", dependencies: ["CBTCall", "CSBC", "CSpeexDSP"], swiftSettings: common),
        .target(name: "AudioEngine", dependencies: ["AudioDSP", "CALSA", "CBTCall"], swiftSettings: common),

        // Shells: act.
        .target(
            name: "ControlLoop", dependencies: ["BluetoothTypes", "CBTCall", logging], swiftSettings: common),
        .target(
            name: "DBus", dependencies: ["BluetoothTypes", "CDBus", "ControlLoop", logging], swiftSettings: common),
        .target(
            name: "BlueZ", dependencies: ["DBus", "ControlLoop", "BluetoothTypes", logging], swiftSettings: common),
        .target(
            name: "BluetoothSockets", dependencies: ["BluetoothTypes", "CBluetooth", "CBTCall", "ControlLoop"],
            swiftSettings: common),
        .target(name: "ALSA", dependencies: ["CALSA", "CBTCall", "ControlLoop"], swiftSettings: common),
        .target(name: "BTCallAPI", dependencies: ["BluetoothTypes", "DBus"], swiftSettings: common),
        .target(name: "BTCall", dependencies: ["BTCallAPI", "DBus", "ControlLoop"], swiftSettings: common),
        .target(
            name: "BTCallDaemon",
            dependencies: [
                "BluetoothTypes", "Telephony", "HandsFree", "Routing", "AudioDSP", "AudioEngine", "ControlLoop", "DBus",
                "BlueZ", "BluetoothSockets", "ALSA", "BTCallAPI", "CINIH", "CBTCall", logging,
            ],
            swiftSettings: common),
        .target(
            name: "BTCallSimulator",
            dependencies: [
                "BluetoothTypes", "Telephony", "HandsFree", "Routing", "AudioDSP", "ControlLoop", "DBus", "CBTCall",
            ],
            swiftSettings: common),
        .target(
            name: "BTCallBench",
            dependencies: [
                "BTCallDaemon", "BTCallSimulator", "BTCall", "BluetoothTypes", "BluetoothSockets", "BlueZ",
                "AudioEngine", "ControlLoop", "DBus", "Routing", logging,
            ],
            swiftSettings: common),
        .executableTarget(name: "btcalld", dependencies: ["BTCallDaemon"], swiftSettings: common),
        .executableTarget(
            name: "BTCallCommand",
            dependencies: ["BTCall", "BTCallAPI", "BTCallBench", "ControlLoop", "DBus", argumentParser],
            swiftSettings: common),

        // Tests, one to one with the sources.
        .testTarget(name: "BluetoothTypesTests", dependencies: ["BluetoothTypes"], swiftSettings: common),
        .testTarget(name: "TelephonyTests", dependencies: ["Telephony"], swiftSettings: common),
        .testTarget(
            name: "HandsFreeTests", dependencies: ["HandsFree", "Telephony", "BluetoothTypes"], swiftSettings: common),
        .testTarget(
            name: "RoutingTests", dependencies: ["BluetoothTypes", "Routing", "BTCallSimulator"],
            resources: [.copy("Scenarios")], swiftSettings: common),
        .testTarget(name: "AudioDSPTests", dependencies: ["AudioDSP", "CBTCall"], swiftSettings: common),
        .testTarget(
            name: "AudioEngineTests", dependencies: ["AudioEngine", "AudioDSP", "CBTCall"], swiftSettings: common),
        .testTarget(name: "ALSATests", dependencies: ["ALSA", "CALSA"], swiftSettings: common),
        .executableTarget(
            name: "ControlLoopProbe", dependencies: ["BluetoothTypes", "ControlLoop", "DBus"],
            path: "Tests/ControlLoopTests/Probe", swiftSettings: common),
        .testTarget(
            name: "ControlLoopTests",
            dependencies: ["BluetoothTypes", "ControlLoop", "CBTCall", "ControlLoopProbe", logging],
            exclude: ["Probe"], swiftSettings: common),
        .testTarget(
            name: "DBusTests",
            dependencies: ["BluetoothTypes", "ControlLoop", "CBTCall", "CDBus", "DBus", "ControlLoopProbe", logging],
            exclude: ["Fixtures"], swiftSettings: common),
        .testTarget(
            name: "BlueZTests",
            dependencies: ["BlueZ", "BTCallSimulator", "BluetoothTypes", "ControlLoop", "DBus", logging],
            swiftSettings: common),
        .testTarget(
            name: "BluetoothSocketsTests", dependencies: ["BluetoothSockets", "BluetoothTypes", "ControlLoop"],
            swiftSettings: common),
        .testTarget(
            name: "BTCallAPITests", dependencies: ["BTCallAPI", "BluetoothTypes", "DBus"], swiftSettings: common),
        .testTarget(
            name: "BTCallTests", dependencies: ["BTCall", "BTCallAPI", "BluetoothTypes", "DBus", "ControlLoop"],
            swiftSettings: common),
        .testTarget(
            name: "BTCallDaemonTests",
            dependencies: [
                "BTCallDaemon", "BTCallSimulator", "BTCallBench", "BTCall", "BTCallAPI", "BlueZ", "BluetoothTypes",
                "ControlLoop", "DBus", "Routing", "Telephony", logging,
            ], swiftSettings: common),
        .testTarget(name: "BTCallBenchTests", dependencies: ["BTCallBench"], swiftSettings: common),
        .testTarget(
            name: "BTCallCommandTests",
            dependencies: [
                "BTCallCommand", "BTCall", "BTCallAPI", "BTCallBench", "BluetoothTypes", "DBus", "ControlLoop",
                argumentParser,
            ], swiftSettings: common),
        .testTarget(name: "RepositoryTests", dependencies: ["BTCallDaemon"], swiftSettings: common),
    ]
)
