import { array, integer, literal, object, string, stringOrNull } from '../../wire/schema/schema.ts';
import type { Route } from '../route.ts';
import { errorFormat } from '../answer/send.ts';
import type { QueryDocs } from './query-schemas.ts';

/** Error body of every route (docs/errors.md). */
const errorSchema = object(
  {
    type: literal('error'),
    error: object({
      type: string(),
      code: string(),
      message: string(),
      param: stringOrNull(),
      details: object({
        error_code: string({ description: 'Same value as code.' }),
        errors: array(
          object({
            'line?': integer({ description: 'Line of the file, counted from 1.' }),
            'custom_id?': string(),
            'param?': string(),
            code: string(),
            message: string(),
          }),
          { maxItems: 100 },
        ),
      }),
    }),
    message: string(),
    'detail?': array(object({ loc: array({}), msg: string(), type: string() })),
    request_id: string({ description: 'req_<id>, as in the headers x-request-id and request-id.' }),
  },
  { title: 'Error' },
);

const errors: Record<number, string> = {
  400: 'Repeated Authorization header, or a prompt longer than the context of the model',
  401: 'Missing, unknown, revoked or expired key',
  402: 'The storage quota or the budget of the org is used up',
  403: 'The key lacks the scope or the model, or may not ask for this priority',
  404: 'Unknown id, or an id of another org',
  409: 'The state of the resource does not allow the operation',
  413: 'The body exceeds a size limit',
  415: 'Wrong content type',
  416: 'The range is outside the file',
  422: 'Validation error',
  429: 'Rate limit',
  500: 'Internal error',
  502: 'The engine failed',
  503: 'The engine is saturated, or the server is shutting down',
  504: 'The engine took too long',
  507: 'The disk or the bucket of the server is full',
};

/** Introduction of the reference, in Markdown. */
const introduction = `Batch inference at half price, files, and text generation in three formats, on your own engines.
The [guides](./) explain each part.

## Authentication

Every call except those marked as open takes an API key as a bearer token. \`x-api-key\` is refused.

\`\`\`
Authorization: Bearer $OFFPEAK_API_KEY
\`\`\`

\`offpeak serve\` prints the first key when it starts on an empty data folder. \`offpeak keys create\` makes more of them, each with
the scopes that its calls need.

## A first call

Set the base URL of your server, and take a model from \`GET /v1/models\`:

\`\`\`sh
curl -s $OFFPEAK_URL/v1/chat/completions \\
  -H "Authorization: Bearer $OFFPEAK_API_KEY" -H "Content-Type: application/json" \\
  -d '{"model": "default", "messages": [{"role": "user", "content": "Hello"}]}'
\`\`\`

The same request in a batch costs half as much:

\`\`\`sh
curl -s $OFFPEAK_URL/v1/batches \\
  -H "Authorization: Bearer $OFFPEAK_API_KEY" -H "Content-Type: application/json" \\
  -d '{"endpoint": "/v1/chat/completions", "completion_window": "24h", "requests": [
        {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions",
         "body": {"model": "default", "messages": [{"role": "user", "content": "Hello"}]}}]}'
\`\`\`

Every error has the same body; its \`code\` is one of those in [Errors](errors).
`;

/** OpenAPI 3.1 document of the routes. Their validation schemas are JSON Schema 2020-12, which OpenAPI 3.1 uses, too. */
export function buildOpenApi(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = openApiPath(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Offpeak', version, description: introduction },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: { Error: errorSchema },
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer <API key>' },
      },
    },
  };
}

/** OpenAPI has no parameters with slashes: in `/v1/models/*` clients percent-encode them. */
export function openApiPath(path: string): string {
  return path.replaceAll(/:([^/]+)/g, '{$1}').replace('*', '{model}');
}

