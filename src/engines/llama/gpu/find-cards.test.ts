import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CardChoice, GpuChoice, GpuKind } from '../../../core/card.ts';
import { engineVersion } from './builds.ts';
import { findCards } from './find-cards.ts';

const linux = { platform: 'linux', arch: 'x64' } as const;
const mac = { platform: 'darwin', arch: 'arm64' } as const;
let folder: string;
let asked: GpuKind[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'offpeak-cards-'));
  asked = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function install(name: string, bytes = 5): void {
  mkdirSync(join(folder, name, 'node_modules'), { recursive: true });
  writeFileSync(join(folder, name, 'node_modules', 'file'), 'build');
  writeFileSync(join(folder, name, 'build.json'), JSON.stringify({ version: 'x', bytes, packages: {} }));
}

const cardsOf = (kind: GpuKind): CardChoice => ({
  found: { kind, cards: [{ name: 'A', free: 1 }], total: 2, isShared: false },
  why: null,
});

/** Looks for cards, of which only those of `working` builds can be used. */
function find(
  gpu: GpuChoice,
  platform: { platform: NodeJS.Platform; arch: string },
  working: GpuKind[] = [],
) {
  return findCards(gpu, folder, {
    platform,
    examine: async (kind) => {
      asked.push(kind);
      return working.includes(kind) ? cardsOf(kind) : { found: null, why: 'no driver' };
    },
  });
}

test('without a build, the processor is used silently, unless a build is named', async () => {
  expect(await find('auto', linux)).toEqual({ found: null, why: null });
  expect(await find('cuda', linux)).toEqual({
    found: null,
    why: 'CUDA: the build is not installed: run offpeak engine install cuda',
  });
  expect(asked).toEqual([]);
});

test('off looks for nothing', async () => {
  install(`vulkan-${engineVersion}`);
  expect(await find('off', linux, ['vulkan'])).toEqual({ found: null, why: null });
  expect(asked).toEqual([]);
});

test('the first installed build that works is used, CUDA before Vulkan', async () => {
  install(`vulkan-${engineVersion}`);
  install(`cuda-${engineVersion}`);
  expect(await find('auto', linux, ['cuda', 'vulkan'])).toEqual(cardsOf('cuda'));
  expect(await find('auto', linux, ['vulkan'])).toEqual(cardsOf('vulkan'));
  expect(asked).toEqual(['cuda', 'cuda', 'vulkan']);
  expect(await find('vulkan', linux, ['cuda', 'vulkan'])).toEqual(cardsOf('vulkan'));
  expect((await find('auto', linux)).why).toBe('CUDA: no driver; Vulkan: no driver');
});

test('a build of another version is named with the version that is needed', async () => {
  install('vulkan-3.20.0');
  const why = `Vulkan: the installed build is of version 3.20.0, and this Offpeak needs ${engineVersion}: run offpeak engine install vulkan`;
  expect(await find('auto', linux, ['vulkan'])).toEqual({ found: null, why });
  expect(asked).toEqual([]);
});

test('a build with missing or changed files is not loaded', async () => {
  install(`vulkan-${engineVersion}`, 6);
  expect((await find('auto', linux, ['vulkan'])).why).toBe(
    'Vulkan: the installed build is damaged: run offpeak engine install vulkan',
  );
  mkdirSync(join(folder, `cuda-${engineVersion}`));
  expect((await find('cuda', linux, ['cuda'])).why).toContain('is damaged');
  expect(asked).toEqual([]);
});

test('a Mac with its own processor uses Metal without an installation, and nothing else', async () => {
  expect(await find('auto', mac, ['metal'])).toEqual(cardsOf('metal'));
  expect(await find('metal', mac, ['metal'])).toEqual(cardsOf('metal'));
  expect((await find('cuda', mac)).why).toBe('CUDA does not work on mac-arm64, which uses Metal');
  expect((await find('metal', linux)).why).toBe('Metal does not work on linux-x64, which uses CUDA');
  expect((await find('vulkan', { platform: 'linux', arch: 'arm64' })).why).toBe(
    'Vulkan does not work on linux-arm64, which has no builds for cards',
  );
});
