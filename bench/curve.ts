// node bench/curve.ts URL MODEL [tokens] [counts]: measures the throughput of a server by the number of requests at once, for a curve
// in test/support/batching-curves.ts. URL ends in /v1; counts are separated by commas. Each count is kept for nine seconds, of which the last six count.
import { Agent, request } from 'undici';
import { loadAverage } from './support/processes.ts';
import { median } from './support/report.ts';

const [url, model, tokens = '96', counts = '1,2,4,8,16,32,64,128'] = process.argv.slice(2);
const measuredMs = 6_000;
const dispatcher = new Agent({ connections: 1024, headersTimeout: 0, bodyTimeout: 0 });
let sent = 0;

/** Tokens of an answer. */
async function answer(): Promise<number> {
  // No prompt twice, so that no cache answers.
  const content = `${++sent}: ${'The harbour master keeps two ledgers. '.repeat(10)}`;
  const { statusCode, body } = await request(`${url}/chat/completions`, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      max_tokens: Number(tokens),
      ignore_eos: true,
    }),
  });
  if (statusCode !== 200) throw new Error(`${statusCode}: ${await body.text()}`);
  const { usage } = (await body.json()) as { usage: { completion_tokens: number } };
  return usage.completion_tokens;
}

async function measure(count: number) {
  const answers: { ms: number; tokens: number; at: number }[] = [];
  const from = performance.now();
  const until = from + 1.5 * measuredMs;
  const client = async () => {
    while (performance.now() < until) {
      const at = performance.now();
      const made = await answer();
      answers.push({ ms: performance.now() - at, tokens: made, at: performance.now() });
    }
  };
  await Promise.all(Array.from({ length: count }, client));
  // Full load: without the answers of the first third, and those after the end.
  const full = answers.filter(({ at }) => at > from + measuredMs / 2 && at <= until);
  const made = full.reduce((sum, one) => sum + one.tokens, 0);
  return {
    requests: count,
    tokensPerSecond: Math.round((1000 * made) / measuredMs),
    medianSeconds: Number((median(full.map(({ ms }) => ms)) / 1000).toFixed(2)),
    tokens: Math.round(made / full.length),
    load: loadAverage(),
  };
}

for (const count of counts.split(',').map(Number)) console.log(JSON.stringify(await measure(count)));
process.exit(0);
