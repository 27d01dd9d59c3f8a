import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BucketConfig } from '../../src/core/config.ts';

/**
 * Fault of a request: an error with this status and code; `reset` before the operation; `lose answer` after the operation;
 * `hang` without an answer; `late` for a 200 whose body is an error.
 */
export type ObjectStoreFault = { status: number; code: string } | 'reset' | 'lose answer' | 'hang' | 'late';

/** S3-compatible store in memory with one bucket. It checks every signature and injects faults. */
export interface ObjectStore {
  config: BucketConfig;
  objects: Map<string, { body: Buffer; modifiedAt: number }>;
  /** Multipart uploads in progress, by id. */
  uploads: Map<string, { key: string; begun: number; parts: Map<number, Buffer> }>;
  /** Requests so far, as `PUT key?query`. */
  requests: string[];
  /** Token that goes with the key. */
  sessionToken: string | undefined;
  /** Clock of the store. */
  now: () => number;
  /** Chooses the fault of a request. */
  fault: (request: string) => ObjectStoreFault | undefined;
  /** Answer to a request for a range: 206, with status 200 as rclone does, or the whole object. */
  ranges: 'partial' | 'status 200' | 'ignored';
  /** Status and code for a request with a wrong time. */
  skewed: { status: number; code: string };
  /** Maximum entries per page of a listing. */
  maxPage: number;
  close(): Promise<void>;
}

export const secretKey = 'a secret access key';
export const accessKey = 'AKIATEST';
const bucket = 'files';

class StoreError extends Error {
  readonly status: number;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
  }
}