function operation(route: Route): object {
  const { docs, access, path } = route;
  const { status, type, schema } = docs.answer;
  return {
    operationId: `${docs.name.charAt(0).toLowerCase()}${docs.name.slice(1).replaceAll(' ', '')}`,
    summary: docs.summary,
    tags: [docs.tag],
    ...(access === 'open' ? { security: [] } : { security: [{ key: [] }] }),
    ...(access !== 'open' && access !== 'key' && { 'x-scope': access }),
    parameters: [...pathParameters(path), ...queryParameters(docs.query)],
    ...(docs.body && {
      requestBody: {
        required: docs.optionalBody !== true,
        content: { [bodyType(route)]: { schema: docs.body } },
      },
    }),
    responses: {
      [status]: {
        description: status === 201 ? 'Created' : 'OK',
        ...(isLimited(route) && { headers: rateLimitHeaders(path) }),
        content: {
          [type]: schema ? { schema } : {},
          ...(docs.orType && { [docs.orType]: { schema: { type: 'string' } } }),
        },
      },
      ...otherResponse(docs.otherAnswer),
      ...Object.fromEntries(statusesOf(route).map((code) => [code, errorResponse(code, route)])),
    },
  };
}

function otherResponse(other: Route['docs']['otherAnswer']): object {
  if (!other) return {};
  const { status, description, schema } = other;
  return { [status]: { description, content: { 'application/json': { schema } } } };
}

function pathParameters(path: string): object[] {
  const names = openApiPath(path).matchAll(/\{([^}]+)\}/g);
  return Array.from(names, ([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters(query: QueryDocs = {}): object[] {
  return Object.entries(query).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema,
  }));
}

function bodyType(route: Route): string {
  return route.body === 'multipart' ? 'multipart/form-data' : 'application/json';
}

function statusesOf({ access, method, body, path, docs }: Route): number[] {
  if (access === 'open') return [500, 503];
  const statuses = [400, 401, 403, 422, 429, 500, 503];
  if (path.includes(':') || path.includes('*')) statuses.push(404);
  if (body) statuses.push(413, 415);
  if (['application/octet-stream', 'application/jsonl'].includes(docs.answer.type)) statuses.push(416);
  if (docs.tag === 'Generation') statuses.push(402, 404, 502, 504);
  if (docs.tag === 'Conversations' && docs.body) statuses.push(402);
  if (docs.answer.status === 201) statuses.push(507);
  if (method !== 'GET' && (path.includes(':') || docs.tag === 'Webhooks')) statuses.push(409);
  return statuses.toSorted((a, b) => a - b);
}

function errorResponse(code: number, route: Route): object {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  const headers = code === 429 && {
    headers: { ...retryHeaders, ...(isLimited(route) && rateLimitHeaders(route.path)) },
  };
  return { description: errors[code] ?? 'Error', ...headers, content };
}

/** True for routes whose requests count against rates (inference/with-limits.ts). */
function isLimited({ docs, method, path }: Route): boolean {
  return docs.tag === 'Generation' && method === 'POST' && !path.endsWith('_tokens');
}

const retryHeaders = {
  'retry-after': header('Seconds until a retry may succeed, at most 60.', 'integer'),
  'retry-after-ms': header('The same in milliseconds.', 'integer'),
};

/** Headers of `wire/errors/rate-headers.ts`. */
function rateLimitHeaders(path: string): object {
  if (errorFormat(path) === 'messages')
    return Object.fromEntries(
      ['requests', 'tokens', 'input-tokens', 'output-tokens'].flatMap((name) => [
        [`anthropic-ratelimit-${name}-limit`, header('Limit per minute.', 'integer')],
        [`anthropic-ratelimit-${name}-remaining`, header('What is left of the limit.', 'integer')],
        [`anthropic-ratelimit-${name}-reset`, header('Time at which all of it is left.', 'string')],
      ]),
    );
  return Object.fromEntries(
    ['requests', 'tokens'].flatMap((name) => [
      [`x-ratelimit-limit-${name}`, header('Limit per minute.', 'integer')],
      [`x-ratelimit-remaining-${name}`, header('What is left of the limit.', 'integer')],
      [`x-ratelimit-reset-${name}`, header('Time until all of it is left, such as 6m0s.', 'string')],
    ]),
  );
}

function header(description: string, type: 'integer' | 'string'): object {
  return { description, schema: { type } };
}
