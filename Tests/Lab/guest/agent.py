"""A pairing agent that says yes to everything: anybody may pair, and use each profile. Prints "registered"; runs until it is killed."""
import bus

MANAGER = "org.bluez", "/org/bluez", "org.bluez.AgentManager1"


def main():
    system = bus.Bus()
    system.call(*MANAGER, "RegisterAgent", "os", bus.padded(bus.text("/agent"), 4) + bus.text("NoInputNoOutput"))
    system.call(*MANAGER, "RequestDefaultAgent", "o", bus.text("/agent"))
    print("registered", flush=True)
    while True:
        kind, fields, _, _ = system.receive()
        if kind == bus.CALL:
            print(fields.get(bus.MEMBER), flush=True)
            system.answer(fields)


main()
