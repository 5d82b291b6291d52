import Telephony

extension CallRequest {
    /// Notation of a dialogue: `dial 5551000`, `chld 1x`.
    var words: String {
        switch self {
        case .answer(let id): "answer \(id.value)"
        case .reject(let id): "reject \(id.value)"
        case .hangUp(let id): "hangup \(id.value)"
        case .giveUp(let id): "giveup \(id.value)"
        case .end(let id): "end \(id.value)"
        case .dial(let number, _): "dial \(number)"
        case .setHeld(let id, let held): "held \(id.value) \(held)"
        case .threeWay(let action): "chld \(action.text)"
        case .sendDTMF(let tones, _): "dtmf \(tones)"
        case .responseAndHold(let value): "btrh \(value.rawValue)"
        }
    }
}
