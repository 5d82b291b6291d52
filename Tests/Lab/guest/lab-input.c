/* In the guest: an input device with keys and switches, controlled by its standard input until that ends.
 *
 * usage: lab-input NAME CODE...           CODE is key:NUMBER or sw:NUMBER
 * Lines of standard input: "key NUMBER VALUE", "sw NUMBER VALUE", "sleep MILLISECONDS". Prints "ready" once the device
 * exists. */
#include <fcntl.h>
#include <linux/uinput.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int device;

static void check(const char *what, int result)
{
	if (result < 0) { perror(what); exit(1); }
}

static void emit(int type, int code, int value)
{
	struct input_event event = { .type = type, .code = code, .value = value };
	check("write", write(device, &event, sizeof event));
}

int main(int argc, char **argv)
{
	if (argc < 3) { fprintf(stderr, "usage: lab-input NAME CODE...\n"); return 2; }
	check("/dev/uinput", device = open("/dev/uinput", O_WRONLY));
	for (int i = 2; i < argc; i++) {
		int is_key = !strncmp(argv[i], "key:", 4), number = atoi(strchr(argv[i], ':') + 1);
		check("type", ioctl(device, UI_SET_EVBIT, is_key ? EV_KEY : EV_SW));
		check(argv[i], ioctl(device, is_key ? UI_SET_KEYBIT : UI_SET_SWBIT, number));
	}
	struct uinput_setup setup = { .id = { .bustype = BUS_HOST, .vendor = 1, .product = 1 } };
	snprintf(setup.name, sizeof setup.name, "%s", argv[1]);
	check("setup", ioctl(device, UI_DEV_SETUP, &setup));
	check("create", ioctl(device, UI_DEV_CREATE));
	puts("ready");
	fflush(stdout);
	char line[80], word[8];
	while (fgets(line, sizeof line, stdin)) {
		int number = 0, value = 0;
		if (sscanf(line, "%7s %d %d", word, &number, &value) < 2) continue;
		if (!strcmp(word, "sleep")) {
			usleep(1000 * number);
		} else {
			emit(strcmp(word, "key") ? EV_SW : EV_KEY, number, value);
			emit(EV_SYN, SYN_REPORT, 0);
		}
	}
	return 0;
}
