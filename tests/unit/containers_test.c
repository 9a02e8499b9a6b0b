// SPDX-License-Identifier: GPL-2.0-only
/* Containers and units by the shapes of cgroup paths that managers make. */
#include "process/containers.h"
#include "unit.h"

#define ID    "3f4d1c0b6ae57e1d9f1c8b7a6d5e4f3021b0c9d8e7f6a5b4c3d2e1f00918273a"
#define OUTER "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define POD   "8f9c2c5e_7d8f_4b57_9f5d_2a9d8b9c6e51"

static const struct {
	const char *path, *runtime, *id, *unit;
} shapes[] = {
	/* Kubernetes, kubelet with the systemd driver: Guaranteed, Burstable, BestEffort. */
	{ "/kubepods.slice/kubepods-pod" POD ".slice/cri-containerd-" ID ".scope", "containerd", ID,
	  "cri-containerd-" ID ".scope" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD
	  ".slice/cri-containerd-" ID ".scope",
	  "containerd", ID, "cri-containerd-" ID ".scope" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD ".slice/crio-" ID
	  ".scope",
	  "cri-o", ID, "crio-" ID ".scope" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD ".slice/crio-" ID
	  ".scope/container",
	  "cri-o", ID, "crio-" ID ".scope" },
	{ "/kubepods.slice/kubepods-pod" POD ".slice/docker-" ID ".scope", "docker", ID,
	  "docker-" ID ".scope" },
	{ "/kubepods.slice/kubepods-pod" POD ".slice/crio-conmon-" ID ".scope", "", "",
	  "crio-conmon-" ID ".scope" },
	{ "/kubepods.slice/kubepods-pod" POD ".slice", "", "", "kubepods-pod" POD ".slice" },
	/* kind: a node is a container itself. */
	{ "/system.slice/docker-" OUTER
	  ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD
	  ".slice/cri-containerd-" ID ".scope",
	  "containerd", ID, "docker-" OUTER ".scope" },
	/* ... with the cgroupfs driver, and with one that notes slices but makes folders. */
	{ "/kubepods/pod8f9c2c5e-7d8f-4b57-9f5d-2a9d8b9c6e51/" ID, "", ID, "" },
	{ "/kubepods/burstable/pod8f9c2c5e-7d8f-4b57-9f5d-2a9d8b9c6e51/" ID, "", ID, "" },
	{ "/kubepods/besteffort/pod8f9c2c5e-7d8f-4b57-9f5d-2a9d8b9c6e51/crio-" ID, "cri-o", ID,
	  "" },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" POD ".slice:cri-containerd:" ID,
	  "containerd", ID, "containerd.service" },
	/* Docker with systemd, without, in itself; nerdctl. */
	{ "/system.slice/docker-" ID ".scope", "docker", ID, "docker-" ID ".scope" },
	{ "/system.slice/docker-" ID ".scope/init.scope", "docker", ID, "docker-" ID ".scope" },
	{ "/docker/" ID, "docker", ID, "" },
	{ "/docker/" OUTER "/docker/" ID, "docker", ID, "" },
	{ "/system.slice:docker:" ID, "docker", ID, "" },
	{ "/system.slice/docker.service", "", "", "docker.service" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", "docker",
	  ID, "docker-" ID ".scope" },
	{ "/system.slice/nerdctl-" ID ".scope", "nerdctl", ID, "nerdctl-" ID ".scope" },
	/* Podman as root, in a pod, rootless, in a service, without systemd; its monitor. */
	{ "/machine.slice/libpod-" ID ".scope", "podman", ID, "libpod-" ID ".scope" },
	{ "/machine.slice/libpod-" ID ".scope/container", "podman", ID, "libpod-" ID ".scope" },
	{ "/machine.slice/machine-libpod_pod_" OUTER ".slice/libpod-" ID ".scope", "podman", ID,
	  "libpod-" ID ".scope" },
	{ "/machine.slice/machine-libpod_pod_" OUTER ".slice", "", "",
	  "machine-libpod_pod_" OUTER ".slice" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", "podman",
	  ID, "libpod-" ID ".scope" },
	{ "/system.slice/web.service/libpod-payload-" ID, "podman", ID, "web.service" },
	{ "/system.slice/web.service/runtime", "", "", "web.service" },
	{ "/libpod_parent/" ID, "podman", ID, "" },
	{ "/libpod_parent/libpod-" ID, "podman", ID, "" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "", "", "libpod-conmon-" ID ".scope" },
	/* LXC, Incus and LXD; nspawn, its own process, and what libvirt keeps beside it. */
	{ "/lxc.payload.web-1", "lxc", "web-1", "" },
	{ "/lxc.payload.web-1/system.slice/nginx.service", "lxc", "web-1", "" },
	{ "/lxc.monitor.web-1", "", "", "" },
	{ "/lxc.payload/web-1/init.scope", "lxc", "web-1", "" },
	{ "/lxc/101/ns/init.scope", "lxc", "101", "" },
	{ "/machine.slice/systemd-nspawn@web.service/payload/init.scope", "nspawn", "web",
	  "systemd-nspawn@web.service" },
	{ "/machine.slice/systemd-nspawn@web.service/supervisor", "", "",
	  "systemd-nspawn@web.service" },
	{ "/machine.slice/machine-web\\x2d1.scope/payload", "nspawn", "web-1",
	  "machine-web\\x2d1.scope" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator", "", "",
	  "machine-qemu\\x2d1\\x2dvm.scope" },
	/* Another manager that names its containers as all do: Amazon's ECS, buildkit. */
	{ "/ecs/5a1b/" ID, "", ID, "" },
	{ "/other-" ID ".scope", "", ID, "other-" ID ".scope" },
	/* systemd, without containers. */
	{ "/", "", "", "" },
	{ "", "", "", "" },
	{ "/init.scope", "", "", "init.scope" },
	{ "/system.slice", "", "", "system.slice" },
	{ "/system.slice/nginx.service", "", "", "nginx.service" },
	{ "/system.slice/foo.service/bar.service", "", "", "foo.service" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "", "", "getty@tty1.service" },
	{ "/system.slice/_cpu.service", "", "", "cpu.service" },
	{ "/user.slice/user-1000.slice/session-3.scope", "", "", "session-3.scope" },
	{ "/user.slice/user-1000.slice", "", "", "user-1000.slice" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-terminal.scope", "",
	  "", "app-gnome-terminal.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice", "", "", "user@1000.service" },
	{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "", "", "init.scope" },
	/* Not quite: an id that is too short, too long, in capitals, or has something before it. */
	{ "/docker/3f4d1c0b6ae5", "", "", "" },
	{ "/docker/" ID "0", "", "", "" },
	{ "/docker/AF4D1C0B6AE57E1D9F1C8B7A6D5E4F3021B0C9D8E7F6A5B4C3D2E1F00918273A", "", "", "" },
	{ "/docker" ID ".scope", "", "", "docker" ID ".scope" },
	{ "/.service", "", "", "" },
};

