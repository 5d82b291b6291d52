# Shared by the scripts: the repository's root, and the installation of missing packages.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

say() { printf '== %s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# as_root COMMAND...: through sudo unless run as root.
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; return; fi
	command -v sudo >/dev/null || die "this needs root: run it as root or install sudo"
	sudo "$@"
}

# install_packages NAME...: Debian packages; quick and silent when all are installed.
install_packages() {
	local missing=() name
	for name in "$@"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
	done
	[ ${#missing[@]} -eq 0 ] && return
	command -v apt-get >/dev/null || die "install these packages and run this again: ${missing[*]}"
	say "installing ${missing[*]}"
	as_root apt-get update -q >/dev/null || die "apt-get update failed"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null ||
		die "apt-get install failed for: ${missing[*]}"
}

# packages_for SET...: the names after `SET:` in scripts/packages.
packages_for() {
	local set
	for set in "$@"; do sed -n "s/^$set: //p" "$root/scripts/packages"; done
}

# The archive of Debian that apt of this machine uses.
debian_mirror() {
	local mirror
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null | grep -v security | head -1)
	[ -n "$mirror" ] || die "apt knows no mirror of Debian: run apt-get update"
	echo "$mirror"
}

need_swift() { command -v swift >/dev/null || die "no Swift toolchain in PATH: install Swift 6.2 or later from swift.org"; }

# The programs that ship, and btcall-lab.
release_products="btcalld btcall btcall-lab btcall-baresip btcall-video btcall-web"
# build_release PRODUCT...: as they ship.
build_release() {
	local product
	for product in "$@"; do swift build -c release --static-swift-stdlib --product "$product" || return 1; done
}

# Options of `swift build` for packages that are the same whenever they are built. Without them a program keeps a checksum
# (.swift_modhash) of debug information, although it is stripped, and that has the times at which headers were compiled.
same_each_time="-Xswiftc -Xcc -Xswiftc -Xclang -Xswiftc -Xcc -Xswiftc -fno-pch-timestamp"

# The folder of the Swift toolchain: …/usr.
swift_toolchain() { readlink -f "$(dirname "$(readlink -f "$(command -v swift)")")/.."; }
# What it needs in a root directory, besides the packages for building.
toolchain_needs="ca-certificates libcurl4 libxml2 libedit2 libsqlite3-0 libncurses6"
# hand_on_sources HOME: git's rewritten addresses, SwiftPM's mirrors, for a home directory elsewhere. Prints the local directories
# that they name.
hand_on_sources() {
	local key value
	mkdir -p "$1/.swiftpm/configuration"
	rm -f "$1/.gitconfig" "$1/.swiftpm/configuration/mirrors.json"
	git config --get-regexp '^(url\..*\.insteadof|http\..*proxy)$' 2>/dev/null | while read -r key value; do
		git config --file "$1/.gitconfig" --add "$key" "$value"
	done
	git config --file "$1/.gitconfig" --add safe.directory '*'
	[ ! -e ~/.swiftpm/configuration/mirrors.json ] || cp ~/.swiftpm/configuration/mirrors.json "$1/.swiftpm/configuration"
	{
		git config --get-regexp '^url\..*\.insteadof$' 2>/dev/null | sed -nE 's|^url\.(file://)?(/.*)\.insteadof .*|\2|p'
		cat ~/.swiftpm/configuration/mirrors.json "$root/.swiftpm/configuration/mirrors.json" 2>/dev/null | grep -oE '"(file://)?/[^"]+"' | sed -E 's|"(file://)?(/.*)"|\2|'
	} | sort -u
}
# mount_root ROOT DIRECTORY...: /dev, /proc and the directories, at their own paths in a root directory of Debian. Only with
# mounts of one's own (unshare --mount --propagation private), with which they end.
mount_root() {
	local base=$1 place
	shift
	for place in "$@"; do
		mkdir -p "$base$place"
		mount --bind "$place" "$base$place" || return 1
	done
	mount --rbind /dev "$base/dev" && mount -t proc proc "$base/proc"
}
# run_in_root ROOT DIRECTORY [NAME=VALUE...] COMMAND...: with the toolchain in PATH and no other variables.
run_in_root() {
	local base=$1 directory=$2
	shift 2
	env -i PATH="$(swift_toolchain)/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root LC_ALL=C.UTF-8 \
		GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
		chroot "$base" /usr/bin/env --chdir="$directory" "$@"
}

# copy_swift_libraries PROGRAM FROM TO: the libraries in FROM that a program needs, and that these need.
copy_swift_libraries() {
	local name
	for name in $(readelf -d "$1" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'); do
		if [ -e "$2/$name" ] && [ ! -e "$3/$name" ]; then
			cp "$2/$name" "$3/" && copy_swift_libraries "$3/$name" "$2" "$3" || return 1
		fi
	done
}

# Test targets that do not depend on time, and as a filter of `swift test`.
pure_test_targets="JSONTextTests BluetoothTypesTests TelephonyTests HandsFreeTests TalkTests RoutingTests HeadsetPolicyTests BaresipControlTests VideoCaptureTests VideoPlanTests WebTokensTests RealTimeStorageTests AudioDSPTests"
pure_tests="^(${pure_test_targets// /|})\."
