# SPDX-License-Identifier: GPL-2.0-only
# nix-build packaging/nix
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "tracelets";
  version =
    let
      lines = builtins.filter builtins.isString
        (builtins.split "\n" (builtins.readFile ../../common/base/version.h));
      match = line: builtins.match "#define TRACELETS_VERSION \"(.*)\"" line;
      found = builtins.filter (m: m != null) (map match lines);
    in
    builtins.head (builtins.head found);

  src = pkgs.lib.cleanSource ../..;

  nativeBuildInputs = [
    pkgs.bpftools
    pkgs.llvmPackages.clang-unwrapped
    pkgs.pkg-config
  ];

  buildInputs = [
    pkgs.elfutils
    pkgs.libbpf
    pkgs.libiberty
    pkgs.xz
    pkgs.zlib
  ];

  # What is compiled for BPF takes none of the flags that harden programs.
  hardeningDisable = [ "zerocallusedregs" "stackprotector" ];
  makeFlags = [ "CLANG=${pkgs.llvmPackages.clang-unwrapped}/bin/clang" "PREFIX=${placeholder "out"}" ];
  postPatch = "patchShebangs bpf/few_lines bpf/find_bpftool bpf/skeleton scripts/install";
  buildFlags = [ "build/tracelets" ];

  meta = {
    description = "Small eBPF tracers for people in the middle of an incident";
    license = pkgs.lib.licenses.gpl2Only;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "tracelets";
  };
}
