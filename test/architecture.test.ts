// The rules of the architecture. `ls src` shows the folders; the table below lists which of them may import which, with the reason
// that a failure shows. At the end every rule is tried on a file that breaks it: a rule that never fires proves nothing.

import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readConfigureGlobal } from 'fast-check';
import { describe, expect, it } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

interface Row {
  readonly may: readonly string[];
  readonly because: string;
}

/** Folders that each folder may import, besides itself. Files directly in src/ have rows of their own. */
const table: Record<string, Row> = {
  base: { may: [], because: 'base has no domain terms, so that everything can build on it' },
  core: { may: ['base'], because: 'the vocabulary is types and pure functions' },
  wire: { may: ['core', 'base'], because: 'a wire format is a pure translation of the vocabulary' },
  store: { may: ['core', 'base'], because: 'a store keeps rows without applying rules to them' },
  s3: { may: ['core', 'base'], because: 'a client of object stores knows neither blobs nor commands' },
  blobs: { may: ['s3', 'core', 'base'], because: 'a blob store keeps bytes without interpreting them' },
  engines: {
    may: ['s3', 'wire', 'core', 'base'],
    because: 'an engine answers one request, independent of accounts, files and batches',
  },
  accounts: {
    may: ['store', 'core', 'base'],
    because: 'permissions do not depend on the content of requests',
  },
  limits: {
    may: ['store', 'core', 'base'],
    because: 'rates count requests and tokens, whatever the requests contain',
  },
  inference: {
    may: ['limits', 'accounts', 'engines', 'wire', 'core', 'base'],
    because: 'a request runs the same way for HTTP and for batches, so inference imports neither',
  },
  operator: {
    may: ['store', 'core', 'base'],
    because: 'services follow the controls of operators, which depend on no service',
  },
  files: {
    may: ['accounts', 'store', 'blobs', 'wire', 'core', 'base'],
    because: 'files exist before batches and without engines',
  },
  batches: {
    may: ['files', 'inference', 'operator', 'accounts', 'events', 'store', 'blobs', 'wire', 'core', 'base'],
    because: 'a batch runs without a server: values in, values out',
  },
  responses: {
    may: ['batches', 'limits', 'inference', 'store', 'wire', 'core', 'base'],
    because: 'a stored response is an answer of inference, or of a request in the batch engine',
  },
  events: {
    may: ['store', 'core', 'base'],
    because: 'events leave the service and need nothing from the services that raise them',
  },
  metrics: {
    may: ['inference', 'store', 'core', 'base'],
    because: 'metrics read the services, and no service depends on metrics',
  },
  tracing: {
    may: ['core', 'base'],
    because: 'spans are made of finished calls, and no service depends on them',
  },
  server: {
    may: [
      'batches',
      'files',
      'responses',
      'events',
      'inference',
      'limits',
      'operator',
      'accounts',
      'wire',
      'core',
      'base',
    ],
    because: 'a route parses, calls one service and presents; only services use store, blobs and engines',
  },
  client: {
    may: ['wire', 'core', 'base'],
    because: 'the client also runs in a browser, and needs only the wire formats',
  },
  cli: {
    may: ['client', 's3', 'wire', 'config.ts', 'config', 'core', 'base'],
    because: 'a command is a client like others; only server, demo and models build the app',
  },
  config: {
    may: ['core', 'base'],
    because: 'the configuration is read before anything is built',
  },
  'config.ts': {
    may: ['config', 'core', 'base'],
    because: 'the configuration is read before anything is built',
  },
  'app.ts': {
    may: [
      'app',
      'config.ts',
      'server',
      'batches',
      'files',
      'responses',
      'events',
      'metrics',
      'tracing',
      'inference',
      'limits',
      'operator',
      'accounts',
      'engines',
      'store',
      'blobs',
      'config',
      'client',
      'wire',
      'core',
      'base',
    ],
    because: 'app.ts builds everything, and the command line builds app.ts',
  },
  app: {
    may: [
      'config',
      'metrics',
      'tracing',
      'limits',
      'inference',
      'accounts',
      'engines',
      'store',
      'blobs',
      's3',
      'core',
      'base',
    ],
    because:
      'parts of app.ts, and helpers for engines, the log, backups and the doctor, which name implementations',
  },
  'main.ts': { may: ['cli'], because: 'main.ts only starts the command line' },
};

