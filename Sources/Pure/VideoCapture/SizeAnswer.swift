/// One answer of a driver that enumerates frame sizes (`VIDIOC_ENUM_FRAMESIZES`).
package enum SizeAnswer: Hashable, Sendable {
    /// Widths or heights of a driver with ranges: from `least` to `most` in steps, as the driver says it.
    package struct Axis: Hashable, Sendable {
        package let least: UInt32
        package let most: UInt32
        package let step: UInt32

        package init(_ least: UInt32, _ most: UInt32, step: UInt32) {
            self.least = least
            self.most = most
            self.step = step
        }

        /// Ends in the wrong order are exchanged; values beyond the limit are cut off. Nil if nothing remains.
        private var ends: ClosedRange<Int>? {
            let (one, other) = (Int(min(least, most)), Int(max(least, most)))
            guard other >= 1, one <= FrameSize.limit else { return nil }
            return max(one, 1)...min(other, FrameSize.limit)
        }

        /// Legal values around the wanted one: the nearest below and above it.
        ///
        /// - Parameter isContinuous: every value between the ends is legal. Otherwise, with a step of zero, only the ends
        ///   are known to be legal.
        func values(around wanted: Int, isContinuous: Bool) -> [Int] {
            guard let ends else { return [] }
            let step = isContinuous ? 1 : Int(min(self.step, UInt32(FrameSize.limit)))
            if wanted <= ends.lowerBound { return [ends.lowerBound] }
            guard step > 0 else {
                return wanted >= ends.upperBound ? [ends.upperBound] : [ends.lowerBound, ends.upperBound]
            }
            let last = ends.lowerBound + (ends.upperBound - ends.lowerBound) / step * step
            if wanted >= last { return [last] }
            let below = ends.lowerBound + (wanted - ends.lowerBound) / step * step
            return below == wanted ? [below] : [below, below + step]
        }
    }

    case discrete(width: UInt32, height: UInt32)
    case stepwise(width: Axis, height: Axis)
    case continuous(width: Axis, height: Axis)

    /// Legal sizes for a request of `auto`.
    var usualSizes: [FrameSize] {
        switch self {
        case .discrete(let width, let height): return [FrameSize(Int(width), Int(height))].compactMap(\.self)
        case .stepwise(let width, let height): return Self.usual.flatMap { Self.below($0, width, height, false) }
        case .continuous(let width, let height): return Self.usual.flatMap { Self.below($0, width, height, true) }
        }
    }

    /// Legal sizes around a requested one.
    func sizes(around wanted: FrameSize) -> [FrameSize] {
        switch self {
        case .discrete: return usualSizes
        case .stepwise(let width, let height): return Self.around(wanted, width, height, false)
        case .continuous(let width, let height): return Self.around(wanted, width, height, true)
        }
    }

    /// Sizes that `auto` tries in a range.
    static let usual = [
        (1280, 720), (960, 720), (1024, 576), (800, 600), (848, 480), (640, 480), (640, 360), (480, 360), (320, 240),
        (320, 180), (160, 120),
    ].compactMap { FrameSize($0.0, $0.1) }

    private static func below(_ size: FrameSize, _ width: Axis, _ height: Axis, _ isContinuous: Bool) -> [FrameSize] {
        let widths = width.values(around: size.width, isContinuous: isContinuous).prefix(1)
        let heights = height.values(around: size.height, isContinuous: isContinuous).prefix(1)
        return widths.flatMap { width in heights.compactMap { FrameSize(width, $0) } }
    }

    private static func around(_ size: FrameSize, _ width: Axis, _ height: Axis, _ isContinuous: Bool) -> [FrameSize] {
        let heights = height.values(around: size.height, isContinuous: isContinuous)
        return width.values(around: size.width, isContinuous: isContinuous).flatMap { width in
            heights.compactMap { FrameSize(width, $0) }
        }
    }
}