TEST(shapes_of_paths)
{
	struct container c;

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		container_parse(&c, shapes[i].path);
		if (strcmp(c.runtime, shapes[i].runtime) || strcmp(c.id, shapes[i].id) ||
		    strcmp(c.unit, shapes[i].unit))
			UNIT_FAIL("%s: '%s' '%s' '%s', not '%s' '%s' '%s'", shapes[i].path,
				  c.runtime, c.id, c.unit, shapes[i].runtime, shapes[i].id,
				  shapes[i].unit);
	}
}

TEST(a_long_name_is_cut)
{
	char path[1024] = "/lxc.payload.";
	struct container c;

	memset(path + strlen(path), 'x', 900);
	container_parse(&c, path);
	CHECK_EQ(strlen(c.id), CONTAINER_ID_MAX - 1);
	memcpy(path + 900, ".service", sizeof(".service"));
	memcpy(path, "/xxxxxxxxxxxxxxxxxxx", 20);
	container_parse(&c, path);
	CHECK_EQ(strlen(c.unit), UNIT_NAME_MAX - 1);
}

TEST(containers_match_by_their_beginning)
{
	struct container c;

	container_parse(&c, "/docker/" ID);
	CHECK(container_matches(&c, ID));
	CHECK(container_matches(&c, "3f4d1c0b6ae5"));
	CHECK(!container_matches(&c, "4d1c"));
	CHECK(!container_matches(&c, ID "0"));
	CHECK(!container_matches(&c, ""));
	container_parse(&c, "/lxc.payload.web-1");
	CHECK(container_matches(&c, "web"));
	CHECK(!container_is(&c, "web"));
	CHECK(container_is(&c, c.id));
	container_parse(&c, "/system.slice");
	CHECK(!container_matches(&c, "s"));
}
