# Sourced by run and api: what they need of PyPI, in an environment of its own that is kept.
venv=${LAB_DIR:-/var/tmp/btcall-lab}/web-venv
# axe-core, which no Debian release has, is a file of a package whose own needs are not needed.
axe=$venv/axe/axe_playwright_python/axe.min.js
prepare() {
	cmp -s "$here/requirements.txt" "$venv/stamp" && [ -f "$axe" ] && return
	python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check -r "$here/requirements.txt" &&
		"$venv/bin/pip" install -q --disable-pip-version-check --upgrade --no-deps --target "$venv/axe" axe-playwright-python==0.1.8 &&
		cp "$here/requirements.txt" "$venv/stamp"
}
