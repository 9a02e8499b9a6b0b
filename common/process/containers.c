// SPDX-License-Identifier: GPL-2.0-only
/* Parses containers and units from paths of cgroups; see containers.h. */
#include <string.h>

#include "base/array.h"
#include "process/containers.h"

#define ID_DIGITS 64 /* hexadecimal digits of a SHA-256, the id of any OCI container */

/* A component of a path, or a part of a component. */
struct part {
	const char *text;
	size_t length;
};

static bool begins_with(struct part part, const char *prefix)
{
	size_t n = strlen(prefix);

	return part.length >= n && !memcmp(part.text, prefix, n);
}

static bool ends_with(struct part part, const char *suffix)
{
	size_t n = strlen(suffix);

	return part.length > n && !memcmp(part.text + part.length - n, suffix, n);
}

static bool is_equal(struct part part, const char *text)
{
	return part.length == strlen(text) && begins_with(part, text);
}

static struct part skip_first(struct part part, size_t n)
{
	return (struct part){ part.text + n, part.length - n };
}

static struct part drop_last(struct part part, size_t n)
{
	return (struct part){ part.text, part.length - n };
}

static void copy_part(char *to, size_t size, struct part part)
{
	size_t n = part.length < size ? part.length : size - 1;

	memcpy(to, part.text, n);
	to[n] = '\0';
}

/* Takes the next component off *path. False: no component is left. */
static bool next_part(const char **path, struct part *part)
{
	*path += strspn(*path, "/");
	part->text = *path;
	part->length = strcspn(*path, "/");
	*path += part->length;
	return part->length > 0;
}

/* ---- containers ---- */

static bool is_id(struct part part)
{
	return part.length == ID_DIGITS && strspn(part.text, "0123456789abcdef") >= ID_DIGITS;
}

/*
 * Prefixes of ids, or names of their parent directories: containerd's CRI plugin, CRI-O, dockerd,
 * Podman (with --cgroups=split "libpod-payload"; "libpod_parent" without systemd), nerdctl. runtime
 * "": the manager's own process, not a container.
 */
static const struct {
	const char *name, *runtime;
} managers[] = {
	{ "cri-containerd", "containerd" },
	{ "crio", "cri-o" },
	{ "docker", "docker" },
	{ "libpod", "podman" },
	{ "libpod-payload", "podman" },
	{ "libpod_parent", "podman" },
	{ "nerdctl", "nerdctl" },
	{ "crio-conmon", "" },
	{ "libpod-conmon", "" },
};

/* Returns the runtime of a manager; NULL: unknown. */
static const char *find_runtime(struct part manager)
{
	for (size_t i = 0; i < ARRAY_SIZE(managers); i++)
		if (is_equal(manager, managers[i].name))
			return managers[i].runtime;
	return NULL;
}

/*
 * Splits "docker-<id>.scope", "<id>", and runc's notation for systemd, which is a directory name if
 * systemd is not used: "<slice>:docker:<id>". False: no id.
 */
static bool split_id(struct part part, struct part *manager, struct part *id)
{
	const char *colon;

	if (ends_with(part, ".scope"))
		part = drop_last(part, strlen(".scope"));
	if (part.length < ID_DIGITS)
		return false;
	*id = skip_first(part, part.length - ID_DIGITS);
	*manager = drop_last(part, ID_DIGITS);
	if (!is_id(*id) || !manager->length)
		return is_id(*id);
	if (!ends_with(*manager, "-") && !ends_with(*manager, ":"))
		return false;
	*manager = drop_last(*manager, 1);
	colon = memrchr(manager->text, ':', manager->length);
	if (colon)
		*manager = skip_first(*manager, (size_t)(colon + 1 - manager->text));
	return true;
}

static bool parse_oci(struct container *container, struct part folder, struct part part)
{
	struct part manager, id;
	const char *runtime;

	if (!split_id(part, &manager, &id))
		return false;
	runtime = find_runtime(manager.length ? manager : folder);
	if (runtime && !*runtime)
		return false;
	container->runtime = runtime ? runtime : "";
	copy_part(container->id, sizeof(container->id), id);
	return true;
}

