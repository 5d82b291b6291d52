/* Preloaded into BlueALSA and PipeWire beside sco-redirect: simulates an adapter hci0 with eSCO and every feature.
 *
 * They ask the kernel for its features; btcall gets them from bluetoothd. */
#define _GNU_SOURCE
#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/hci_lib.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

enum { LIMIT = 1024 };

static unsigned char redirected[LIMIT];
static const bdaddr_t address = { { 0x00, 0x53, 0x00, 0x5E, 0x00, 0x00 } };       /* 00:00:5E:00:53:00, the last byte first */

int socket(int domain, int type, int protocol)
{
	int is_control = domain == AF_BLUETOOTH && protocol == BTPROTO_HCI;
	__typeof__(&socket) next = (__typeof__(&socket))dlsym(RTLD_NEXT, "socket");
	int descriptor = is_control ? next(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : next(domain, type, protocol);
	if (descriptor >= 0 && descriptor < LIMIT) redirected[descriptor] = is_control;
	return descriptor;
}

int bind(int descriptor, const struct sockaddr *to, socklen_t length)
{
	if (descriptor >= 0 && descriptor < LIMIT && redirected[descriptor]) return 0;
	return ((__typeof__(&bind))dlsym(RTLD_NEXT, "bind"))(descriptor, to, length);
}

int hci_get_route(bdaddr_t *to) { (void)to; return 0; }
int hci_open_dev(int device) { (void)device; return open("/dev/null", O_RDWR | O_CLOEXEC); }
int hci_devba(int device, bdaddr_t *to) { (void)device; *to = address; return 0; }

int hci_devinfo(int device, struct hci_dev_info *to)
{
	memset(to, 0, sizeof *to);
	to->dev_id = device;
	strcpy(to->name, "hci0");
	to->bdaddr = address;
	to->flags = 1 << HCI_UP | 1 << HCI_RUNNING;
	memset(to->features, 0xFF, sizeof to->features);
	to->acl_mtu = 1021; to->acl_pkts = 8; to->sco_mtu = 64; to->sco_pkts = 8;
	return 0;
}

int hci_read_local_version(int descriptor, struct hci_version *to, int limit)
{
	(void)descriptor; (void)limit;
	memset(to, 0, sizeof *to);
	to->hci_ver = to->lmp_ver = 9;
	return 0;
}

int hci_read_local_ext_features(int descriptor, uint8_t page, uint8_t *pages, uint8_t *features, int limit)
{
	(void)descriptor; (void)page; (void)limit;
	if (pages) *pages = 0;
	memset(features, 0xFF, 8);
	return 0;
}

int hci_send_req(int descriptor, struct hci_request *request, int limit)
{
	(void)descriptor; (void)request; (void)limit;
	errno = EOPNOTSUPP;
	return -1;
}
