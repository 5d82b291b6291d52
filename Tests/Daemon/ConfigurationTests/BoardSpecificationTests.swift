import BoardInput
import Configuration
import Testing

@Suite struct BoardSpecificationTests {
    @Test func `a jack is one or several control elements or input devices`() throws {
        #expect(JackSpecification("none") == .cardAlone)
        #expect(
            JackSpecification("Headphone Jack, Headset Mic Jack")
                == .parts([
                    .control(card: nil, name: "Headphone Jack", isMicrophone: false),
                    .control(card: nil, name: "Headset Mic Jack", isMicrophone: true),
                ]))
        #expect(
            JackSpecification("hw:PCH/Front,hw:1/Back")
                == .parts([
                    .control(card: "hw:PCH", name: "Front", isMicrophone: false),
                    .control(card: "hw:1", name: "Back", isMicrophone: true),
                ]))
        #expect(
            JackSpecification("evdev:gpio-keys, evdev:/dev/input/by-path/x-event")
                == .parts([.input("gpio-keys"), .input("/dev/input/by-path/x-event")]))
    }

    @Test(arguments: [
        "none", "Headphone Jack, Headset Mic Jack", "hw:PCH/Front, hw:1/Back", "evdev:gpio-keys, Mic Jack",
    ])
    func `a jack is written as it is read`(text: String) {
        #expect(JackSpecification(text)?.description == text)
    }

    @Test(arguments: ["", "Headphone Jack,", "evdev:", "hw:/Jack", "hw:0/", " , "])
    func `an invalid jack is refused`(text: String) {
        #expect(JackSpecification(text) == nil)
    }

    @Test func `a hook is a key, a switch or a line, optionally inverted`() throws {
        func input(_ device: String, _ code: InputCode) -> HookSpecification.Source { .input(device: device, code) }
        #expect(HookSpecification("evdev:cradle")?.source == input("cradle", .phone))
        #expect(
            HookSpecification("evdev:USB Phone: Hook:SW_DOCK")?.source
                == input("USB Phone: Hook", InputCode(.switch, 5)))
        #expect(
            HookSpecification("evdev:/dev/input/event3:key:443")?.source
                == input("/dev/input/event3", InputCode(.key, 443)))
        let line = try #require(HookSpecification("!gpio:gpiochip0:17:pullUp"))
        #expect(line.source == .line(chip: "gpiochip0", line: 17, bias: .pullUp))
        #expect(line.isInverted)
        for text in [
            "evdev:cradle:KEY_PHONE", "!evdev:a:b:switch:200", "gpio:pinctrl-bcm2711:4", "!gpio:/dev/gpiochip1:0:none",
        ] {
            #expect(HookSpecification(text)?.description == text)
        }
    }

    @Test(arguments: [
        "", "!", "cradle", "evdev:", "evdev:cradle:KEY_FONE", "evdev:cradle:", "gpio:gpiochip0", "gpio::3",
        "gpio:chip:-1",
        "gpio:chip:1:2", "gpio:chip:one", "gpio:chip:1:unchanged",
    ])
    func `an invalid hook is refused`(text: String) {
        #expect(HookSpecification(text) == nil)
    }

    @Test(arguments: [
        ("/sys/class/leds/mic", "/sys/class/leds/mic"), ("!/sys/class/leds/mic/", "!/sys/class/leds/mic"),
        ("gpio:gpiochip0:17", "gpio:gpiochip0:17"), ("!gpio:gpiochip0:17", "!gpio:gpiochip0:17"),
        ("gpio:gpiochip0:17:pullUp", nil), ("evdev:cradle", nil), ("gpio:gpiochip0", nil), ("", nil), ("/", nil),
        ("!!gpio:gpiochip0:17", nil),
    ])
    func `A privacy output is written like a hook's line or as an LED's directory`(text: String, back: String?) {
        #expect(PrivacyOutputSpecification(text)?.description == back)
    }
}
