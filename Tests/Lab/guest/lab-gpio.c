/* In the guest: a GPIO chip of eight lines for the kernel's own driver. Its standard input sets its inputs, until it ends;
 * changes of its outputs are printed. The lab's kernel has neither gpio-sim nor gpio-mockup, but the driver of the CP2112, a
 * HID device that reports its lines; /dev/uhid simulates that device.
 *
 * usage: lab-gpio                         (modprobe uhid hid-cp2112 first)
 * Lines of standard input: "LINE VALUE". Prints "ready" when the driver has taken the chip (label cp2112_gpio),
 * and "set LINE VALUE TIME" (seconds since 1970) when an output is set. */
#include <fcntl.h>
#include <glob.h>
#include <linux/input.h>
#include <linux/uhid.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Reports of the CP2112, by number. */
enum { GPIO_CONFIG = 2, GPIO_GET = 3, GPIO_SET = 4, VERSION = 5, SMBUS_CONFIG = 6 };

/* A vendor's page with one feature report: the driver asks for reports by number and looks at nothing else. */
static const unsigned char descriptor[] = {
	0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x85, GPIO_CONFIG, 0x09, 0x02, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08,
	0x95, 0x04, 0xb1, 0x02, 0xc0,
};
static unsigned char lines, configuration[4], smbus[13];
static int device;

static void send_event(const struct uhid_event *event)
{
	if (write(device, event, sizeof *event) < 0) { perror("lab-gpio: uhid"); exit(1); }
}

static void answer(const struct uhid_event *asked)
{
	struct uhid_event reply = { .type = UHID_GET_REPORT_REPLY };
	unsigned char *data = reply.u.get_report_reply.data;
	reply.u.get_report_reply.id = asked->u.get_report.id;
	data[0] = asked->u.get_report.rnum;
	switch (asked->u.get_report.rnum) {
	case GPIO_CONFIG: memcpy(data + 1, configuration, 4); reply.u.get_report_reply.size = 5; break;
	case GPIO_GET: data[1] = lines; reply.u.get_report_reply.size = 2; break;
	case VERSION: data[1] = 0x0c; data[2] = 2; reply.u.get_report_reply.size = 3; break;
	case SMBUS_CONFIG: memcpy(data + 1, smbus, 13); reply.u.get_report_reply.size = 14; break;
	default: reply.u.get_report_reply.err = 5;
	}
	send_event(&reply);
}

static void set(unsigned char values, unsigned char mask)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	lines = (lines & ~mask) | (values & mask);
	for (int number = 0; number < 8; number++)
		if (mask >> number & 1)
			printf("set %d %d %ld.%06ld\n", number, lines >> number & 1, (long)now.tv_sec, now.tv_nsec / 1000);
	fflush(stdout);
}

static void take(const struct uhid_event *told)
{
	struct uhid_event reply = { .type = UHID_SET_REPORT_REPLY };
	const unsigned char *data = told->u.set_report.data;
	reply.u.set_report_reply.id = told->u.set_report.id;
	switch (told->u.set_report.rnum) {
	case GPIO_CONFIG: memcpy(configuration, data + 1, 4); break;
	case SMBUS_CONFIG: memcpy(smbus, data + 1, 13); break;
	case GPIO_SET: set(data[1], data[2]); break;
	default: break;
	}
	send_event(&reply);
}

static int has_chip(void)
{
	glob_t labels;
	int found = 0;
	if (glob("/sys/class/gpio/gpiochip*/label", 0, NULL, &labels)) return 0;
	for (size_t i = 0; i < labels.gl_pathc; i++) {
		char text[40] = "";
		FILE *file = fopen(labels.gl_pathv[i], "r");
		if (!file) continue;
		if (fgets(text, sizeof text, file) && !strncmp(text, "cp2112_gpio", 11)) found = 1;
		fclose(file);
	}
	globfree(&labels);
	return found;
}

int main(void)
{
	device = open("/dev/uhid", O_RDWR);
	if (device < 0) { perror("/dev/uhid"); return 1; }
	struct uhid_event create = { .type = UHID_CREATE2 };
	strcpy((char *)create.u.create2.name, "lab gpio");
	memcpy(create.u.create2.rd_data, descriptor, sizeof descriptor);
	create.u.create2.rd_size = sizeof descriptor;
	create.u.create2.bus = BUS_USB;
	create.u.create2.vendor = 0x10c4;
	create.u.create2.product = 0xea90;
	send_event(&create);
	int is_ready = 0;
	for (;;) {
		struct pollfd entries[2] = { { device, POLLIN, 0 }, { 0, POLLIN, 0 } };
		if (poll(entries, 2, is_ready ? -1 : 200) < 0) return 1;
		if (entries[0].revents & POLLIN) {
			struct uhid_event event;
			if (read(device, &event, sizeof event) < 0) { perror("lab-gpio: uhid"); return 1; }
			if (event.type == UHID_GET_REPORT) answer(&event);
			if (event.type == UHID_SET_REPORT) take(&event);
		}
		if (!is_ready && has_chip()) {
			is_ready = 1;
			puts("ready");
			fflush(stdout);
		}
		if (entries[1].revents) {
			char text[80];
			ssize_t size = read(0, text, sizeof text - 1);
			if (size <= 0) return 0;
			text[size] = 0;
			for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
				int number, value;
				if (sscanf(line, "%d %d", &number, &value) != 2 || number < 0 || number > 7) continue;
				lines = value ? lines | 1 << number : lines & ~(1 << number);
			}
		}
	}
}
