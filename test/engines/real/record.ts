import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Exchange, Recording } from './exchanges.ts';
import type { RealServer } from './servers.ts';

/** Sends a request to the server directly and records its answer for `npm test`. */
export async function record(
  { flavor, url }: Pick<RealServer, 'flavor' | 'url'>,
  exchange: Exchange,
): Promise<void> {
  const { name, path, body, only } = exchange;
  if (only && !only.includes(flavor)) return;
  const answer = await fetch(new URL(path, url), {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const recording: Recording = {
    name,
    path,
    ...(body && { body: JSON.stringify(body).length < 2_000 ? body : { model: body['model'] } }),
    status: answer.status,
    type: answer.headers.get('content-type') ?? '',
    answer: short(await answer.text()),
  };
  const folder = fileURLToPath(new URL(`../recordings/${flavor}/`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}${name}.json`, `${JSON.stringify(recording, null, 2)}\n`);
}

/** Removes machine-specific and merely long parts. */
function short(answer: string): string {
  return answer
    .replaceAll(/"root":"[^"]*"/g, '"root":"/models/offpeak-tiny"')
    .replaceAll(/^(?!vllm:num_requests).*\n/gm, (line) => (answer.startsWith('# HELP') ? '' : line))
    .replaceAll(/"model_path":"[^"]*"/g, '"model_path":"/models/offpeak-tiny.gguf"')
    .replaceAll(/"(modelfile|parent_model|license)":"(?:[^"\\]|\\.)*"/g, '"$1":""')
    .replaceAll(/"tensors":\[(?:[^[\]]|\[[^[\]]*\])*\],?/g, '')
    .replaceAll(/"embedding":\[[^\]]*\]/g, '"embedding":[0.5]')
    .replaceAll(/"chat_template":"(?:[^"\\]|\\.)*"/g, '"chat_template":""')
    .replaceAll(/"(?:timings|params)":\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\},?/g, '')
    .replaceAll(/,\}/g, '}');
}
