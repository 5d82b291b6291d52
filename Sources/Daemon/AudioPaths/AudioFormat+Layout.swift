package import AudioDSP
package import BTCallAPI

extension AudioFormat {
    package var layout: SampleLayout {
        switch sample {
        case .s16: SampleLayout(.s16, channels: channels)
        case .f32: SampleLayout(.f32, channels: channels)
        }
    }
}
