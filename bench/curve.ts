// node bench/curve.ts URL MODEL [tokens] [counts] [seconds]: measures the throughput of a server by the number of concurrent requests,
// for a curve in test/support/batching-curves.ts. URL ends in /v1; counts are separated by commas.
// Each count is measured from the end of its first round of answers, for at least 20 s and three more rounds.
import { Agent, request } from 'undici';
import { loadAverage } from './support/processes.ts';
import { median } from './support/report.ts';

const [url, model, tokens = '96', counts = '1,2,4,8,16,32,64,128', seconds = '20'] = process.argv.slice(2);
const min = { ms: 1_000 * Number(seconds), rounds: 3 };
const dispatcher = new Agent({ connections: 1024, headersTimeout: 0, bodyTimeout: 0 });
let sent = 0;

interface Answer {
  at: number;
  ms: number;
  prompt: number;
  tokens: number;
}

/** Sends one request and times it. @param sentences length of the prompt */
async function answer(sentences: number, maxTokens: number, signal?: AbortSignal): Promise<Answer> {
  const from = performance.now();
  // Each prompt differs, so that no cache answers.
  const content = `${++sent}: ${'The harbour master keeps two ledgers. '.repeat(sentences)}`;
  const { statusCode, body } = await request(`${url}/chat/completions`, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      max_tokens: maxTokens,
      ignore_eos: true,
    }),
    ...(signal && { signal }),
  });
  if (statusCode !== 200) throw new Error(`${statusCode}: ${await body.text()}`);
  const { usage } = (await body.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
  const at = performance.now();
  return { at, ms: at - from, prompt: usage.prompt_tokens, tokens: usage.completion_tokens };
}

/** Milliseconds to read a prompt token: the difference between long and short prompts, with one request at a time. */
async function measureReading() {
  const medianOf = async (sentences: number) => {
    const all: Answer[] = [];
    for (let at = 0; at < 9; at++) all.push(await answer(sentences, 1));
    return { ms: median(all.map(({ ms }) => ms)), prompt: median(all.map(({ prompt }) => prompt)) };
  };
  const [short, long] = [await medianOf(1), await medianOf(40)];
  return { readMs: Number(((long.ms - short.ms) / (long.prompt - short.prompt)).toFixed(3)) };
}

async function measure(count: number) {
  const answers: Answer[] = [];
  const stop = new AbortController();
  /** End of the first round, from which answers count. */
  let from: number | null = null;
  let ended = 0;
  const client = async () => {
    while (!stop.signal.aborted) {
      // Lengths differ by a third, so that answers do not end together.
      const maxTokens = Math.round(Number(tokens) * (2 / 3 + (2 / 3) * Math.random()));
      const made = await answer(10, maxTokens, stop.signal);
      if (from === null && ++ended >= count) from = made.at;
      else if (from !== null) answers.push(made);
      const enough = from !== null && made.at - from >= min.ms && answers.length >= min.rounds * count;
      if (enough) stop.abort();
    }
  };
  const clients = Array.from({ length: count }, () =>
    client().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    }),
  );
  await Promise.all(clients);
  const span = answers.at(-1)!.at - from!;
  const sum = (what: 'prompt' | 'tokens') => answers.reduce((total, one) => total + one[what], 0);
  return {
    requests: count,
    tokensPerSecond: Number(((1_000 * sum('tokens')) / span).toFixed(1)),
    medianSeconds: Number((median(answers.map(({ ms }) => ms)) / 1_000).toFixed(2)),
    tokens: Math.round(sum('tokens') / answers.length),
    promptTokens: Math.round(sum('prompt') / answers.length),
    answers: answers.length,
    seconds: Math.round(span / 1_000),
    load: loadAverage(),
  };
}

await answer(10, 16);
console.log(JSON.stringify(await measureReading()));
for (const count of counts.split(',').map(Number)) console.log(JSON.stringify(await measure(count)));
process.exit(0);