/** Rows that may import implementations. */
const builders = ['app.ts', 'app'];

const appBuilders = ['server', 'demo', 'models'];

/**
 * Folders with a contract and its implementations. A large contract has parts in a folder `contract`. The folders in `shared` are
 * common to the implementations.
 */
const contracts: Record<string, { file: string; shared: readonly string[] }> = {
  engines: { file: 'engines/engines.ts', shared: ['schemas'] },
  store: { file: 'store/store.ts', shared: ['contract', 'sql', 'migrations'] },
  blobs: { file: 'blobs/blobs.ts', shared: [] },
};

/** Subfolders of a wire format. */
const formatSubfolders = { request: [], answer: ['request'], stream: ['answer'] };

/**
 * Folders with subfolders that import each other in one direction: the other subfolders that each may import. Files directly in
 * the folder connect its subfolders or are shared by them.
 */
const subfolders: Record<string, Record<string, readonly string[]>> = {
  batches: {
    actions: [],
    create: ['lines'],
    lines: [],
    claimed: ['lines'],
    record: [],
    queue: ['claimed', 'lines', 'record'],
    run: ['queue', 'record', 'claimed', 'lines'],
    finalize: ['lines'],
    maintenance: ['claimed'],
    read: ['lines'],
    requests: ['create', 'lines'],
    watch: ['read'],
  },
  cli: {
    terminal: [],
    shared: ['terminal'],
    storage: ['shared', 'terminal'],
    table: ['shared'],
    access: ['shared', 'terminal'],
    admin: ['batch', 'shared', 'terminal'],
    batch: ['table', 'storage', 'shared', 'terminal'],
    completion: ['shared', 'terminal'],
    demo: ['batch', 'shared', 'terminal'],
    files: ['storage', 'shared', 'terminal'],
    models: ['shared', 'terminal'],
    server: ['shared', 'terminal'],
    webhooks: ['shared', 'terminal'],
  },
  // A route reads its request and then answers it, so reading knows no answers.
  server: {
    request: [],
    answer: ['request'],
    openapi: ['answer'],
    pages: ['answer', 'request'],
    plugins: ['answer', 'request'],
    routes: ['answer', 'openapi', 'request'],
    sockets: ['answer', 'plugins', 'request'],
    console: ['answer', 'pages', 'request', 'routes'],
  },
  'engines/llama': {
    gguf: [],
    gpu: [],
    grammar: [],
    files: ['gguf'],
    inference: ['files', 'gguf', 'gpu', 'grammar'],
    inspect: ['files', 'gguf', 'inference'],
  },
  'engines/llama/inference': {
    answer: [],
    prompt: [],
    scheduling: [],
    loading: ['scheduling'],
    sampling: ['answer', 'scheduling'],
  },
  // Work is claimed, then recorded, then read: no step needs a later one.
  'store/sql/batches': {
    claiming: [],
    recording: ['claiming'],
    reading: ['recording'],
  },
  wire: {
    json: [],
    schema: ['json'],
    shared: ['schema', 'json'],
    errors: ['shared', 'schema', 'json'],
    chat: ['shared', 'schema', 'json'],
    completions: ['chat', 'shared', 'schema', 'json'],
    embeddings: ['chat', 'shared', 'schema', 'json'],
    rerank: ['chat', 'shared', 'schema', 'json'],
    score: ['chat', 'shared', 'schema', 'json'],
    moderations: ['chat', 'shared', 'schema', 'json'],
    direct: ['embeddings', 'rerank', 'score', 'moderations', 'shared', 'schema', 'json'],
    prepared: ['direct', 'completions', 'chat', 'shared', 'json'],
    messages: ['prepared', 'chat', 'shared', 'schema', 'json'],
    responses: ['prepared', 'chat', 'errors', 'shared', 'schema', 'json'],
    conversations: ['responses', 'schema'],
    file: ['shared'],
    batch: [
      'file',
      'responses',
      'messages',
      'prepared',
      'direct',
      'completions',
      'chat',
      'errors',
      'shared',
      'schema',
      'json',
    ],
    'message-batches': ['batch', 'messages', 'shared', 'schema', 'json'],
    admin: ['shared', 'schema'],
    models: ['shared', 'json'],
    usage: ['shared', 'json'],
    webhooks: ['shared', 'schema'],
  },
  'engines/pool': { concurrency: [], health: [], slowdown: ['concurrency'] },
  'engines/upstream': {
    connection: [],
    flavors: ['connection'],
    answer: ['connection'],
    systems: ['connection'],
    messages: ['connection'],
    request: ['answer', 'connection', 'flavors', 'messages', 'systems'],
    probe: ['answer', 'connection', 'flavors', 'request'],
    completions: ['answer', 'connection', 'flavors', 'probe', 'request'],
    direct: ['answer', 'connection', 'flavors', 'probe', 'request'],
    native: ['answer', 'completions', 'connection', 'messages', 'probe', 'request'],
    doctor: ['connection', 'flavors', 'probe'],
    jobs: ['connection', 'direct', 'native', 'probe', 'systems'],
  },
  'engines/upstream/jobs': { storage: [], runners: [] },
  'wire/chat': formatSubfolders,
  'wire/messages': formatSubfolders,
  'wire/responses': formatSubfolders,
};

