# NOT BUILT YET: this recipe was checked by Tests/Install (syntax, lists of files), never by bitbake. See docs/operate/Images.md.
SUMMARY = "Bluetooth headset call bridge"
DESCRIPTION = "Moves the audio of a live telephone call between Bluetooth headsets and a board's own loudspeaker or handset."
LICENSE = "CLOSED"

# A tree of files, for no recipe of OpenEmbedded-Core builds Swift. scripts/install DESTDIR=tree makes it, packed by
#   tar -C tree -czf btcall-${PV}-${TARGET_ARCH}.tar.gz .
# and put beside this file. The programs have Swift's libraries linked in.
SRC_URI = "file://btcall-${PV}-${TARGET_ARCH}.tar.gz;subdir=${BP}"
COMPATIBLE_HOST = "(x86_64|aarch64).*-linux"
COMPATIBLE_HOST:libc-musl = "null"

inherit bin_package systemd update-rc.d useradd

DEPENDS = "alsa-lib dbus inih sbc speexdsp"
RDEPENDS:${PN} = "bluez5 dbus util-linux-setpriv util-linux-prlimit util-linux-renice"

SYSTEMD_SERVICE:${PN} = "btcalld.service"
INITSCRIPT_NAME = "btcalld"
INITSCRIPT_PARAMS = "defaults"

USERADD_PACKAGES = "${PN}"
GROUPADD_PARAM:${PN} = "--system btcall"
USERADD_PARAM:${PN} = "--system --gid btcall --groups audio --no-create-home --home-dir /nonexistent --shell /sbin/nologin btcall"

PACKAGES = "${PN} ${PN}-doc"
FILES:${PN} = " \
    /etc/alsa/conf.d/60-btcall.conf \
    /etc/btcall/btcalld.conf \
    /etc/init.d/btcalld \
    /usr/bin/btcall \
    /usr/bin/btcalld \
    /usr/lib/*/alsa-lib/libasound_module_*_btcall.so \
    /usr/lib/systemd/system/btcall-sco-routing.socket \
    /usr/lib/systemd/system/btcall-sco-routing@.service \
    /usr/lib/systemd/system/btcalld.service \
    /usr/lib/systemd/user/btcall-pause-music.service \
    /usr/lib/udev/rules.d/70-btcall.rules \
    /usr/libexec/btcall-launch \
    /usr/libexec/btcall-sco-routing \
    /usr/share/btcall/*.conf \
    /usr/share/dbus-1/system-services/org.btcall.service \
    /usr/share/dbus-1/system.d/org.btcall.conf \
"
FILES:${PN}-doc = " \
    /usr/share/bash-completion/completions/btcall \
    /usr/share/btcall/installed \
    /usr/share/fish/vendor_completions.d/btcall.fish \
    /usr/share/man/man1/btcall*.1 \
    /usr/share/man/man5/btcalld.conf.5 \
    /usr/share/man/man8/btcall*.8 \
    /usr/share/zsh/vendor-completions/_btcall \
"
CONFFILES:${PN} = "/etc/btcall/btcalld.conf"

# Debian's directory of plug-ins has the architecture in its name; alsa-lib of OpenEmbedded looks in another one.
do_install:append() {
    for plugin in ${D}/usr/lib/*/alsa-lib/*.so; do
        install -D -m 644 "$plugin" "${D}${libdir}/alsa-lib/${plugin##*/}"
        rm "$plugin"
    done
    rmdir -p --ignore-fail-on-non-empty ${D}/usr/lib/*/alsa-lib
}
FILES:${PN} += "${libdir}/alsa-lib/libasound_module_*_btcall.so"

# Stripped and linked before bitbake had them.
INSANE_SKIP:${PN} += "already-stripped ldflags"
