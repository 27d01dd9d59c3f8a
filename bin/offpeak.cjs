#!/usr/bin/env node
// Starts the command line. In the published package it runs the built JavaScript. In a checkout it
// installs what is missing and runs the sources, on the pinned runtime where this Node is too old.
// CommonJS, because old versions of Node reject it as an ES module.

'use strict';

const { existsSync } = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const root = path.join(__dirname, '..');
const source = path.join(root, 'src', 'main.ts');
const built = path.join(root, 'dist', 'main.js');
const isCheckout = existsSync(path.join(root, 'tools', 'install.mjs')) && existsSync(source);

// Enables Node's compile cache before the first source is loaded: otherwise Node loads its compiler for that file.
// Only the pinned and newer versions have it.
require('node:module').enableCompileCache?.(path.join(root, 'node_modules', '.cache', 'offpeak'));

function load(file) {
  return import(pathToFileURL(file).href);
}

/** True for a command whose server keeps running, so that somebody can open the console. */
function showsConsole([command, ...flags]) {
  return command === 'serve' || (command === 'demo' && flags.includes('--keep'));
}

async function startCheckout() {
  const launcher = await load(path.join(root, 'tools', 'install.mjs'));
  await launcher.install().catch(launcher.fail);
  if (showsConsole(process.argv.slice(2))) await launcher.buildConsole();
  if (!launcher.isNewEnough()) return launcher.become(launcher.runtime(), [source, ...process.argv.slice(2)]);
  process.argv[1] = source;
  await load(source);
}

async function startPackage() {
  if (Number(process.versions.node.split('.')[0]) < 24) {
    process.stderr.write(`offpeak needs Node 24 or newer; this is ${process.version}.\n${wayToNode24()}\n`);
    process.exit(1);
  }
  process.argv[1] = built;
  await load(built);
}

/** Platforms for which npm has Node as a package without an install script. */
const runtimePackages = ['linux-x64', 'linux-arm64', 'win-x64'];

function wayToNode24() {
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  if (!runtimePackages.includes(platform)) return 'Install Node 24 and run the command again.';
  return `Add it to this folder, and npx runs on it: npm install node-${platform}@24`;
}

(isCheckout ? startCheckout() : startPackage()).catch((error) => {
  process.stderr.write(`${(error && error.stack) || error}\n`);
  process.exit(1);
});
