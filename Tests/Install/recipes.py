"""Checks the recipes of packaging/yocto and packaging/buildroot against a tree made by scripts/install.

    recipes.py REPOSITORY TREE

Prints one line for each fault, and nothing without a fault. It reads the assignments and shell functions of Yocto's recipe;
make runs Buildroot's, with a generic-package that installs the tree as Buildroot does.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile

# Of these Buildroot's recipe takes none.
LEFT_OUT = ["/usr/share/man/*", "/usr/share/*completion*/*", "/usr/share/fish/*", "/usr/share/btcall/installed"]


def files_of(tree):
    return sorted("/" + str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file())


def assignments(text):
    """Variables and functions of a recipe; raises ValueError for a line that is neither."""
    variables, functions = {}, {}
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        while line.endswith("\\"):
            line = line[:-1] + next(lines)[1]
        if not line or line.startswith("#"):
            continue
        if match := re.fullmatch(r'([A-Z][A-Z_]*(?::[\w${}-]+)*) (\+?)= "([^"]*)"', line):
            name, more, value = match.groups()
            variables[name] = (variables.get(name, "") + " " + value) if more else value
        elif match := re.fullmatch(r"(do_\w+(?::\w+)?)\(\) \{", line):
            body = []
            for _, line in lines:
                if line == "}":
                    break
                body.append(line)
            else:
                raise ValueError(f"line {number}: {match[1]} has no end")
            functions[match[1]] = "\n".join(body)
        elif not re.fullmatch(r"inherit [\w. -]+", line):
            raise ValueError(f"line {number} is no assignment, no function and no inherit: {line}")
    return variables, functions


def check_yocto(recipe, installed, version):
    try:
        variables, functions = assignments(recipe.read_text())
    except ValueError as error:
        yield str(error)
        return
    patterns = [p for name, value in variables.items() if name.startswith("FILES:") for p in value.split()]
    patterns = [p for p in patterns if "${" not in p]
    for file in installed:
        if not any(fnmatch.fnmatch(file, pattern) for pattern in patterns):
            yield f"no FILES has {file}"
    for pattern in patterns:
        if not fnmatch.filter(installed, pattern):
            yield f"scripts/install has no {pattern}"
    for name, body in functions.items():
        # Variables of bitbake are replaced before the shell sees them.
        shell = subprocess.run(["sh", "-n"], input=re.sub(r"\$\{(D|libdir)\}", "/x", body), text=True, capture_output=True)
        if shell.returncode:
            yield f"{name}: {shell.stderr.strip()}"
    if recipe.name != f"btcall_{version}.bb":
        yield f"its name is not btcall_{version}.bb"
    for name in ["SUMMARY", "LICENSE", "SRC_URI", "RDEPENDS:${PN}", "USERADD_PARAM:${PN}", "SYSTEMD_SERVICE:${PN}"]:
        if not variables.get(name):
            yield f"it has no {name}"


MAKEFILE = """
TARGET_DIR = {target}
INSTALL = install
qstrip = $(strip $(subst ",,$(1)))
define sep


endef
BR2_PACKAGE_BTCALL_TREE = "{tree}"
define generic-package
systemd sysv: TARGET_DIR = {target}/$$@
systemd:
	$$(BTCALL_INSTALL_TARGET_CMDS)
	$$(BTCALL_INSTALL_INIT_SYSTEMD)
sysv:
	$$(BTCALL_INSTALL_TARGET_CMDS)
	$$(BTCALL_INSTALL_INIT_SYSV)
endef
include {recipe}
"""


def check_buildroot(directory, installed, version, tree):
    recipe = directory / "btcall.mk"
    if f"BTCALL_VERSION = {version}\n" not in recipe.read_text():
        yield f"BTCALL_VERSION is not {version}"
    config = (directory / "Config.in").read_text()
    for package in re.findall(r"^BTCALL_DEPENDENCIES = (.*)$", recipe.read_text(), re.M)[0].split():
        if "select BR2_PACKAGE_" + package.upper().replace("-", "_") not in config:
            yield f"Config.in does not select {package}"
    with tempfile.TemporaryDirectory() as work:
        makefile = pathlib.Path(work, "Makefile")
        # In Buildroot $(@D) is the package's directory.
        copy = pathlib.Path(work, "btcall.mk")
        copy.write_text(recipe.read_text().replace("$(@D)", str(tree)))
        makefile.write_text(MAKEFILE.format(target=work, tree=tree, recipe=copy))
        make = subprocess.run(["make", "-s", "-f", makefile, "systemd", "sysv"], text=True, capture_output=True)
        if make.returncode:
            yield f"make: {make.stderr.strip()}"
            return
        for name, expected in [
            ("systemd", [f for f in installed if f != "/etc/init.d/btcalld"]),
            ("sysv", [f for f in installed if "/systemd/" not in f]),
        ]:
            wanted = {re.sub(r"^/usr/lib/[^/]+/alsa-lib/", "/usr/lib/alsa-lib/", f) for f in expected
                      if not any(fnmatch.fnmatch(f, p) for p in LEFT_OUT)}
            wanted = {"/etc/init.d/S60btcalld" if f == "/etc/init.d/btcalld" else f for f in wanted}
            found = set(files_of(pathlib.Path(work, name)))
            for file in sorted(wanted - found):
                yield f"{name}: {file} is missing"
            for file in sorted(found - wanted):
                yield f"{name}: {file} is not of scripts/install"
            for file in found:
                if file.startswith(("/usr/bin/", "/usr/libexec/", "/etc/init.d/")) and not pathlib.Path(work, name + file).stat().st_mode & 0o111:
                    yield f"{name}: {file} is no program"


def main():
    repository, tree = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    installed = files_of(tree)
    versions = re.findall(r"^## (\d+\.\d+\.\d+)$", (repository / "CHANGELOG.md").read_text(), re.M)
    for recipe in sorted((repository / "packaging/yocto").rglob("*.bb")):
        for fault in check_yocto(recipe, installed, versions[0]):
            print(f"yocto: {fault}")
    for fault in check_buildroot(repository / "packaging/buildroot/btcall", installed, versions[0], tree):
        print(f"buildroot: {fault}")


main()
