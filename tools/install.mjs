// The first thing that runs in a fresh clone: plain JavaScript, no packages, any Node from 18 on.
//
//   node tools/install.mjs                    install what is missing
//   node tools/install.mjs <file> [args...]   ... then run the file on the pinned runtime
//
// "Missing" means: the lock file names a package that npm's own record of what it installed
// (node_modules/.package-lock.json, written last) does not have in that version. So nothing is
// installed twice, a half-finished install is done again, and a plain `npm ci` counts too. Both files are large: which
// versions of them were found to match is kept, so that most starts read neither.

import { spawn } from 'node:child_process';
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
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const wantedFile = join(root, 'package-lock.json');
const presentFile = join(modules, '.package-lock.json');
const compared = join(modules, '.cache', 'offpeak', 'compared');
const lockFolder = join(root, '.install-lock');
const windows = process.platform === 'win32';
const pinned = join(modules, 'node', 'bin', windows ? 'node.exe' : 'node');
const oldest = 24;

/** Makes node_modules match the lock file. Two launches at once install once: the second waits. */
export async function install() {
  if (isInstalled()) return;
  const release = await takeLock();
  try {
    if (isInstalled()) return;
    process.stderr.write('Installing packages, once (about half a minute) ...\n');
    await mustRun(
      'npm',
      ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'],
      root,
    );
    if (!existsSync(pinned)) await installRuntime();
    if (!isInstalled()) throw new Error('npm finished, but node_modules does not match package-lock.json');
  } finally {
    release();
  }
}

/** The Node that runs the sources: the pinned one, or the running one where it is new enough. */
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
 * Runs a program in this terminal until it ends, and ends the same way. Signals are passed on, except a
 * Ctrl-C: the terminal sends that to both processes (and npm once more to this one), and the program would
 * take the second for "at once". The scripts in package.json say `exec`, because a shell in between would
 * die of the signal that npm sends it and leave the program running.
 */
export function become(program, args) {
  // A kill that cannot be passed on closes the channel, and the program stops by itself.
  const { NODE_OPTIONS: options = '', ...others } = process.env;
  // As in bin/offpeak.
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

/** Where npm was told not to run install scripts: the runtime's own, and the link that npm then left out. */
async function installRuntime() {
  await mustRun(process.execPath, ['installArchSpecificPackage.js'], join(modules, 'node'));
  const link = join(modules, '.bin', 'node');
  if (!windows && !existsSync(link)) symlinkSync(join('..', 'node', 'bin', 'node'), link);
}

function isInstalled() {
  if (!existsSync(pinned)) return false;
  const state = stateOf(wantedFile, presentFile);
  if (state === readText(compared)) return true;
  const matches = isMatch();
  if (matches) keepText(compared, state);
  return matches;
}

/** Whether npm installed what is wanted. */
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
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** Which version of the files stands there: it changes whenever one is written. */
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

/** Where nothing may be written, everything is compared again at the next start. */
function keepText(file, text) {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } catch {}
}

/** A folder is the lock: making one is atomic. The number inside tells whether its owner still lives. */
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
    // npm's words go to stderr: the output of the command that was asked for stays clean.
    const child = spawn(program, args, { cwd, stdio: ['ignore', 2, 2], shell: windows });
    // Nobody else may begin to install while this one still does.
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
