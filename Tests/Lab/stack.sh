# Sourced by setup, programs, run and run-all: choose_stack NAME sets, from stacks.tsv,
#   stack          its name
#   architecture suite programs hci
#   S              its directory: kernel (vmlinux, k), initrd.gz, and unless it is the host's own, root, downloads
#   guest_root     its root directory as the guest mounts it: empty for the host's
#   guest_bin      directory of the guest's own programs
#   processors     of the guest: two of another architecture, whose emulation is less than half as fast, and no guest beside it
# and LAB_STACK, which names it to scripts.
L=${LAB_DIR:-/var/tmp/btcall-lab}
choose_stack() {
	local row
	stack=$1
	row=$(awk -F '\t' -v name="$1" '$1 == name' "$here/stacks.tsv")
	[ -n "$row" ] || { echo "lab: no stack '$1': $(sed -n 's/^\([^#\t]*\)\t.*/\1/p' "$here/stacks.tsv" | paste -sd ' ')" >&2; exit 2; }
	IFS=$'\t' read -r _ architecture suite programs hci _ <<<"$row"
	if [ "$suite" = - ]; then S=$L guest_root=; else S=$L/$stack guest_root=$S/root; fi
	guest_bin=$L/bin processors=1
	[ "$architecture" = "$(dpkg --print-architecture)" ] || guest_bin=$S/bin processors=2
	export LAB_STACK=$stack
}
# Directory of the programs that a stack runs: built by Tests/Lab/programs, except on the host's own release.
programs_of_stack() { [ "$programs" = debian12 ] && echo "$1/.build/release" || echo "$1/.build/stacks/$programs"; }   # REPOSITORY
