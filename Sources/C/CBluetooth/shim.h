/// The part of the kernel's Bluetooth sockets that btcall uses.
///
/// The kernel keeps these declarations in include/net/bluetooth/{bluetooth,sco}.h, which it does not install for programs.
/// BlueZ has a copy in libbluetooth; that library would be linked for a dozen numbers, and is under the GPL.
#ifndef BTCALL_BLUETOOTH_H
#define BTCALL_BLUETOOTH_H

#include <stdint.h>
#include <sys/socket.h>

#define BTPROTO_HCI 1
#define BTPROTO_SCO 2

#define SOL_SCO 17

/// Level SOL_BLUETOOTH, uint32_t: nonzero lets the listener decide when an incoming connection is accepted.
#define BT_DEFER_SETUP 7
/// Level SOL_BLUETOOTH, struct bt_voice.
#define BT_VOICE 11
/// Level SOL_BLUETOOTH, uint32_t: nonzero adds the controller's verdict to each received packet (Linux 5.9).
#define BT_PKT_STATUS 16

/// The air coding format and what the host sends (Core Specification, Vol 4 Part E §6.12).
struct bt_voice {
    uint16_t setting;
};
#define BT_VOICE_TRANSPARENT 0x0003
#define BT_VOICE_CVSD_16BIT 0x0060

/// Level SOL_SCO, struct sco_options: the largest packet in bytes.
#define SCO_OPTIONS 1
struct sco_options {
    uint16_t mtu;
};

/// Level SOL_SCO, struct sco_conninfo.
#define SCO_CONNINFO 2
struct sco_conninfo {
    uint16_t hci_handle;
    uint8_t dev_class[3];
};

/// A Bluetooth address, the least significant octet first.
typedef struct {
    uint8_t b[6];
} __attribute__((packed)) bdaddr_t;

struct sockaddr_sco {
    sa_family_t sco_family;
    bdaddr_t sco_bdaddr;
};

#endif
