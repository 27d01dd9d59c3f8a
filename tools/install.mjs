// Runs first in a fresh clone: plain JavaScript, no packages, Node 18 or later.
//
//   node tools/install.mjs                    install what is missing
//   node tools/install.mjs <file> [args...]   ... then run the file on the pinned runtime
//
// No package may run a script of its own during the installation, so the runtime comes from packages that contain only its binary
// (tools/runtime), with the hashes of their lock file.
//
// A package is missing when npm's record of the install (node_modules/.package-lock.json, written last) lacks the version in the
// lock file. An interrupted install is repeated, and a plain `npm ci` counts. Both files are large, so their last matching
// versions are remembered and most starts read neither.

import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const wantedFile = join(root, 'package-lock.json');
const presentFile = join(modules, '.package-lock.json');
const compared = join(modules, '.cache', 'offpeak', 'compared');
const lockFolder = join(root, '.install-lock');
const windows = process.platform === 'win32';
const pinned = join(modules, 'node', 'bin', windows ? 'node.exe' : 'node');
const pinnedPackage = join(modules, 'node', 'package.json');
const runtimeFolder = join(root, 'tools', 'runtime');
const oldest = 24;
const npmCi = ['ci', '--ignore-scripts', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];

/** Makes node_modules match the lock file. A concurrent launch waits for the first. */
export async function install() {
  if (isInstalled()) return;
  const release = await takeLock();
  try {
    if (isInstalled()) return;
    process.stderr.write('Installing packages, once (about half a minute) ...\n');
    if (!isMatch()) await mustRun('npm', [...npmCi, '--include=dev'], root);
    if (!isMatch()) throw new Error('npm finished, but node_modules does not match package-lock.json');
    if (!hasRuntime()) await installRuntime();
  } finally {
    release();
  }
}

/** Builds the console if its sources have changed. Where that fails, the server runs without it, or with the last build. */
export async function buildConsole() {
  const { isConsoleCurrent } = await import('./console.mjs');
  if (isConsoleCurrent()) return;
  process.stderr.write('Building the console ...\n');
  const { status } = spawnSync(runtime(), [join(root, 'tools', 'console.mjs')], { stdio: ['ignore', 2, 2] });
  if (status !== 0)
    process.stderr.write('The console could not be built. To see why, run: npm run build:console\n');
}

/** Returns the path of the Node that runs the sources: the pinned one, or the running one if it is new enough. */
export function runtime() {
  if (existsSync(pinned)) return pinned;
  if (isNewEnough()) return process.execPath;
  throw new Error(
    `Offpeak needs Node ${oldest} or newer; this is ${process.version} and ${pinned} is missing`,
  );
}

export function isNewEnough() {
  return Number(process.versions.node.split('.')[0]) >= oldest;
}

/**
 * Runs a program in this terminal and exits with its status or signal. Signals are forwarded, except Ctrl-C: the terminal sends
 * it to both processes (and npm again to this one), and the program takes a second one for an immediate stop. The scripts in
 * package.json use `exec`, because npm's signal would end a shell in between and leave the program running.
 */
export function become(program, args) {
  // SIGKILL cannot be forwarded, but it closes the channel, and the program then stops.
  const { NODE_OPTIONS: options = '', ...others } = process.env;
  // The same as in bin/offpeak.cjs.
  const env = { MALLOC_ARENA_MAX: '2', ...others, NODE_OPTIONS: `--max-semi-space-size=16 ${options}` };
  const child = spawn(program, args, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('error', fail);
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** Name and version of the package with the pinned runtime for this platform; undefined where there is none. */
function runtimePackage() {
  const name = `node-${windows ? 'win' : process.platform}-${process.arch}`;
  const version = readJson(join(runtimeFolder, 'package.json'))?.optionalDependencies[name];
  return version && { name, version };
}

/** True with the pinned runtime and, on platforms without one, with a Node that is new enough. */
function hasRuntime() {
  const wanted = runtimePackage();
  if (!wanted) return isNewEnough();
  return existsSync(pinned) && readJson(pinnedPackage)?.version === wanted.version;
}

/** Downloads the pinned runtime and links it to where npm's scripts find it. A machine whose own Node is new enough may be offline. */
async function installRuntime() {
  const wanted = runtimePackage();
  if (!wanted) return;
  const present = join(runtimeFolder, 'node_modules', wanted.name);
  try {
    if (readJson(join(present, 'package.json'))?.version !== wanted.version)
      await mustRun('npm', npmCi, runtimeFolder);
  } catch (error) {
    if (!isNewEnough()) throw error;
    process.stderr.write(`Running on Node ${process.version} instead of ${wanted.version}.\n`);
    return;
  }
  rmSync(join(modules, 'node'), { recursive: true, force: true });
  symlinkSync(windows ? present : relative(modules, present), join(modules, 'node'), 'junction');
  const link = join(modules, '.bin', 'node');
  if (windows || existsSync(link)) return;
  rmSync(link, { force: true });
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(join('..', 'node', 'bin', 'node'), link);
}

function isInstalled() {
  const state = stateOf(wantedFile, presentFile, join(runtimeFolder, 'package.json'), pinnedPackage);
  if (state === readText(compared)) return true;
  const matches = isMatch() && hasRuntime();
  if (matches) keepText(compared, state);
  return matches;
}

/** True where the installed packages match the lock file. */
function isMatch() {
  const wanted = readPackages(wantedFile);
  const present = readPackages(presentFile);
  if (wanted === undefined) throw new Error('package-lock.json is missing or not JSON');
  if (present === undefined) return false;
  return Object.entries(wanted).every(([path, { version, integrity, link, optional, peer }]) => {
    if (path === '' || link) return true;
    const found = present[path];
    if (found === undefined) return Boolean(optional || peer); // another platform's build
    return found.version === version && found.integrity === integrity;
  });
}

function readPackages(file) {
  return readJson(file)?.packages;
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Identifies the present versions of the files, by inode, size and times. */
function stateOf(...files) {
  return files
    .map((file) => statSync(file, { bigint: true, throwIfNoEntry: false }))
    .map((found) => (found ? [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ') : 'none'))
    .join('\n');
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** On a read-only folder the next start compares everything again. */
function keepText(file, text) {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } catch {}
}

/** A folder is the lock, since mkdir is atomic. The process id inside shows whether the owner is alive. */
async function takeLock() {
  const owner = join(lockFolder, 'pid');
  for (let waits = 0; ; waits++) {
    try {
      mkdirSync(lockFolder);
      writeFileSync(owner, String(process.pid));
      return () => rmSync(lockFolder, { recursive: true, force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (waits === 0) process.stderr.write('Another launch is installing packages; waiting for it ...\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (!isAlive(owner)) rmSync(lockFolder, { recursive: true, force: true });
  }
}

function isAlive(owner) {
  try {
    process.kill(Number(readFileSync(owner, 'utf8')), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function mustRun(program, args, cwd) {
  return new Promise((resolve, reject) => {
    // npm's output goes to stderr, so that stdout has the command's output alone.
    const child = spawn(program, args, { cwd, stdio: ['ignore', 2, 2], shell: windows });
    // Other processes must not install while this one does.
    const end = () => child.kill();
    process.once('SIGTERM', end);
    child.on('error', reject);
    child.on('exit', (code) => {
      process.off('SIGTERM', end);
      if (code === 0) resolve();
      else reject(new Error(`${program} ${args[0]} failed; its message stands above`));
    });
  });
}

export function fail(error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const command = process.argv.slice(2);
  try {
    await install();
    if (command.length > 0) become(runtime(), command);
  } catch (error) {
    fail(error);
  }
}
