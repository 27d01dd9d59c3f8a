import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface AttackRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** Bytes of an uploaded file, in place of a body. */
  file?: number;
}

export interface Attack {
  /** Number and name, as in the tests. */
  name: string;
  connections: number;
  /** Pipelined requests of each connection; one at a time if absent. */
  burst?: number;
  requests: AttackRequest[];
  /** Sends the next request at once after a refusal, not after a moment: a flood, which costs the CPU of each answer. */
  isFlood?: boolean;
  /** Model that the others use meanwhile. */
  victimModel?: string;
}

/** Rows that the attacks read. */
const stored = { chats: 12_000, files: 10_000, bills: 10_000 } as const;

/** The attacks with one key of their own, or with none. @param key of the attacking org */
export function attacksWith(key: string): Attack[] {
  const authorization = `Bearer ${key}`;
  const post = (path: string, body: object): AttackRequest => ({
    method: 'POST',
    path,
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const get = (path: string, headers: Record<string, string> = { authorization }): AttackRequest => ({
    method: 'GET',
    path,
    headers,
  });
  const messages = [{ role: 'user', content: 'What came in?' }];
  const narrow = post('/v1/chat/completions', { model: 'narrow', messages });
  return [
    {
      name: '1, webhooks at silent name servers',
      connections: 12,
      requests: Array.from({ length: 12 }, (_, n) =>
        post('/v1/webhooks', { url: `https://${n}.silent.test/` }),
      ),
    },
    {
      name: '2, 160 requests in flight at 4 slots',
      connections: 160,
      requests: [narrow],
      victimModel: 'narrow',
    },
    {
      name: '4, filtered lists of stored chats',
      connections: 30,
      requests: [get('/v1/chat/completions?metadata%5Bnone%5D=such')],
    },
    {
      name: '5, uploads of 32 MB',
      connections: 4,
      requests: [
        {
          method: 'POST',
          path: '/v1/files',
          headers: { authorization, 'content-type': 'multipart/form-data; boundary=b' },
          file: 33_000_000,
        },
      ],
    },
    {
      name: '6, pipelined requests without a key',
      connections: 50,
      burst: 500,
      requests: [get('/v1/models', {})],
    },
    { name: '7, pages of 10,000 files', connections: 24, requests: [get('/v1/files?limit=10000')] },
    {
      name: '8, refused requests without a key',
      isFlood: true,
      connections: 50,
      requests: [get('/v1/batches', {})],
    },
    {
      name: '9, exports of usage as CSV',
      connections: 4,
      requests: [
        get('/v1/usage?group_by=day,model,key,batch&limit=10000', { authorization, accept: 'text/csv' }),
      ],
    },
  ];
}

/** Stores what the attacks read, as an org could within its quota. @param data folder of an idle server */
export function plantRows(data: string): void {
  const db = new DatabaseSync(join(data, 'offpeak.db'));
  const pairs = Array.from({ length: 16 }, (_, n) => [`name-${n}`, 'v'.repeat(500)]);
  const metadata = JSON.stringify(Object.fromEntries(pairs));
  const numbers = 'WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)';
  const org = "(SELECT id FROM orgs WHERE name = 'attacker')";
  const now = Date.now();
  db.prepare(
    `INSERT INTO chats (id, org_id, created_at, expires_at, model, metadata, body, messages) ${numbers}
     SELECT printf('chatcmpl_%032x', n), ${org}, ?, ?, 'bench', ?, '{"id":"x"}', '[]' FROM numbers`,
  ).run(stored.chats, now, now + 86_400_000, metadata);
  db.prepare(
    `INSERT INTO files (id, org_id, purpose, filename, bytes, blob_id, sha256, requests, endpoint, created_at) ${numbers}
     SELECT printf('file-%032x', n), ${org}, 'batch', 'requests of today.jsonl', 1, printf('blob_%032x', n), '', 1,
       '/v1/chat/completions', ? FROM numbers`,
  ).run(stored.files, now);
  db.prepare(
    `INSERT INTO usage_ledger (source_id, model, org_id, day, requests, input_tokens, cached_tokens, output_tokens,
       reasoning_tokens, amount) ${numbers}
     SELECT printf('batch_%032x', n), 'bench', ${org}, ?, 1, 100, 0, 100, 0, 50000 FROM numbers`,
  ).run(stored.bills, new Date(now).toISOString().slice(0, 10));
  db.close();
}
