import type { GpuKind, InstallableKind } from '../../../core/card.ts';

/** Version of node-llama-cpp, which accepts only builds of the same version. A test compares it with `package.json`. */
export const engineVersion = '3.21.1';

/** Package with a build, and its hash in the form of npm (Subresource Integrity). */
export interface BuildPackage {
  name: string;
  integrity: string;
}

/**
 * Packages of each build, by system. The first has the build; the second of CUDA has the same for the libraries of CUDA 12.
 * The hashes are those of `npm view <name>@<version> dist.integrity`.
 */
const builds: Record<string, Record<InstallableKind, BuildPackage[]> | undefined> = {
  'linux-x64': {
    cuda: [
      {
        name: '@node-llama-cpp/linux-x64-cuda',
        integrity:
          'sha512-idsE55VoD/FbvLhnBC9krUJaUoC0XnebseAAnCpm/brKf61HEbu+idgbb5eN6mxkjLSrHtILprJ0nDcUJjVrFg==',
      },
      {
        name: '@node-llama-cpp/linux-x64-cuda-ext',
        integrity:
          'sha512-1PuURowccBcks3CCoMe1mTHh5vD0V5bFHMUEgtbI/OSDjpP+Pdbn+lf42CGUrepTzR8kCH1HovQ7d8q6/vuIKA==',
      },
    ],
    vulkan: [
      {
        name: '@node-llama-cpp/linux-x64-vulkan',
        integrity:
          'sha512-flEeSzONQ6OIm5bYKLQf4eEnBzcC5WugFbyPUwkCqyyOFZ8pH0H9ulQ7ZNDLSIczeKneMRJornlyY1Hq7d3GDA==',
      },
    ],
  },
  'win-x64': {
    cuda: [
      {
        name: '@node-llama-cpp/win-x64-cuda',
        integrity:
          'sha512-PLz70neFEMkQTlmJqG1ujUtCSgHasLPMxQ9rLkqQVmZYAXqkRj+45TIHCjdn3XqUeaoun0vrO9rRaxZ8NVq9jg==',
      },
      {
        name: '@node-llama-cpp/win-x64-cuda-ext',
        integrity:
          'sha512-L2MxLVEYPDDe4O8EDWPmX6brldc9+Vt9hNoT/anj3pSnmrjkQcmaoKhHs6oP5qhEhb5Uog0rj6lgzNGtJO3p9Q==',
      },
    ],
    vulkan: [
      {
        name: '@node-llama-cpp/win-x64-vulkan',
        integrity:
          'sha512-HJ237Azh5m4Sz+w3A1IU/fYLaSDOocskcfn2ILTgqTuuORCB86EMnu3Yt/XsNhRHTtEiwz1Q/E0mO4PLIbZLAA==',
      },
    ],
  },
};

/** Operating system and processor; node-llama-cpp has its own names for systems. */
export interface Platform {
  platform: NodeJS.Platform;
  arch: string;
}

export function platformName({ platform, arch }: Platform): string {
  const systems: Partial<Record<NodeJS.Platform, string>> = { darwin: 'mac', win32: 'win' };
  return `${systems[platform] ?? platform}-${arch}`;
}

/** Packages of a build; undefined if this system has no such build. */
export function packagesOf(kind: InstallableKind, on: Platform): BuildPackage[] | undefined {
  return builds[platformName(on)]?.[kind];
}

/** True if the standard build of this system uses the card. */
export function hasMetal(on: Platform): boolean {
  return platformName(on) === 'mac-arm64';
}

/** Builds that can be used on this system, the best first. */
export function usableKinds(on: Platform): GpuKind[] {
  if (hasMetal(on)) return ['metal'];
  return builds[platformName(on)] === undefined ? [] : ['cuda', 'vulkan'];
}

export const kindNames: Record<GpuKind, string> = { cuda: 'CUDA', vulkan: 'Vulkan', metal: 'Metal' };
