import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { GpuKind } from '../../../core/card.ts';
import { packagesOf } from './builds.ts';
import { buildFolder } from './installed-builds.ts';

/** Makes node-llama-cpp, which imports its builds as packages, find the one in the folder of the engine. */
export function resolveBuild(kind: GpuKind, folder: string): void {
  if (kind === 'metal') return;
  const names = new Set((packagesOf(kind, process) ?? []).map(({ name }) => name));
  const modules = join(buildFolder(folder, kind), 'node_modules');
  registerHooks({
    resolve(specifier, context, next) {
      if (!names.has(specifier)) return next(specifier, context);
      return { url: pathToFileURL(join(modules, specifier, 'dist', 'index.js')).href, shortCircuit: true };
    },
  });
}
