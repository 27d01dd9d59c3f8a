import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { packageFolder } from '../../base/program.ts';
import type { Answer } from '../answer/answer.ts';
import { takesGzip } from '../request/accepted-encoding.ts';
import { text } from '../pages/answers.ts';
import { memoizeAsync } from '../pages/memoize.ts';
import type { Incoming } from '../route.ts';
import { noSuchRoute } from '../answer/to-api-error.ts';

/** The build of `console/` (tools/console.mjs), in a checkout and in the package. */
const folder = join(packageFolder, 'dist', 'console');

interface StaticFile {
  bytes: Uint8Array;
  zipped: Uint8Array | undefined;
  headers: Record<string, string>;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Scripts and styles come from files of this server alone. Styles that scripts set are not restricted by a policy, so that
 * `unsafe-inline` and nonces are not needed.
 */
export const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Policy of workers. The check of input files compiles the server's own schemas to code (Ajv), which needs `unsafe-eval`: so it runs in
 * a worker that can reach nothing.
 */
const workerPolicy = "default-src 'none'; script-src 'self' 'unsafe-eval'";

const common = { 'x-content-type-options': 'nosniff', vary: 'accept-encoding' };
const pageHeaders = {
  ...common,
  'content-security-policy': consolePolicy,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
};
/** The name of an asset has the hash of its content. */
const assetHeaders = { ...common, 'cache-control': 'public, max-age=31536000, immutable' };

/**
 * Returns the handler of `/console/*`. Every path that is not a file is a screen, which the page shows itself,
 * except for those that look like calls of the API.
 */
export function createStaticFiles() {
  const files = memoizeAsync(readBuild);

  return async ({ param, method, headers }: Incoming): Promise<Answer> => {
    if (/^(?:api|v\d+)(?:\/|$)/.test(param)) throw noSuchRoute();
    const built = await files().catch(() => undefined);
    if (!built) return text(method, notBuilt, { ...pageHeaders, 'content-type': types['.html']! });
    const found = built.get(param) ?? (param.startsWith('assets/') ? undefined : pageAt(param, built));
    if (!found) throw noSuchRoute();
    const isZipped = found.zipped !== undefined && takesGzip(headers['accept-encoding']);
    return text(method, isZipped ? found.zipped! : found.bytes, {
      ...found.headers,
      ...(isZipped && { 'content-encoding': 'gzip' }),
    });
  };
}

/** All files of the build by their path, read once: they are small. */
async function readBuild(): Promise<Map<string, StaticFile>> {
  const paths = (await readdir(folder, { recursive: true })).map((path) => path.replaceAll('\\', '/'));
  const known = paths.filter((path) => types[extname(path)] !== undefined);
  if (!known.includes('index.html')) throw new Error('the console is not built');
  const entries = known.map(async (path) => {
    const isZipped = paths.includes(`${path}.gz`);
    const file: StaticFile = {
      bytes: await readFile(join(folder, path)),
      zipped: isZipped ? await readFile(join(folder, `${path}.gz`)) : undefined,
      headers: {
        ...(path.startsWith('assets/') ? assetHeaders : pageHeaders),
        ...(isWorker(path) && { 'content-security-policy': workerPolicy }),
        'content-type': types[extname(path)]!,
      },
    };
    return [path, file] as const;
  });
  return new Map(await Promise.all(entries));
}

/** Folders of the paths of screens, at most. */
const maxDepth = 8;
const pages = new WeakMap<object, Map<number, StaticFile>>();

/**
 * The page with the paths of its files from the screen `param`: relative, so that it works behind a proxy that adds a prefix to the
 * path. Undefined for a path deeper than those of all screens.
 */
function pageAt(param: string, built: ReadonlyMap<string, StaticFile>): StaticFile | undefined {
  const page = built.get('index.html')!;
  const depth = param.split('/').length - 1;
  if (depth === 0) return page;
  if (depth > maxDepth) return undefined;
  const known = pages.get(page) ?? new Map<number, StaticFile>();
  pages.set(page, known);
  const made = known.get(depth) ?? withUp(page, '../'.repeat(depth));
  known.set(depth, made);
  return made;
}

function withUp(page: StaticFile, up: string): StaticFile {
  const html = Buffer.from(page.bytes).toString().replaceAll('="./', `="${up}`);
  return { ...page, bytes: Buffer.from(html), zipped: gzipSync(html) };
}

function isWorker(path: string): boolean {
  return /\.worker-[\w-]+\.js$/.test(path);
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Offpeak</title>
<h1>The console is not built</h1>
<p>In the folder of the server, run <code>npm run build:console</code>. Then reload this page.</p>
</html>
`;
