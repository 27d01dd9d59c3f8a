#!/usr/bin/env node
// Starts the command line. In the published package it runs the built JavaScript. In a checkout it
// installs what is missing and runs the sources, on the pinned runtime where this Node is too old.
// CommonJS, because old Nodes take no ES module without an extension.

'use strict';

const { existsSync } = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { getHeapStatistics } = require('node:v8');

const root = path.join(__dirname, '..');
const source = path.join(root, 'src', 'main.ts');
const built = path.join(root, 'dist', 'main.js');
const isCheckout = existsSync(path.join(root, 'tools', 'install.mjs')) && existsSync(source);

// V8 lets garbage lie in proportion to the memory of the machine: from 16 GB on it plans for a heap of 4 GB, and lets a server
// that needs 30 MB of it take more than 200. It is told to plan as it does on 8 GB; of malloc, two arenas do for all threads.
const plannedMb = 2000;
const flags = [`--max-old-space-size=${plannedMb}`, '--max-semi-space-size=16'];

/** Whether V8 plans for more, and nobody who started this has said what it may have. */
function isLavish() {
  const { NODE_OPTIONS = '', MALLOC_ARENA_MAX } = process.env;
  const told = [NODE_OPTIONS, ...process.execArgv].some((text) => /max[-_](old|semi|heap)/.test(text));
  return (
    !told && MALLOC_ARENA_MAX === undefined && getHeapStatistics().heap_size_limit > 1.2 * plannedMb * 2 ** 20
  );
}

/** Node itself, by its whole path, and allowed to: what is started in vain here is the end of the process. */
function canBegin({ execve, execPath, permission }) {
  const isNode = path.isAbsolute(execPath) && /^node/.test(path.basename(execPath)) && existsSync(execPath);
  return Boolean(execve) && isNode && (!permission || permission.has('child'));
}

// The same process begins anew, which costs some 25 ms; a channel to whoever started it would be lost.
if (
  process.argv[2] === 'serve' &&
  process.platform === 'linux' &&
  canBegin(process) &&
  !process.channel &&
  isLavish()
) {
  const values = [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, values, { ...process.env, MALLOC_ARENA_MAX: '2' });
}

// Node keeps what it makes of the sources: from the first of them on, or it has to load its compiler for that one alone.
// Only the pinned and newer runtimes have it.
require('node:module').enableCompileCache?.(path.join(root, 'node_modules', '.cache', 'offpeak'));

function load(file) {
  return import(pathToFileURL(file).href);
}

async function startCheckout() {
  const launcher = await load(path.join(root, 'tools', 'install.mjs'));
  await launcher.install().catch(launcher.fail);
  if (!launcher.isNewEnough()) return launcher.become(launcher.runtime(), [source, ...process.argv.slice(2)]);
  process.argv[1] = source;
  await load(source);
}

async function startPackage() {
  if (Number(process.versions.node.split('.')[0]) < 24) {
    process.stderr.write(`offpeak needs Node 24 or newer; this is ${process.version}\n`);
    process.exit(1);
  }
  process.argv[1] = built;
  await load(built);
}

(isCheckout ? startCheckout() : startPackage()).catch((error) => {
  process.stderr.write(`${(error && error.stack) || error}\n`);
  process.exit(1);
});
