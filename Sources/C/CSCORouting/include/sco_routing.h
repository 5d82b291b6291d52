// Makes a Broadcom or Cypress controller send voice to the host instead of its PCM pins. Used by btcall-sco-routing, a
// program of its own so that only it needs the privilege for raw HCI sockets.
#ifndef SCO_ROUTING_H
#define SCO_ROUTING_H

#include <stddef.h>

enum sco_routing_outcome {
    // Voice goes to the host already; nothing was written.
    SCO_ROUTING_FOUND,
    // Voice went elsewhere and goes to the host now, as read back.
    SCO_ROUTING_CHANGED,
    // The controller is by another manufacturer, for which the commands mean something else. Nothing was written.
    SCO_ROUTING_OTHER_MAKER,
    // This process lacks CAP_NET_RAW.
    SCO_ROUTING_NOT_PERMITTED,
    SCO_ROUTING_FAILED,
};

// Opens a raw HCI socket for the controller `hci0`, `hci1`, ...; -1 with the problem in `text`.
int sco_routing_open(const char *controller, char *text, size_t size);

// Reads where voice goes, changes it if it is not the host, and reads it again.
//
// `socket`: each message is one HCI packet, its type first. `timeout`: milliseconds for each answer. `text` gets one line
// for people: the result, or the problem and its remedy.
enum sco_routing_outcome sco_routing_to_host(int socket, int timeout, char *text, size_t size);

#endif
