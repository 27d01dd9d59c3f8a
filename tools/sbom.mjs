// Writes the software bill of materials of the package, dist/sbom.cdx.json (CycloneDX), from package-lock.json.
//
// `npm sbom --omit=dev` lacks every package that a development package uses, too (npm 11.19). So npm reads a copy of the lock file
// from which it has dropped the development packages by itself.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const { name, version, description, license, dependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const temporary = mkdtempSync(join(tmpdir(), 'offpeak-sbom-'));
// npm names the component after the folder.
const folder = join(temporary, name);

try {
  mkdirSync(folder);
  const manifest = { name, version, description, license, dependencies, optionalDependencies };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  copyFileSync(join(root, 'package-lock.json'), join(folder, 'package-lock.json'));
  npm('install', '--package-lock-only', '--offline', '--ignore-scripts', '--no-audit', '--no-fund');
  const text = npm('sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application');
  // Without the time and the random number, the same sources make the same package.
  const { serialNumber: _, metadata, ...bom } = JSON.parse(text);
  const { timestamp: __, ...about } = metadata;
  const list = JSON.stringify({ ...bom, metadata: about }, null, 1);
  writeFileSync(join(root, 'dist', 'sbom.cdx.json'), `${list}\n`);
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

function npm(...args) {
  return execFileSync('npm', [...args, '--loglevel=error'], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
}
