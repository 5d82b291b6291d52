################################################################################
#
# btcall
#
# NOT BUILT YET: checked by Tests/Install (syntax, lists of files), never by
# Buildroot. See docs/operate/Images.md.
#
################################################################################

BTCALL_VERSION = 0.2.0
BTCALL_SITE = $(call qstrip,$(BR2_PACKAGE_BTCALL_TREE))
BTCALL_SITE_METHOD = local
BTCALL_DEPENDENCIES = alsa-lib bluez5_utils dbus inih sbc speexdsp util-linux

# What every board needs. Manual pages and completions stay away.
BTCALL_FILES = \
	/etc/alsa/conf.d/60-btcall.conf \
	/usr/bin/btcall \
	/usr/bin/btcalld \
	/usr/lib/udev/rules.d/70-btcall.rules \
	/usr/libexec/btcall-launch \
	/usr/libexec/btcall-sco-routing \
	/usr/share/btcall/boards.conf \
	/usr/share/btcall/btcalld.conf \
	/usr/share/btcall/quirks.conf \
	/usr/share/btcall/stack.conf \
	/usr/share/btcall/talk-keys.conf \
	/usr/share/dbus-1/system-services/org.btcall.service \
	/usr/share/dbus-1/system.d/org.btcall.conf

BTCALL_UNITS = \
	/usr/lib/systemd/system/btcall-sco-routing.socket \
	/usr/lib/systemd/system/btcall-sco-routing@.service \
	/usr/lib/systemd/system/btcalld.service \
	/usr/lib/systemd/user/btcall-pause-music.service

# user uid group gid password home shell groups comment
define BTCALL_USERS
	btcall -1 btcall -1 * - - audio Bluetooth headset call bridge
endef

define BTCALL_INSTALL_TARGET_CMDS
	$(foreach file,$(BTCALL_FILES), \
		$(INSTALL) -D -m $(if $(filter /usr/bin/% /usr/libexec/%,$(file)),755,644) $(@D)$(file) $(TARGET_DIR)$(file)$(sep))
	$(INSTALL) -D -m 644 $(@D)/usr/share/btcall/btcalld.conf $(TARGET_DIR)/etc/btcall/btcalld.conf
	$(INSTALL) -d $(TARGET_DIR)/usr/lib/alsa-lib
	$(INSTALL) -m 644 $(@D)/usr/lib/*/alsa-lib/libasound_module_*_btcall.so $(TARGET_DIR)/usr/lib/alsa-lib
endef

define BTCALL_INSTALL_INIT_SYSTEMD
	$(foreach file,$(BTCALL_UNITS), \
		$(INSTALL) -D -m 644 $(@D)$(file) $(TARGET_DIR)$(file)$(sep))
endef

# The script needs dpkg's start-stop-daemon or busybox's.
define BTCALL_INSTALL_INIT_SYSV
	$(INSTALL) -D -m 755 $(@D)/etc/init.d/btcalld $(TARGET_DIR)/etc/init.d/S60btcalld
endef

$(eval $(generic-package))