/** Folders whose code must run in a browser, or in a test without a machine. */
const pure = ['core', 'wire', 'client'];

/**
 * Packages that belong to one folder, and other files that may import them: a file lock and the work file of a run are SQLite
 * databases.
 */
const drivers: Record<string, readonly [home: string, ...others: string[]]> = {
  'node:sqlite': ['store/sqlite/', 'base/file-lock.ts', 'cli/batch/rows/'],
  pg: ['store/postgres/'],
  aws4: ['s3/'],
};

type Sources = ReadonlyMap<string, string>; // path under src/ -> text

/** Returns all violations, as "path: violation and reason". */
function findViolations(sources: Sources): string[] {
  const found: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [path, text] of sources) {
    found.push(...checkName(path).map((what) => `${path}: ${what}`));
    if (!path.endsWith('.ts') || path.endsWith('.test.ts')) continue;
    const specifiers = findImports(text);
    found.push(...checkText(path, text).map((what) => `${path}: ${what}`));
    for (const specifier of specifiers) {
      const why = specifier.startsWith('.')
        ? checkRelative(path, specifier, sources)
        : checkPackage(path, specifier);
      found.push(...why.map((what) => `${path} imports '${specifier}': ${what}`));
    }
    graph.set(
      path,
      specifiers
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => resolve(path, specifier)),
    );
  }
  return [...found, ...findCircles(graph)];
}

/** The specifiers of static, type-only and dynamic imports, and of re-exports. */
function findImports(source: string): string[] {
  const text = withoutComments(source);
  const patterns = [
    /^\s*import\s+(?:type\s+)?[\w$*{},\s]+?\bfrom\s*['"]([^'"]+)['"]/gm,
    /^\s*import\s*['"]([^'"]+)['"]/gm,
    /^\s*export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s*from\s*['"]([^'"]+)['"]/gm,
    /\bimport\(\s*['"]([^'"]+)['"]/g,
  ];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ''));
}

