// Builds the console (console/) into dist/console, when its sources or packages have changed since the last build.
//
//   node tools/console.mjs    build if necessary; `npm run build:console`
//
// The hash of the sources is beside the build. Files are compressed here, once, so that the server compresses nothing.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';

const root = join(import.meta.dirname, '..');
const target = join(root, 'dist', 'console');
const hashFile = '.sources';
/** Folders of the sources. The console imports these of `src`. */
const sources = ['console', 'src/base', 'src/core', 'src/wire', 'src/client'];
const files = ['package-lock.json', 'tsconfig.json', 'tools/console.mjs'];

/** Makes `dist/console` match the sources. Launches that build at the same time each build on their own, and the last one wins. */
export async function buildConsole() {
  const hash = hashSources();
  if (isConsoleCurrent(hash)) return;
  // React has other code for development, which Vite takes where the environment says so.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  const temporary = join(root, 'dist', `.console-${process.pid}`);
  try {
    await build({
      configFile: join(root, 'console', 'vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: temporary },
    });
    compress(temporary);
    writeFileSync(join(temporary, hashFile), hash);
    replace(temporary);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** True if `dist/console` was built from the present sources. */
export function isConsoleCurrent(hash = hashSources()) {
  return readText(join(target, hashFile)) === hash;
}

function compress(folder) {
  for (const path of listFiles(folder)) {
    if (/\.(js|css|html|svg)$/.test(path))
      writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
  }
}

function replace(temporary) {
  const old = join(root, 'dist', `.console-old-${process.pid}`);
  mkdirSync(join(root, 'dist'), { recursive: true });
  if (existsSync(target)) renameSync(target, old);
  renameSync(temporary, target);
  rmSync(old, { recursive: true, force: true });
}

function hashSources() {
  const hash = createHash('sha256');
  const paths = [
    ...sources.flatMap((folder) => listFiles(join(root, folder))),
    ...files.map((file) => join(root, file)),
  ];
  for (const path of paths.toSorted()) {
    if (/\.(test\.tsx?|md|d\.ts)$/.test(path)) continue;
    const bytes = readFileSync(path);
    hash.update(`${relative(root, path)} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest('hex');
}

function listFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

if (process.argv[1] === import.meta.filename) await buildConsole();
