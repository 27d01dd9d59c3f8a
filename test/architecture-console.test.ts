// The rules of the console's sources: who imports whom, and what no file of a page may do. At the end every rule is tried on a file
// that breaks it.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const folder = join(dirname(fileURLToPath(import.meta.url)), '..', 'console', 'src');

/** Folders of console/src that each folder may import, besides itself. Screens do not import each other. */
const folders: Readonly<Record<string, readonly string[]>> = {
  'main.tsx': ['app', 'api', 'styles'],
  app: ['screens', 'parts', 'api'],
  screens: ['parts', 'api'],
  parts: ['api'],
  api: [],
  styles: [],
  // In place of modules of `src` that need Node.
  browser: [],
};

/** Folders of `src` that run in a browser. */
const shared = /^\.\.\/src\/(base|core|wire|client)\//;

/** Text that no file may contain, with the reason. */
const forbidden: readonly [pattern: RegExp, because: string, except?: string][] = [
  [
    /dangerouslySetInnerHTML|\.innerHTML\b|\.outerHTML\b|insertAdjacentHTML|document\.write/,
    'texts are nodes, never HTML',
  ],
  [
    /\b(local|session)Storage\b|\bindexedDB\b|document\.cookie/,
    'nothing of a session is stored in the browser',
  ],
  [
    /(?<![\w.])fetch\(|\bXMLHttpRequest\b|navigator\.sendBeacon/,
    'requests go through api/send.ts',
    'api/send.ts',
  ],
  [/\beval\(|new Function\(/, 'the content policy forbids it'],
  [/https?:\/\/(?!127\.0\.0\.1|localhost|www\.w3\.org|example\.com)/, 'a page loads nothing from elsewhere'],
];

type Sources = ReadonlyMap<string, string>; // path under console/src -> text

function findViolations(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => [
    ...checkName(path),
    ...(path.includes('.test.') ? [] : checkText(path, text)),
    ...findImports(text).flatMap((specifier) => checkImport(path, specifier)),
  ]);
}

function checkName(path: string): string[] {
  const isKebab = path.split('/').every((part) => /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/.test(part));
  return isKebab ? [] : [`${path}: names are kebab-case`];
}

function checkText(path: string, text: string): string[] {
  return forbidden.flatMap(([pattern, because, except]) =>
    path !== except && pattern.test(text) ? [`${path}: ${because}`] : [],
  );
}

function checkImport(path: string, specifier: string): string[] {
  if (!specifier.startsWith('.')) return [];
  const target = posix.join('console', dirname(path), specifier);
  const own = /^console\/(.*)/.exec(target)?.[1];
  if (own === undefined) {
    const relative = posix.relative('console', posix.join('console', 'src', dirname(path), specifier));
    return shared.test(relative) ? [] : [`${path} imports ${specifier}: only folders that run in a browser`];
  }
  const [from = '', to = ''] = [path.split('/')[0], own.split('/')[0]];
  if (from !== to && folders[from]?.includes(to) !== true) return [`${path}: ${from} may not import ${to}`];
  const [mine, theirs] = [path.split('/')[1], own.split('/')[1]];
  if (from === 'screens' && to === 'screens' && mine !== theirs)
    return [`${path}: screens do not import each other; move what they share to parts`];
  return [];
}

function findImports(text: string): string[] {
  const pattern = /\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g;
  return Array.from(text.matchAll(pattern), ([, specifier]) => specifier!);
}

function readSources(): Map<string, string> {
  const sources = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
      .slice(folder.length + 1)
      .replaceAll('\\', '/');
    if (!entry.isFile() || path === 'api/schema.d.ts') continue;
    sources.set(path, /\.tsx?$/.test(path) ? readFileSync(join(folder, path), 'utf8') : '');
  }
  return sources;
}

it('C10: the console follows its rules', () => {
  const sources = readSources();
  expect([...sources.values()].flatMap(findImports).length).toBeGreaterThan(50);
  expect(findViolations(sources)).toEqual([]);
});

describe('each rule rejects', () => {
  it.each([
    [
      'an import against the direction',
      'parts/a.tsx',
      "import { B } from '../app/b.tsx';",
      'parts may not import app',
    ],
    [
      'a screen of a screen',
      'screens/a/a.tsx',
      "import { B } from '../b/b.tsx';",
      'do not import each other',
    ],
    [
      'code of the server',
      'api/a.ts',
      "import { b } from '../../../src/store/store.ts';",
      'run in a browser',
    ],
    ['HTML', 'parts/a.tsx', '<p dangerouslySetInnerHTML={{ __html: text }} />', 'never HTML'],
    ['storage', 'app/a.ts', "localStorage.setItem('key', key)", 'stored in the browser'],
    ['a request of its own', 'parts/a.tsx', "await fetch('/console/api')", 'api/send.ts'],
    ['a file from elsewhere', 'app/a.tsx', "<img src='https://example.org/a.png' />", 'from elsewhere'],
    ['a camelCase name', 'parts/aPart.tsx', '', 'kebab-case'],
  ])('%s', (_name, path, text, reason) => {
    const found = findViolations(new Map([[path, text]]));
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(reason);
  });

  it('nothing that is allowed', () => {
    const text =
      "import { a } from '../../parts/a.tsx';\nimport type { B } from '../../../../src/core/batch.ts';";
    expect(findViolations(new Map([['screens/a/a.tsx', text]]))).toEqual([]);
  });
});
