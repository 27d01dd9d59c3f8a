// Minimum for a batch in Node: reads lines from a file, rewrites the model, sends them through undici with limited
// concurrency, parses answers, writes result lines and commits them to SQLite in groups, as durably as Offpeak. It
// validates, shares, bills and retries nothing, and keeps no state that would survive a kill.
import { createReadStream } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'undici';
import { answerFigures } from './measured.ts';

const [path = '', url = '', database = '', inFlight = ''] = process.argv.slice(2);
const upstream = new URL(url);
const pool = new Pool(upstream.origin, { connections: null, pipelining: 1 });
const headers = ['content-type', 'application/json', 'authorization', 'Bearer upstream-key'];
const groupRows = 256;
const groupMs = 50;

const db = new DatabaseSync(database);
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE results (batch integer, line integer, body blob NOT NULL, PRIMARY KEY (batch, line))`);
const insert = db.prepare('INSERT INTO results VALUES (?, ?, ?)');
let batch = 0;
let group: { line: number; body: Buffer }[] = [];
let timer: NodeJS.Timeout | undefined;

function commit(): void {
  clearTimeout(timer);
  timer = undefined;
  db.exec('BEGIN IMMEDIATE');
  for (const { line, body } of group) insert.run(batch, line, body);
  db.exec('COMMIT');
  group = [];
}

function record(line: number, body: Buffer): void {
  group.push({ line, body });
  if (group.length === groupRows) commit();
  else timer ??= setTimeout(commit, groupMs);
}

async function* linesOf(file: string): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const block of createReadStream(file, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    const data = rest.length > 0 ? Buffer.concat([rest, block]) : block;
    let from = 0;
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, from)) {
      yield data.toString('utf8', from, end);
      from = end + 1;
    }
    rest = data.subarray(from);
  }
}

function send(body: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    pool.dispatch(
      { method: 'POST', path: `${upstream.pathname}/chat/completions`, headers, body },
      {
        onRequestStart() {},
        onResponseStart() {},
        onResponseData: (_, part) => void parts.push(part),
        onResponseEnd: () => resolve(Buffer.concat(parts)),
        onResponseError: (_, error) => reject(error),
      },
    );
  });
}

async function run(): Promise<number> {
  batch++;
  let count = 0;
  const lines = linesOf(path);
  const lane = async () => {
    for (let next = await lines.next(); !next.done; next = await lines.next()) {
      const number = count++;
      const line = JSON.parse(next.value) as { custom_id: string; body: { model: string } };
      const alias = line.body.model;
      line.body.model = 'upstream-model';
      const answer = JSON.parse((await send(JSON.stringify(line.body))).toString()) as { model: string };
      answer.model = alias;
      const id = `req_${batch}_${number}`;
      const response = { status_code: 200, request_id: id, body: answer };
      record(number, Buffer.from(JSON.stringify({ id, custom_id: line.custom_id, response, error: null })));
    }
  };
  await Promise.all(Array.from({ length: Number(inFlight) }, lane));
  if (group.length > 0) commit();
  return count;
}

process.on('message', (message) => {
  if (message === 'run') void run().then((rows) => process.send?.({ rows }));
});
answerFigures();
console.log('ready');
