import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { isCheckout, packageFolder } from '../../base/program.ts';
import { memoizeAsync } from './memoize.ts';

/** Scalar loads from this server alone, and sends nothing elsewhere. */
const settings = {
  url: '../openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
  defaultOpenFirstTag: true,
  authentication: { preferredSecurityScheme: 'key' },
};
const start = `Scalar.createApiReference('#reference', ${JSON.stringify(settings)});`;
const startHash = createHash('sha256').update(start).digest('base64');

/** Scalar inserts styles while it runs, so any inline style is allowed. Scripts are allowed by origin and hash. */
export const referenceHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; script-src 'self' 'sha256-${startHash}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

export const apiReference = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference - Offpeak</title>
</head>
<body>
<noscript>Without JavaScript: <a href="../openapi.json">the OpenAPI document</a>, <a href="./">the pages</a>.</noscript>
<div id="reference"></div>
<script src="api/scalar.js"></script>
<script>${start}</script>
</body>
</html>
`;

/** A package holds the script as a file; a checkout takes it from the Fastify plugin. */
const zipped = memoizeAsync(() =>
  isCheckout ? zipScript() : readFile(join(packageFolder, 'dist/scalar.js.gz')),
);

/** The script of the page, gzipped and plain. All requests share the bytes. */
export const apiReferenceScript = {
  zipped,
  plain: memoizeAsync(async () => promisify(gunzip)(await zipped())),
};

/** Returns the gzipped script of Scalar, which its Fastify plugin contains (docs/decisions/0009-documents.md). */
export async function zipScript(): Promise<Uint8Array> {
  const { default: fastify } = await import('fastify');
  const { default: plugin } = await import('@scalar/fastify-api-reference');
  const app = fastify();
  await app.register(plugin, { routePrefix: '/', configuration: { url: '/' } });
  const { statusCode, rawPayload } = await app.inject('/js/scalar.js');
  await app.close();
  if (statusCode !== 200) throw new Error(`the plugin of Scalar has no /js/scalar.js: ${statusCode}`);
  return promisify(gzip)(rawPayload, { level: 9 });
}
