/* In the guest: adds control elements to a sound card, like a driver, and sets them, like another program.
 *
 * usage: lab-control CARD COMMAND...      the commands are carried out one after the other
 *     jack NAME          adds a jack: a boolean element of the card, off
 *     volume NAME MAX    adds a volume control with a switch, as the simple mixer knows them: 0...MAX, at 0 and on
 *     set NAME VALUE     sets all channels
 *     get NAME           prints the first channel
 *     remove NAME
 *     sleep MILLISECONDS
 * NAME is that of the element ("Headphone Jack", "Speaker Playback Volume"); CARD as in hw:0. Added elements stay after the
 * program has ended, until the card is removed. */
#include <alsa/asoundlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static snd_ctl_t *control;

static void check(const char *what, int result)
{
	if (result < 0) { fprintf(stderr, "lab-control: %s: %s\n", what, snd_strerror(result)); exit(1); }
}

/* Finds an element by name, in any interface. */
static void find(const char *name, snd_ctl_elem_id_t *id)
{
	snd_ctl_elem_list_t *list;
	snd_ctl_elem_list_alloca(&list);
	check("list", snd_ctl_elem_list(control, list));
	unsigned count = snd_ctl_elem_list_get_count(list);
	check("list", snd_ctl_elem_list_alloc_space(list, count));
	check("list", snd_ctl_elem_list(control, list));
	for (unsigned i = 0; i < snd_ctl_elem_list_get_used(list); i++) {
		if (strcmp(snd_ctl_elem_list_get_name(list, i), name)) continue;
		snd_ctl_elem_list_get_id(list, i, id);
		snd_ctl_elem_list_free_space(list);
		return;
	}
	fprintf(stderr, "lab-control: no element %s\n", name);
	exit(1);
}

/* The same, with its description and room for its value. */
static void look_up(const char *name, snd_ctl_elem_id_t *id, snd_ctl_elem_info_t *info, snd_ctl_elem_value_t *value)
{
	find(name, id);
	snd_ctl_elem_info_set_id(info, id);
	check(name, snd_ctl_elem_info(control, info));
	snd_ctl_elem_value_set_id(value, id);
}

static void add(snd_ctl_elem_iface_t interface, const char *name, long max)
{
	snd_ctl_elem_info_t *info;
	snd_ctl_elem_id_t *id;
	snd_ctl_elem_info_alloca(&info);
	snd_ctl_elem_id_alloca(&id);
	snd_ctl_elem_info_set_interface(info, interface);
	snd_ctl_elem_info_set_name(info, name);
	check(name, max > 1
		? snd_ctl_add_integer_elem_set(control, info, 1, 2, 0, max, 1)
		: snd_ctl_add_boolean_elem_set(control, info, 1, interface == SND_CTL_ELEM_IFACE_MIXER ? 2 : 1));
	/* No other program may write it until it is unlocked. */
	snd_ctl_elem_info_get_id(info, id);
	snd_ctl_elem_unlock(control, id);
}

static void set(const char *name, long wanted)
{
	snd_ctl_elem_info_t *info;
	snd_ctl_elem_value_t *value;
	snd_ctl_elem_id_t *id;
	snd_ctl_elem_info_alloca(&info);
	snd_ctl_elem_value_alloca(&value);
	snd_ctl_elem_id_alloca(&id);
	look_up(name, id, info, value);
	for (unsigned i = 0; i < snd_ctl_elem_info_get_count(info); i++) {
		if (snd_ctl_elem_info_get_type(info) == SND_CTL_ELEM_TYPE_BOOLEAN)
			snd_ctl_elem_value_set_boolean(value, i, wanted != 0);
		else
			snd_ctl_elem_value_set_integer(value, i, wanted);
	}
	check(name, snd_ctl_elem_write(control, value));
}

static void get(const char *name)
{
	snd_ctl_elem_info_t *info;
	snd_ctl_elem_value_t *value;
	snd_ctl_elem_id_t *id;
	snd_ctl_elem_info_alloca(&info);
	snd_ctl_elem_value_alloca(&value);
	snd_ctl_elem_id_alloca(&id);
	look_up(name, id, info, value);
	check(name, snd_ctl_elem_read(control, value));
	int is_boolean = snd_ctl_elem_info_get_type(info) == SND_CTL_ELEM_TYPE_BOOLEAN;
	printf("%ld\n", is_boolean ? (long)snd_ctl_elem_value_get_boolean(value, 0) : snd_ctl_elem_value_get_integer(value, 0));
}

int main(int argc, char **argv)
{
	if (argc < 3) { fprintf(stderr, "usage: lab-control CARD COMMAND...\n"); return 2; }
	check(argv[1], snd_ctl_open(&control, argv[1], 0));
	for (int i = 2; i < argc; i++) {
		const char *word = argv[i], *name = i + 1 < argc ? argv[i + 1] : "", *number = i + 2 < argc ? argv[i + 2] : "0";
		if (!strcmp(word, "jack")) {
			add(SND_CTL_ELEM_IFACE_CARD, name, 1);
			i += 1;
		} else if (!strcmp(word, "volume")) {
			char element[44];
			snprintf(element, sizeof element, "%s Playback Volume", name);
			add(SND_CTL_ELEM_IFACE_MIXER, element, atol(number));
			snprintf(element, sizeof element, "%s Playback Switch", name);
			add(SND_CTL_ELEM_IFACE_MIXER, element, 1);
			set(element, 1);
			i += 2;
		} else if (!strcmp(word, "set")) {
			set(name, atol(number));
			i += 2;
		} else if (!strcmp(word, "get")) {
			get(name);
			i += 1;
		} else if (!strcmp(word, "remove")) {
			snd_ctl_elem_id_t *id;
			snd_ctl_elem_id_alloca(&id);
			find(name, id);
			check(name, snd_ctl_elem_remove(control, id));
			i += 1;
		} else if (!strcmp(word, "sleep")) {
			usleep(1000 * atol(name));
			i += 1;
		} else {
			fprintf(stderr, "lab-control: unknown command %s\n", word);
			return 2;
		}
	}
	return snd_ctl_close(control) < 0;
}
