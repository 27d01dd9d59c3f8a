import * as fc from 'fast-check';
import { Pool } from 'undici';
import type { RunningServer } from '../server/support/start-server.ts';
import { requestsTo, type SentRequest } from './cases.ts';
import { findFault, type ReceivedAnswer } from './check-answer.ts';
import type { Endpoint } from './requests.ts';

export interface Fuzzing {
  requests: number;
  seed: number;
}

export interface Outcome {
  /** Faults found: the first of each kind, with its request. */
  faults: string[];
  /** Number of answers by status. */
  seen: Record<string, number>;
}

/** Sends damaged requests to one endpoint and checks every answer. */
export async function fuzz(
  app: RunningServer,
  endpoint: Endpoint,
  { requests, seed }: Fuzzing,
): Promise<Outcome> {
  const pool = new Pool(app.url, { connections: 4 });
  const faults = new Map<string, string>();
  const seen: Record<string, number> = {};
  // Nothing is shrunk: a fault may depend on earlier requests, and all kinds are collected.
  await fc.assert(
    fc.asyncProperty(requestsTo(endpoint), async (sent) => {
      const received = await send(pool, sent, app.keys.a).catch((error: unknown) => String(error));
      const wrong = typeof received === 'string' ? `no answer: ${received}` : findFault(sent, received);
      const fault = unsaid(app) ?? wrong;
      if (fault !== undefined && !faults.has(fault.slice(0, 40)))
        faults.set(fault.slice(0, 40), told(fault, sent, received));
      const kind = typeof received === 'string' ? 'none' : kindOf(received);
      seen[kind] = (seen[kind] ?? 0) + 1;
    }),
    { numRuns: requests, seed },
  );
  await pool.close();
  return { faults: [...faults.values()], seen };
}

/** Returns the logged cause of an internal error. Clears the log, which would fill the memory. */
function unsaid(app: RunningServer): string | undefined {
  const ours = app.logged
    .splice(0)
    .find(({ level, fields: { code } }) => level === 'error' && !engines.has(code));
  return ours && `logged: ${ours.message} ${String(ours.fields['err'])}`;
}

/** Errors of an engine that cannot satisfy the requested schema. */
const engines = new Set<unknown>(['schema_not_met', 'tool_not_called']);

async function send(pool: Pool, { path, headers, bytes }: SentRequest, key: string): Promise<ReceivedAnswer> {
  const answer = await pool.request({
    path,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers },
    body: bytes,
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

function kindOf({ status, headers }: ReceivedAnswer): string {
  const isStream = status === 200 && String(headers['content-type']).startsWith('text/event-stream');
  return isStream ? 'stream' : `${status}`;
}

/** Formats a request so that a person can repeat it. */
function told(
  fault: string,
  { path, headers, bytes }: SentRequest,
  received: ReceivedAnswer | string,
): string {
  const body = Buffer.from(bytes).toString('utf8').slice(0, 4000);
  const answer = typeof received === 'string' ? '' : `${received.status}\n${received.text.slice(0, 2000)}`;
  return `${fault}\nPOST ${path} ${JSON.stringify(headers)}\n${body}\n${answer}\n`;
}
