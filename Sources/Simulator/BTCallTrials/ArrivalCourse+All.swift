extension ArrivalCourse {
    /// Another radio on the same antenna takes it ten times a second.
    private static let wiFi = Pauses(every: 55...80, .even(20...45))
    /// The controller listens to another of its links.
    private static let sniff = Pauses(every: 1_000...4_000, .even(30...80), first: 1_200...3_000)
    /// Controller and headset change places, first when the link has just been opened.
    private static let roleSwitch = Pauses(every: 120_000...300_000, .even(100...150), first: 1_500...3_500)

    /// Links as radios, controllers and machines make them.
    package static let all: [ArrivalCourse] = [
        ArrivalCourse(name: "steady", usualLimit: 60, longestLimit: 60),
        ArrivalCourse(
            name: "USB batches", period: 3, jitter: 0.5, batch: 1...4, usualLimit: 60, longestLimit: 60),
        ArrivalCourse(name: "Wi-Fi", pauses: [wiFi], usualLimit: 100, longestLimit: 100),
        ArrivalCourse(name: "sniff", pauses: [sniff], usualLimit: 175, longestLimit: 250),
        ArrivalCourse(name: "role switches", pauses: [roleSwitch], usualLimit: 250, longestLimit: 250),
        ArrivalCourse(
            name: "first role switch late", pauses: [Pauses(every: 120_000...300_000, .even(100...150))],
            unannounced: 1, usualLimit: 250, longestLimit: 250),
        ArrivalCourse(
            name: "late thread", pauses: [Pauses(.slept, every: 1_000...20_000, .even(20...120), first: 1_200...3_000)],
            usualLimit: 250, longestLimit: 250),
        ArrivalCourse(
            name: "late controller", pauses: [Pauses(.late, every: 300...1_500, .even(10...75))], usualLimit: 150,
            longestLimit: 250),
        ArrivalCourse(
            name: "worsening", pauses: [Pauses(every: 100...1_500, .growing(5...140, until: 2_400_000))],
            usualLimit: 250, longestLimit: 250),
        ArrivalCourse(
            name: "lost in bursts", losses: Losses(share: 0.3, burst: 4...6), usualLimit: 75, longestLimit: 75),
        ArrivalCourse(name: "lost at random", losses: Losses(share: 0.3), usualLimit: 200, longestLimit: 250),
        ArrivalCourse(
            name: "weak", pauses: [Pauses(every: 50...400, .exponential(mean: 8))], usualLimit: 250, longestLimit: 250),
        ArrivalCourse(
            name: "all at once",
            pauses: [wiFi, sniff, Pauses(every: 120_000...300_000, .even(80...120), first: 1_500...3_500)],
            losses: Losses(share: 0.05), usualLimit: 250, longestLimit: 250),
    ]
}
