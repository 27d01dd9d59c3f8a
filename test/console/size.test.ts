import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildConsole } from './support/build-console.ts';

const folder = join(import.meta.dirname, '../../dist/console');
const assets = join(folder, 'assets');
beforeAll(buildConsole);

/** Scripts that a script imports before it runs, itself included. */
function closureOf(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  const text = readFileSync(join(assets, name), 'utf8');
  for (const [, imported] of text.matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([^"']+\.js)["']/g))
    closureOf(imported!, found);
  return found;
}

const zippedBytes = (names: Iterable<string>) =>
  Array.from(names, (name) => readFileSync(join(assets, `${name}.gz`)).length).reduce(
    (sum, size) => sum + size,
    0,
  );

function entry(): string {
  const [, name] = /src="\.\/assets\/([^"]+\.js)"/.exec(readFileSync(join(folder, 'index.html'), 'utf8'))!;
  return name!;
}

describe('the first load of the console', () => {
  it('is at most 150 kB of gzip JavaScript, with the overview', () => {
    const overview = readdirSync(assets).find((name) => /^overview-.*\.js$/.test(name))!;
    const names = closureOf(overview, closureOf(entry()));
    expect(names.size).toBeGreaterThan(1);
    expect(zippedBytes(names)).toBeLessThanOrEqual(150_000);
  });

  it('has no code of tables with many rows or of curves', () => {
    const text = [...closureOf(entry())].map((name) => readFileSync(join(assets, name), 'utf8')).join('');
    for (const mark of ['getToggleAllRowsSelectedHandler', 'u-legend']) expect(text).not.toContain(mark);
  });
});

it('no file of the console is loaded from elsewhere, or has a map or a comment of its sources', () => {
  for (const name of readdirSync(assets).filter((each) => each.endsWith('.js') || each.endsWith('.css'))) {
    const text = readFileSync(join(assets, name), 'utf8');
    expect(text).not.toContain('sourceMappingURL');
    expect(text).not.toMatch(/@import|url\(["']?https?:/);
  }
});
