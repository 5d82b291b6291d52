/// Where controllers shall send voice (`[bluetooth] scoRouting`): left unchanged, or to the host.
package enum VoiceRoutingSetting: String, CaseIterable, Sendable {
    case leave, host
}