/* Parses "lxc.payload.NAME" (since LXC 4), "lxc.payload/NAME" and "lxc/NAME" (before). */
static bool parse_lxc(struct container *container, struct part folder, struct part part)
{
	if (begins_with(part, "lxc.payload."))
		part = skip_first(part, strlen("lxc.payload."));
	else if (!is_equal(folder, "lxc.payload") && !is_equal(folder, "lxc"))
		return false;
	container->runtime = "lxc";
	copy_part(container->id, sizeof(container->id), part);
	return true;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Undoes systemd's escapes in unit names, "\x2d": systemd.unit(5), "String Escaping". */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		int high = -1, low = -1;

		if (from[0] == '\\' && from[1] == 'x') {
			high = hex_digit(from[2]);
			low = high < 0 ? -1 : hex_digit(from[3]);
		}
		*to++ = low < 0 ? *from : (char)(high << 4 | low);
		from += low < 0 ? 0 : 3;
	}
	*to = '\0';
}

/*
 * Parses "systemd-nspawn@NAME.service", or "machine-NAME.scope" in machine.slice, which libvirt's
 * virtual machines also use. nspawn's own process is in the subdirectory "supervisor".
 */
static bool parse_nspawn(struct container *container, struct part folder, struct part part)
{
	if (begins_with(part, "systemd-nspawn@") && ends_with(part, ".service"))
		part = skip_first(drop_last(part, strlen(".service")), strlen("systemd-nspawn@"));
	else if (is_equal(folder, "machine.slice") && begins_with(part, "machine-") &&
		 ends_with(part, ".scope") && !begins_with(part, "machine-qemu\\x2d"))
		part = skip_first(drop_last(part, strlen(".scope")), strlen("machine-"));
	else
		return false;
	container->runtime = "nspawn";
	copy_part(container->id, sizeof(container->id), part);
	unescape(container->id);
	return true;
}

static void leave_supervisor(struct container *container, struct part part)
{
	if (!strcmp(container->runtime, "nspawn") && is_equal(part, "supervisor")) {
		container->runtime = "";
		container->id[0] = '\0';
	}
}

static void parse_container(struct container *container, const char *path)
{
	struct part folder = { "", 0 }, part;

	container->runtime = "";
	for (; next_part(&path, &part); folder = part)
		if (!parse_oci(container, folder, part) && !parse_lxc(container, folder, part) &&
		    !parse_nspawn(container, folder, part))
			leave_supervisor(container, part);
}

/* ---- units ---- */

static bool is_unit(struct part part)
{
	static const char *const suffixes[] = { ".service", ".scope", ".socket",
						".mount",   ".swap",  ".slice" };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (ends_with(part, suffixes[i]))
			return true;
	return false;
}

bool container_is_unit_name(const char *name)
{
	return is_unit((struct part){ name, strlen(name) });
}

/* Sets the unit, without the "_" that systemd puts before names that clash with kernel files. */
static void set_unit(struct container *container, struct part part)
{
	if (begins_with(part, "_"))
		part = skip_first(part, 1);
	copy_part(container->unit, sizeof(container->unit), part);
}

/*
 * Parses slices, then one unit (systemd.slice(5)). Directories inside the unit are ignored, except
 * for a user manager's unit, which contains slices and units again.
 */
static void parse_unit(struct container *container, const char *path)
{
	bool in_manager = false;
	struct part part;

	while (next_part(&path, &part)) {
		bool is_slice = ends_with(part, ".slice");

		if (!is_unit(part))
			return;
		if (!is_slice || !in_manager)
			set_unit(container, part);
		if (is_slice)
			continue;
		if (in_manager || !begins_with(part, "user@"))
			return;
		in_manager = true;
	}
}

void container_parse(struct container *container, const char *path)
{
	memset(container, 0, sizeof(*container));
	parse_container(container, path);
	parse_unit(container, path);
}

bool container_is(const struct container *container, const char *id)
{
	return *id && !strcmp(container->id, id);
}

bool container_matches(const struct container *container, const char *id)
{
	return *id && !strncmp(container->id, id, strlen(id));
}