/** Removes comments of whole lines and blocks; `//` inside a string stays. */
function withoutComments(text: string): string {
  return text.replace(/^\s*\/\/.*$/gm, '').replace(/^\s*\/\*[\s\S]*?\*\//gm, '');
}

function resolve(path: string, specifier: string): string {
  return posix.normalize(posix.join(posix.dirname(path), specifier));
}

/** Row of the table for a path: its folder, or the name of a file directly in src/, also for its test. */
function rowOf(path: string): string {
  return path.split('/')[0]?.replace(/\.test\.ts$/, '.ts') ?? path;
}

function checkName(path: string): string[] {
  const wrong: string[] = [];
  if (!path.split('/').every((part) => /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/.test(part))) {
    wrong.push('names are kebab-case');
  }
  if (/(^|\/)index\.ts$/.test(path)) wrong.push('no barrels: import a name from the file that defines it');
  if (table[rowOf(path)] === undefined) wrong.push('has no row in the import table: add one');
  return wrong;
}

function checkText(path: string, source: string): string[] {
  const text = withoutComments(source);
  const wrong: string[] = [];
  if (/^\s*export\s+(?:type\s+)?\*\s*from\b/m.test(text)) {
    wrong.push('no barrels: `export *` hides where a name is defined');
  }
  if (/\bimport\(\s*[^'"\s)]/.test(text))
    wrong.push('a computed import() hides from this table: write the path out');
  if (pure.includes(rowOf(path)) && /\b(?:Buffer|process)\./.test(text)) wrong.push(nodeRefusal(path));
  const isPlaced = path === 'main.ts' || path === 'base/program.ts';
  if (!isPlaced && /\bimport\.meta\b/.test(text.replaceAll('createRequire(import.meta.url)', '')))
    wrong.push('the package has other paths: get files from base/program.ts');
  if (path !== 'base/system.ts' && /\bnew Date\(\s*\)|(?<!new )\bDate\(\s*\)/.test(text)) {
    wrong.push('reads the time of the machine: take a Clock (base/clock.ts), which a simulation can move');
  }
  return wrong;
}

function checkRelative(path: string, specifier: string, sources: Sources): string[] {
  const target = resolve(path, specifier);
  if (target.startsWith('../')) return ['src/ imports only files of src/'];
  if (!sources.has(target)) return [`there is no src/${target} (paths are written out, with .ts)`];
  if (target.endsWith('.test.ts')) return ['the product does not depend on its tests'];
  return [...checkFolders(path, target), ...checkImplementations(path, target)];
}

function checkFolders(path: string, target: string): string[] {
  const [from, to] = [rowOf(path), rowOf(target)];
  if (from === to) return checkSubfolders(path, target);
  if (from === 'cli' && builders.includes(to)) return buildsApp(path) ? [] : [rowRefusal('cli', to)];
  if (table[from]?.may.includes(to) !== true) return [rowRefusal(from, to)];
  const contract = contracts[to];
  const known = target === contract?.file || target.startsWith(`${to}/contract/`);
  if (contract !== undefined && !builders.includes(from) && !known) {
    return [
      `files outside ${to}/ may import only its contract ${contract.file}; app.ts alone names implementations`,
    ];
  }
  return [];
}

function checkSubfolders(path: string, target: string): string[] {
  return Object.entries(subfolders).flatMap(([folder, plan]) => {
    const [mine, theirs] = [subfolderOf(folder, path), subfolderOf(folder, target)];
    if (mine === undefined || mine === theirs) return [];
    const may = plan[mine];
    if (may === undefined) return [`${folder}/${mine} has no row in the table of subfolders`];
    if (theirs === undefined || may.includes(theirs)) return [];
    return [
      `${folder}/${mine} may not import ${folder}/${theirs}: subfolders import each other in one direction`,
    ];
  });
}

/** Subfolder of `folder` that contains a path; undefined for files directly in the folder and outside of it. */
function subfolderOf(folder: string, path: string): string | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined;
  const parts = path.slice(folder.length + 1).split('/');
  return parts.length > 1 ? parts[0] : undefined;
}

function buildsApp(path: string): boolean {
  return appBuilders.some((name) => path === `cli/${name}.ts` || path.startsWith(`cli/${name}/`));
}

function rowRefusal(from: string, to: string): string {
  const row = table[from];
  const may = row === undefined || row.may.length === 0 ? 'nothing else' : row.may.join(', ');
  return `${from} may not import ${to}: ${row?.because ?? 'it has no row in the table'} (it may import ${may})`;
}

/** Implementations (engines/llama, store/sqlite, blobs/s3 ...) may import their contract and shared folders, never each other. */
function checkImplementations(path: string, target: string): string[] {
  if (rowOf(path) !== rowOf(target)) return [];
  const [mine, theirs] = [implementationOf(path), implementationOf(target)];
  if (theirs === undefined || mine === theirs) return [];
  if (mine === undefined) return [`${theirs} is an implementation: shared code must not import it`];
  return [`${mine} and ${theirs} are two implementations, which share only their contract`];
}

function implementationOf(path: string): string | undefined {
  const [folder = '', part = '', ...rest] = path.split('/');
  const contract = contracts[folder];
  if (contract === undefined || contract.shared.includes(part)) return undefined;
  return rest.length > 0 ? `${folder}/${part}` : undefined;
}

function checkPackage(path: string, specifier: string): string[] {
  const places = drivers[specifier];
  if (places && !places.some((place) => path.startsWith(place)))
    return [`this driver belongs to ${places[0]} alone`];
  if (isBuiltin(specifier) && pure.includes(rowOf(path))) {
    return [nodeRefusal(path)];
  }
  return [];
}

function nodeRefusal(path: string): string {
  return `${rowOf(path)} runs anywhere, a browser included: nothing from Node, no I/O`;
}

function findCircles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0)
      circles.push(`a circle: ${[...trail.slice(start), path].join(' -> ')}; split one of them`);
    if (start >= 0 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return circles;
}

function readSources(folder: string): Map<string, string> {
  const sources = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const full = join(entry.parentPath, entry.name);
    const path = full.slice(folder.length + 1).replaceAll('\\', '/');
    sources.set(path, path.endsWith('.ts') ? readFileSync(full, 'utf8') : '');
  }
  return sources;
}

describe('src', () => {
  const sources = readSources(join(root, 'src'));

  it('is readable', () => {
    expect([...sources.keys()].filter((path) => path.endsWith('.ts')).length).toBeGreaterThan(20);
    const imports = [...sources.values()].flatMap(findImports);
    expect(imports.length, 'no imports found: the patterns no longer fit the sources').toBeGreaterThan(20);
  });

  it('follows the import table', () => {
    expect(findViolations(sources)).toEqual([]);
  });
});

describe('the build', () => {
  it('bundles every program that is started by name', () => {
    const named = [...readSources(join(root, 'src')).values()].flatMap((text) =>
      [...text.matchAll(/\bprogramFile\('([^']+)'\)/g)].map(([, name]) => name),
    );
    expect(named.length).toBeGreaterThan(1);
    const [, list = ''] =
      /programs = \[(.*)\]/.exec(readFileSync(join(root, 'tools/build.mjs'), 'utf8')) ?? [];
    expect(new Set(list.match(/[\w/-]+/g))).toEqual(new Set(['main', ...named]));
  });
});

describe('tests', () => {
  it('use the same fast-check values in every run', () => {
    expect(readConfigureGlobal().seed).toBeTypeOf('number');
  });
});

describe('each rule rejects', () => {
  const planted: readonly [name: string, files: Record<string, string>, reason: string][] = [
    [
      'a row',
      { 'core/a.ts': "import { b } from '../wire/b.ts';", 'wire/b.ts': '' },
      'core may not import wire',
    ],
    [
      'a subfolder',
      { 'batches/claimed/a.ts': "import { b } from '../run/b.ts';", 'batches/run/b.ts': '' },
      'batches/claimed may not import batches/run',
    ],
    [
      'a reader of requests that knows answers',
      { 'server/request/a.ts': "import { b } from '../answer/b.ts';", 'server/answer/b.ts': '' },
      'server/request may not import server/answer',
    ],
    [
      'a subfolder of a format',
      { 'wire/chat/request/a.ts': "import { b } from '../stream/b.ts';", 'wire/chat/stream/b.ts': '' },
      'wire/chat/request may not import wire/chat/stream',
    ],
    [
      'a subfolder without a row',
      { 'wire/chat/attic/a.ts': "import { b } from '../chat.ts';", 'wire/chat/chat.ts': '' },
      'wire/chat/attic has no row in the table of subfolders',
    ],
    [
      'a type',
      { 'base/a.ts': "import type { B } from '../core/b.ts';", 'core/b.ts': '' },
      'base may not import core',
    ],
    [
      'an import over several lines',
      { 'base/a.ts': "import {\n  b,\n  type C,\n} from '../core/b.ts';", 'core/b.ts': '' },
      'base may not import core',
    ],
    ['a side effect', { 'base/a.ts': "import '../core/b.ts';", 'core/b.ts': '' }, 'base may not import core'],
    [
      'a re-export',
      { 'base/a.ts': "export { b } from '../core/b.ts';", 'core/b.ts': '' },
      'base may not import core',
    ],
    [
      'a dynamic import',
      { 'server/a.ts': "await import('../store/store.ts');", 'store/store.ts': '' },
      'only services use store',
    ],
    ['a computed import', { 'server/a.ts': 'await import(name);' }, 'hides from this table'],
    ['a file beside it', { 'server/a.ts': "fork(new URL('./b.ts', import.meta.url));" }, 'base/program.ts'],
    [
      'the app in a client command',
      { 'cli/files/list.ts': "import '../../app.ts';", 'app.ts': '' },
      'cli may not import app.ts',
    ],
    [
      'an implementation seen from outside',
      { 'files/a.ts': "import '../store/sqlite/open.ts';", 'store/sqlite/open.ts': '' },
      'only its contract store/store.ts',
    ],
    [
      'an engine seen from inference',
      { 'inference/a.ts': "import '../engines/pool.ts';", 'engines/pool.ts': '' },
      'only its contract engines/engines.ts',
    ],
    [
      'two implementations',
      { 'engines/llama/a.ts': "import '../upstream/b.ts';", 'engines/upstream/b.ts': '' },
      'two implementations',
    ],
    [
      'a contract that imports one',
      { 'store/store.ts': "import './sqlite/a.ts';", 'store/sqlite/a.ts': '' },
      'shared code must not import it',
    ],
    [
      'Node in a wire format',
      { 'wire/a.ts': "import { createHash } from 'node:crypto';" },
      'nothing from Node',
    ],
    ["Node's globals", { 'wire/a.ts': "const text = Buffer.from('').toString();" }, 'nothing from Node'],
    ['Node without its prefix', { 'client/a.ts': "import fs from 'fs';" }, 'nothing from Node'],
    [
      'a driver elsewhere',
      { 'accounts/a.ts': "import { DatabaseSync } from 'node:sqlite';" },
      'belongs to store/sqlite/',
    ],
    [
      'a circle',
      { 'core/a.ts': "import './b.ts';", 'core/b.ts': "import type { A } from './a.ts';" },
      'a circle',
    ],
    ['a barrel', { 'core/index.ts': '' }, 'no barrels'],
    ['export *', { 'core/a.ts': "export * from './b.ts';", 'core/b.ts': '' }, 'no barrels'],
    ['a camelCase name', { 'core/aFile.ts': '' }, 'kebab-case'],
    ['an unknown folder', { 'utils/a.ts': '' }, 'no row in the import table'],
    ['a path without .ts', { 'core/a.ts': "import './b';", 'core/b.ts': '' }, 'there is no src/core/b'],
    [
      'a test as a dependency',
      { 'core/a.ts': "import './b.test.ts';", 'core/b.test.ts': '' },
      'depend on its tests',
    ],
    ['a file outside src', { 'core/a.ts': "import '../../test/x.ts';" }, 'only files of src/'],
    ['the time of the machine', { 'core/a.ts': 'const now = new Date();' }, 'take a Clock'],
  ];

  it.each(planted)('%s', (_name, files, reason) => {
    const found = findViolations(new Map(Object.entries(files)));
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(reason);
  });

  it('nothing that is allowed', () => {
    const files = {
      'app.ts':
        "import { openSqlite } from './store/sqlite/open.ts';\nimport { createServer } from './server/server.ts';",
      'cli/server/serve.ts': "const { createApp } = await import('../../app.ts');",
      'server/server.ts': "import type { Batches } from '../batches/batches.ts';",
      'batches/batches.ts': "import type { Store } from '../store/store.ts';",
      'files/files.ts': "import type { FileStore } from '../store/contract/files.ts';",
      'store/contract/files.ts': 'export interface FileStore {}',
      'store/store.ts': "// import { x } from './sqlite/open.ts'\nexport interface Store {}",
      'store/sql/claim.ts': "import type { Store } from '../store.ts';",
      'store/sqlite/open.ts':
        "import { DatabaseSync } from 'node:sqlite';\nimport { claim } from '../sql/claim.ts';",
      'base/system.ts': 'const now = new Date();',
      'core/time.ts': 'const day = new Date(0);',
    };
    expect(findViolations(new Map(Object.entries(files)))).toEqual([]);
  });
});
