// node bench/real.ts --unbound URL MODEL AT_ONCE [lines]: runs a whole Offpeak with an unknown limit in front of a real server. URL
// ends in /v1; AT_ONCE is the number of concurrent requests with the highest throughput in curve.ts. Prints the throughput of lines sent
// directly to the server and as a batch, then the seconds of single chats alone and alongside a batch with `max_slowdown`.
import { Agent, request } from 'undici';
import { loadConfig } from '../src/config.ts';
import { createDataFolder, type Offpeak, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { loadAverage } from './support/processes.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';

const [url = '', model = '', atOnce = '', count = '320'] = process.argv
  .slice(2)
  .filter((value) => value !== '--unbound');
const maxSlowdown = 1.3;
const chats = { tokens: 16, everyMs: 2_000, alone: 8, beside: 20, warmUpMs: 15_000 };
const dispatcher = new Agent({ connections: 1024, headersTimeout: 0, bodyTimeout: 0 });

/** Answers of 64 to 128 tokens. */
const lines = Array.from({ length: Number(count) }, (_, at) => bodyOf(`line ${at}`, 64 + ((at * 37) % 65)));
const tokensOfLines = lines.reduce((sum, line) => sum + line.max_tokens, 0);
let sent = 0;

function bodyOf(first: string, tokens: number) {
  // Each prompt differs, so that no cache answers.
  const content = `${first}: ${'The harbour master keeps two ledgers. '.repeat(10)}`;
  return { model: 'bench', messages: [{ role: 'user', content }], max_tokens: tokens, ignore_eos: true };
}

/** Runs `work` and returns tokens per second of the lines. */
async function rateOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return Math.round((1_000 * tokensOfLines) / (performance.now() - from));
}

/** Sends the lines directly to the server. */
async function sendDirectly(): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < lines.length) {
      const at = next++;
      const body = JSON.stringify({ ...bodyOf(`direct ${at}`, lines[at]!.max_tokens), model });
      const headers = { 'content-type': 'application/json' };
      const reply = await request(`${url}/chat/completions`, { dispatcher, method: 'POST', headers, body });
      const text = await reply.body.text();
      if (reply.statusCode !== 200) throw new Error(`${reply.statusCode}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: Number(atOnce) }, client));
}

async function createFile(offpeak: Offpeak): Promise<string> {
  const rows = lines.map((body, at) =>
    JSON.stringify({ custom_id: `row-${at}`, method: 'POST', url: '/v1/chat/completions', body }),
  );
  return uploadFile(offpeak, Buffer.from(`${rows.join('\n')}\n`));
}

/** Seconds of single chats, sent at equal intervals. */
async function chatsOf(offpeak: Offpeak, number: number): Promise<number[]> {
  const all: Promise<number>[] = [];
  for (let at = 0; at < number; at++) {
    const from = performance.now();
    const body = JSON.stringify(bodyOf(`chat ${++sent}`, chats.tokens));
    const ended = offpeak.post('/v1/chat/completions', body);
    all.push(ended.then(() => Math.round((performance.now() - from) / 10) / 100));
    await pause(chats.everyMs);
  }
  return Promise.all(all);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const data = createDataFolder();
const engine = { ...upstreamEngine(url, null), model };
console.log(JSON.stringify({ direct: await rateOf(sendDirectly), load: loadAverage() }));
let offpeak = await startOffpeak(data.path, engine);
try {
  const batch = await rateOf(async () => runBatch(offpeak, await createFile(offpeak), lines.length));
  console.log(JSON.stringify({ batch, load: loadAverage() }));
  await offpeak.stop();
  const { batch: defaults } = loadConfig({ env: {}, cwd: data.path });
  offpeak = await startOffpeak(data.path, engine, {}, { batch: { ...defaults, maxSlowdown } });
  console.log(JSON.stringify({ alone: await chatsOf(offpeak, chats.alone) }));
  const file = await createFile(offpeak);
  const creation = { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: file };
  await offpeak.post('/v1/batches', JSON.stringify(creation));
  await pause(chats.warmUpMs);
  console.log(JSON.stringify({ beside: await chatsOf(offpeak, chats.beside), load: loadAverage() }));
} finally {
  await offpeak.stop('SIGKILL');
  data.remove();
}
process.exit(0);
