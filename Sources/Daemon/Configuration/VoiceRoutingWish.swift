/// What is to be done about the way of voice between a controller and the host (`[bluetooth] scoRouting`).
package enum VoiceRoutingWish: String, CaseIterable, Sendable {
    case leave, host
}
