import CommandKit

/// Earlier names of verbs. Existing scripts use them, so they work without a message.
enum OldVerbs {
    static let names: [CommandWords.OldName] = [
        .init("activate", "daemon activate"),
        .init("conference", "merge"),
        .init("deactivate", "daemon deactivate"),
        .init("default", "fallback"),
        .init("exclude", "headset exclude"),
        .init("forget", "headset forget"),
        .init("incident", "daemon incident"),
        .init("log", "history"),
        .init("logout", "daemon logout"),
        .init("metrics", "daemon metrics"),
        .init("order", "headset order"),
        .init("pair", "headset pair"),
        .init("quirks", "headset quirks"),
        .init("quirks explain", "headset quirks"),
        .init("quirks list", "headset quirks"),
        .init("scan", "headset scan"),
        .init("select", "move"),
        .init("start", "daemon routing on"),
        .init("stop", "daemon routing off"),
        .init("trust", "headset trust"),
        .init("voice", "processing"),
    ]
}
