import BluetoothTypes

/// A measured value and the limit it is compared with (docs/inside/Routing.md §13).
package struct Measure: Hashable, Sendable {
    package let value: Int64
    package let limit: Int64
    /// Unit of both: "ms", "times" or "attempts".
    package let unit: String

    package init(value: Int64, limit: Int64, unit: String) {
        self.value = value
        self.limit = limit
        self.unit = unit
    }

    init(_ value: Duration, of limit: Duration) {
        self.init(value: value.milliseconds, limit: limit.milliseconds, unit: "ms")
    }
}
