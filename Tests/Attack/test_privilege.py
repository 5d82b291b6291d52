"""A member of the group, who may change settings, must not be able to run commands or write files as the daemon's user."""
import os
import pwd
import stat

from bluez import HEADSETS
from bus import CALLS, NAME, ROOT, Refused
from judge import Attack
from test_state import report, set_value
from users import DAEMON, eventually
from world import Box

# alsa-lib's plug-ins `file` and `tee` write files, and run the text after "|". {} is the path of the file.
TRICKS = ["tee:null,'|touch${{IFS}}{}',raw", "tee:null,|touch${{IFS}}{},raw", "tee:\"null\",\"|touch {}\",\"raw\"", "tee:null,{},raw",
          "tee:SLAVE=null,FILE={},FORMAT=raw", "file:{},raw", "file:FILE={},FORMAT=raw", "file:'|touch${{IFS}}{}',raw",
          "plug:\"tee:null,'|touch ${{IFS}}{}',raw\"", "plug:SLAVE=\"file:{}\"", "|touch${{IFS}}{}", "|touch {}", "run touch {}",
          "/usr/bin/touch {}", "touch {}", "sh -c 'touch {}'", "$(touch {})", "`touch {}`", "; touch {}", "{}"]


class Privilege(Attack):
    def box(self, **options):
        box = Box(**options)
        self.addCleanup(box.end)
        os.mkdir(box.path("made"))
        os.chmod(box.path("made"), 0o777)
        return box

    def tricks(self, number):
        """The two that have worked, and some of the others."""
        return [TRICKS[0], TRICKS[3]] + self.random.sample(TRICKS[4:], min(len(TRICKS) - 4, self.count(number)))

    def made(self, box):
        """Files that were created there as the daemon's user."""
        user = pwd.getpwnam(DAEMON).pw_uid
        return sorted(name for name in os.listdir(box.path("made")) if os.stat(box.path("made", name)).st_uid == user)

    def provoke(self, box):
        """Triggers the effects of settings: an incoming call, an outgoing call, a headset with a button."""
        client = box.client()
        report(client, "030", "Ring")
        call = client.call(NAME, CALLS, "org.btcall.Calls1", "ReportIncoming", "osa{sv}", ("/state/provider", "031", {}))[0]
        # Long enough to open the ring tone's device.
        eventually(lambda: self.made(box), 0.2)
        client.call(NAME, call, "org.btcall.Call1", "Update", "sa{sv}", ("active", {}))
        _, ends = box.bluez.ask("connect", HEADSETS[0])
        os.write(ends[0], b"AT+BRSF=16\rAT+CIND=?\rAT+CIND?\rAT+CMER=3,0,0,1\rAT+CKPD=200\rAT+BVRA=1\r")
        eventually(lambda: self.made(box), 0.2)
        for descriptor in ends:
            os.close(descriptor)
        box.bluez.ask("cut", HEADSETS[0])
        client.close()

    def test_no_setting_of_a_member_runs_a_command_or_writes_a_file(self):
        box = self.box()
        client = box.client()
        settings, accepted = client.settings(), []
        for number, trick in enumerate(self.tricks(2)):
            for key in sorted(settings):
                place = box.path("made", "%s-%d" % (key, number))
                try:
                    set_value(client, key, trick.format(place))
                except Refused:
                    continue
                accepted.append((key, trick))
            self.provoke(box)
            if self.made(box):
                break
            for key, _ in {pair for pair in accepted if pair[1] == trick}:
                try:
                    client.call(NAME, ROOT, "org.btcall.Manager1", "ResetSetting", "s", (key,))
                except Refused:
                    # While there is a call: it stays until the next value.
                    pass
        print("# accepted: %s" % ", ".join(sorted({key for key, _ in accepted})), flush=True)
        client.close()
        self.assertEqual(self.made(box), [], "the daemon has made these files")
        self.assertTrue(box.pings())
        self.assertEqual(box.daemon.end(10), 0)

    def test_what_was_kept_before_runs_no_command_either(self):
        box = self.box(start=False)
        user = pwd.getpwnam(DAEMON)
        for number, trick in enumerate(self.tricks(2)):
            with open(box.path("state", "preferences.conf"), "w") as file:
                file.write("[ring]\nplayback = %s\nfile = %s\n" % (trick.format(box.path("made", str(number))), box.path("made")))
            os.chown(file.name, user.pw_uid, user.pw_gid)
            box.start()
            self.provoke(box)
            self.assertEqual(self.made(box), [], "the daemon has made these files: %s" % trick)
            self.assertEqual(box.daemon.end(10), 0)

    def test_files_are_the_daemons_own_without_the_units_umask(self):
        box = self.box(prepare=lambda: os.umask(0))
        client = box.client()
        report(client, "030", "Mode")
        set_value(client, "ring.volume", "50")
        client.close()
        self.assertEqual(box.daemon.end(10), 0)
        open_to_others = []
        for directory, _, names in os.walk(box.path("state")):
            for name in names:
                mode = stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode)
                # The record is readable for the group, which includes the integrator's program.
                if mode & (0o037 if name == "record" else 0o077):
                    open_to_others.append("%s %o" % (name, mode))
        self.assertEqual(open_to_others, [], "others may read or write these")

    def test_a_link_in_the_place_of_a_new_file_is_not_followed(self):
        box = self.box(start=False)
        user, group = pwd.getpwnam(DAEMON)[2:4]
        names = ("preferences.conf", "calls.log", "volumes.conf", "codecs.conf", "reconnect.conf")
        for name in names:
            with open(box.path("made", name), "w") as file:
                file.write("another's\n")
            os.chown(file.name, user, group)
            os.symlink(file.name, box.path("state", name + ".new"))
            os.chown(box.path("state", name + ".new"), user, group, follow_symlinks=False)
        box.start()
        client = box.client()
        report(client, "030", "Link")
        set_value(client, "ring.volume", "50")
        client.close()
        self.assertEqual(box.daemon.end(10), 0)
        for name in names:
            with open(box.path("made", name)) as file:
                self.assertEqual(file.read(), "another's\n", "%s.new was followed" % name)