export async function startObjectStore(): Promise<ObjectStore> {
  const server = createServer((request, response) => void serve(request, response));
  // A closed idle connection would fail a request at random.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const config: BucketConfig = {
    bucket,
    prefix: 'off/peak/',
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-test-1',
    pathStyle: true,
    keys: { kind: 'static', accessKey, secretKey, sessionToken: undefined },
  };
  let uploads = 0;
  const store: ObjectStore = {
    config,
    objects: new Map(),
    uploads: new Map(),
    requests: [],
    sessionToken: undefined,
    now: Date.now,
    fault: () => undefined,
    ranges: 'partial',
    skewed: { status: 403, code: 'RequestTimeTooSkewed' },
    maxPage: 1000,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { pathname, search, searchParams } = new URL(request.url!, 'http://x');
    const [, inBucket = '', key = ''] = /^\/([^/]+)\/(.*)$/.exec(decodeURIComponent(pathname)) ?? [];
    const line = `${request.method} ${key}${search}`;
    store.requests.push(line);
    response.setHeader('date', new Date(store.now()).toUTCString());
    const fault = store.fault(line);
    if (fault === 'hang') return;
    if (fault === 'reset') return void request.socket.resetAndDestroy();
    try {
      check(request, body, config, store);
      if (inBucket !== bucket) throw new StoreError(404, 'NoSuchBucket');
      if (typeof fault === 'object') throw new StoreError(fault.status, fault.code);
      if (fault === 'late')
        return void response.end('<?xml version="1.0"?><Error><Code>InternalError</Code></Error>');
      const answer = answerTo(request, key, searchParams, body);
      if (fault === 'lose answer') return void request.socket.resetAndDestroy();
      response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
    } catch (error) {
      const status = error instanceof StoreError ? error.status : 500;
      const code = error instanceof Error ? error.message : '';
      const xml = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>No &amp; no.</Message></Error>`;
      response.writeHead(status).end(request.method === 'HEAD' ? undefined : xml);
    }
  }

  interface Answer {
    status?: number;
    headers?: Record<string, string>;
    body?: Buffer | string;
  }

  function answerTo(request: IncomingMessage, key: string, query: URLSearchParams, body: Buffer): Answer {
    const { method, headers } = request;
    const uploadId = query.get('uploadId');
    if (uploadId !== null) return handleUpload(method!, key, uploadId, query, body);
    if (query.has('uploads')) return method === 'POST' ? beginUpload(key) : listUploads();
    if (method === 'GET' && key === '') return list(query);
    if (method === 'PUT') {
      const source = headers['x-amz-copy-source'];
      const content = source === undefined ? body : find(String(source).slice(bucket.length + 2)).body;
      store.objects.set(key, { body: content, modifiedAt: store.now() });
      return { body: '<CopyObjectResult/>', headers: { etag: tagOf(content) } };
    }
    if (method === 'DELETE') {
      // Some stores answer like this.
      if (!store.objects.delete(key)) throw new StoreError(404, 'NoSuchKey');
      return { status: 204 };
    }
    const { body: content } = find(key);
    if (method === 'HEAD') return { headers: { 'content-length': String(content.length) } };
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(String(headers.range)) ?? [];
    if (start === undefined || store.ranges === 'ignored') return { body: content };
    if (Number(start) >= content.length) throw new StoreError(416, 'InvalidRange');
    const part = content.subarray(Number(start), Number(end) + 1);
    const range = `bytes ${start}-${Number(start) + part.length - 1}/${content.length}`;
    const status = store.ranges === 'partial' ? 206 : 200;
    return { status, headers: { 'content-range': range, etag: tagOf(content) }, body: part };
  }

  function find(key: string) {
    const found = store.objects.get(key);
    if (!found) throw new StoreError(404, 'NoSuchKey');
    return found;
  }

  function beginUpload(key: string): Answer {
    const id = `upload&${++uploads}`;
    store.uploads.set(id, { key, begun: store.now(), parts: new Map() });
    return { body: `<R><UploadId>${id.replace('&', '&amp;')}</UploadId></R>` };
  }

  function handleUpload(
    method: string,
    key: string,
    id: string,
    query: URLSearchParams,
    body: Buffer,
  ): Answer {
    const upload = store.uploads.get(id);
    if (upload?.key !== key) throw new StoreError(404, 'NoSuchUpload');
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body);
      return { headers: { etag: tagOf(body) } };
    }
    store.uploads.delete(id);
    if (method === 'DELETE') return { status: 204 };
    const named = [
      ...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&quot;(\w+)&quot;<\/ETag>/g),
    ];
    const parts = named.map(([, number, tag]) => {
      const part = upload.parts.get(Number(number));
      if (!part || tagOf(part) !== `"${tag}"`) throw new StoreError(400, 'InvalidPart');
      return part;
    });
    const isSmall = (part: Buffer, at: number) => at < parts.length - 1 && part.length < 5 * 1024 * 1024;
    if (parts.length === 0 || parts.some(isSmall)) throw new StoreError(400, 'EntityTooSmall');
    store.objects.set(key, { body: Buffer.concat(parts), modifiedAt: store.now() });
    return { body: '<CompleteMultipartUploadResult/>' };
  }

  function list(query: URLSearchParams): Answer {
    const limit = Math.min(store.maxPage, Number(query.get('max-keys') ?? 1000));
    const after = query.get('continuation-token') ?? '';
    const keys = [...store.objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
      .toSorted();
    if (query.get('delimiter') === '/')
      return { body: `<L>${prefixes(keys, query.get('prefix') ?? '')}</L>` };
    const page = keys.slice(0, limit).map((key) => {
      const { body, modifiedAt } = find(key);
      return entry('Contents', key, 'LastModified', modifiedAt, `<Size>${body.length}</Size>`);
    });
    const more = keys.length > limit;
    const next = more ? `<NextContinuationToken>${keys[limit - 1]}</NextContinuationToken>` : '';
    return { body: `<L><IsTruncated>${more}</IsTruncated>${next}${page.join('')}</L>` };
  }

  /** Keys below a prefix up to the next slash, on one page. */
  function prefixes(keys: readonly string[], prefix: string): string {
    const all = keys.flatMap((key) => {
      const end = key.indexOf('/', prefix.length);
      return end < 0 ? [] : [key.slice(0, end + 1)];
    });
    const each = [...new Set(all)].map((key) => `<CommonPrefixes><Prefix>${key}</Prefix></CommonPrefixes>`);
    return each.join('');
  }

  function listUploads(): Answer {
    const all = [...store.uploads].map(([id, { key, begun }]) =>
      entry('Upload', key, 'Initiated', begun, `<UploadId>${id.replace('&', '&amp;')}</UploadId>`),
    );
    return { body: `<L>${all.join('')}</L>` };
  }

  return store;
}

function entry(name: string, key: string, time: string, at: number, more = ''): string {
  return `<${name}><Key>${key}</Key><${time}>${new Date(at).toISOString()}</${time}>${more}</${name}>`;
}

const tags = new WeakMap<Buffer, string>();

/** Returns the ETag of a content, which is hashed once: reads of many ranges of a large object would take seconds. */
function tagOf(body: Buffer): string {
  const tag = tags.get(body) ?? `"${createHash('md5').update(body).digest('hex')}"`;
  tags.set(body, tag);
  return tag;
}

/** Checks the AWS signature, version 4. */
function check(
  { method, url, headers }: IncomingMessage,
  body: Buffer,
  { region }: BucketConfig,
  { sessionToken, now, skewed }: ObjectStore,
): void {
  const [, key, day, scope, names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d+)\/(\S+), SignedHeaders=(\S+), Signature=(\w+)$/.exec(
      String(headers.authorization),
    ) ?? [];
  if (key !== accessKey) throw new StoreError(403, 'InvalidAccessKeyId');
  if (headers['x-amz-security-token'] !== sessionToken) throw new StoreError(403, 'InvalidToken');
  const dated = Date.parse(String(headers['x-amz-date']).replace(/^(....)(..)(..T..)(..)/, '$1-$2-$3:$4:'));
  if (!(Math.abs(dated - now()) < 900_000)) throw new StoreError(skewed.status, skewed.code);
  if (scope !== `${region}/s3/aws4_request`) throw new StoreError(400, 'AuthorizationHeaderMalformed');
  const sum = createHash('sha256').update(body).digest('hex');
  if (headers['x-amz-content-sha256'] !== sum) throw new StoreError(400, 'XAmzContentSHA256Mismatch');
  const { pathname, searchParams } = new URL(url!, 'http://x');
  const query = [...searchParams]
    .map((pair) => pair.map(encodeURIComponent).join('='))
    .toSorted()
    .join('&');
  const signed = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const canonical = [method, pathname, query, signed.join(''), names, sum].join('\n');
  const hashed = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], `${day}/${scope}`, hashed].join('\n');
  const sign = (by: string | Buffer, what: string) => createHmac('sha256', by).update(what).digest();
  const signing = [day!, ...scope.split('/')].reduce<string | Buffer>(sign, `AWS4${secretKey}`);
  if (sign(signing, text).toString('hex') !== signature) throw new StoreError(403, 'SignatureDoesNotMatch');
}
