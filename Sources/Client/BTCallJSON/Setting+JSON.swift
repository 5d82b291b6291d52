package import BTCall
package import JSONText

extension Setting {
    /// The setting as a JSON object of `btcall`.
    package var json: JSON {
        [
            "key": .string(key),
            "value": JSON(value.isEmpty ? nil : value),
            "default": JSON(defaultValue.isEmpty ? nil : defaultValue),
            "accepted": .string(accepted),
            "effect": .string(effect.rawValue),
            "origin": .string(origin.rawValue),
            "summary": .string(summary),
        ]
    }
}
