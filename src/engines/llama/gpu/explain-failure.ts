import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { GpuKind } from '../../../core/card.ts';
import { kindNames, packagesOf, platformName } from './builds.ts';
import { buildFolder } from './installed-builds.ts';

/** The functions of the native module that the library calls to find cards. The library only reports whether they succeeded. */
interface Addon {
  setLogger(log: (level: number, message: string) => void): void;
  setLoggerLogLevel(level: number): void;
  loadBackends(folder?: string): void;
  getGpuType(): string | false | undefined;
  ensureGpuDeviceIsSupported(): void;
}

/** Severities of the native module: 2 is an error, 3 a warning. */
const warning = 3;

/** Reason why the library cannot use a build, as the end of a sentence. Loads the build into this process. */
export async function explainFailure(kind: GpuKind, folder: string, error: unknown): Promise<string> {
  const packages = kind === 'metal' ? undefined : packagesOf(kind, process);
  if (!packages || kind === 'metal') return textOf(error);
  const [bins, more] = packages.map(({ name }) =>
    join(buildFolder(folder, kind), 'node_modules', name, 'bins', `${platformName(process)}-${kind}`),
  );
  const fallback = join(more ?? bins!, 'fallback');
  const messages: string[] = [];
  try {
    const addon = createRequire(import.meta.url)(join(bins!, 'llama-addon.node')) as Addon;
    addon.setLogger((level, message) => level <= warning && messages.push(message.trim()));
    addon.setLoggerLogLevel(warning);
    addon.loadBackends(bins);
    if (addon.getGpuType() !== kind) addon.loadBackends(fallback);
    // Silent about a library that is missing.
    if (addon.getGpuType() !== kind) messages.push(...linkErrors([bins!, fallback], kind));
    addon.ensureGpuDeviceIsSupported();
    // The logger is called between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  } catch (fault) {
    await new Promise((resolve) => setImmediate(resolve));
    messages.push(textOf(fault));
  }
  return reasonFrom(kind, messages.length > 0 ? messages : [textOf(error)]);
}

/** Errors of the dynamic linker for the driver, and for the library of the build in each folder. */
function linkErrors(folders: readonly string[], kind: GpuKind): string[] {
  const isWindows = process.platform === 'win32';
  const name = isWindows ? `ggml-${kind}.dll` : `libggml-${kind}.so`;
  const files = folders.map((folder) => join(folder, name)).filter((file) => existsSync(file));
  // First the driver: the linker names only the first library that is missing.
  const driver = kind === 'cuda' && !isWindows ? ['libcuda.so.1'] : [];
  return [...driver, ...files].flatMap((file) => {
    try {
      process.dlopen({ exports: {} }, file);
      return [];
    } catch (error) {
      // It loads, but is no module of Node.
      return /did not self-register/.test(textOf(error)) ? [] : [textOf(error)];
    }
  });
}

/** Reason in plain words, from the messages of the linker, the driver and llama.cpp. */
export function reasonFrom(kind: GpuKind, messages: readonly string[]): string {
  const text = messages.join('\n');
  const missing = [
    ...new Set([...text.matchAll(/(lib[\w-]+\.so[.\d]*): cannot open/g)].map(([, name]) => name)),
  ];
  if (missing.includes('libvulkan.so.1'))
    return 'the Vulkan loader libvulkan.so.1 is missing, which comes with the driver or the package libvulkan1';
  if (/Vulkan device is not supported/.test(text)) return 'no driver with Vulkan 1.2 or newer is installed';
  if (/driver version is insufficient|unsupported toolchain/.test(text))
    return 'the NVIDIA driver is too old for this build';
  if (/no CUDA-capable device/.test(text)) return 'the NVIDIA driver reports no card';
  if (missing.includes('libcuda.so.1')) return 'the NVIDIA driver is missing (libcuda.so.1)';
  if (missing.some((name) => /^lib(?:cudart|cublas)/.test(name ?? '')))
    return `the libraries of CUDA 13 or 12 are missing (${missing.join(', ')})`;
  const first = messages
    .find((line) => line !== '')
    ?.split('\n')[0]
    ?.replace(/[.\s]+$/, '');
  return first === undefined ? `${kindNames[kind]} found no card` : first;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
