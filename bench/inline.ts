import type { BatchEndpoint } from '../src/core/batch.ts';
import { loadConfig } from '../src/config.ts';
import { batchFile } from './support/batch-file.ts';
import { createDataFolder, startOffpeak } from './support/offpeak.ts';
import type { Offpeak } from './support/offpeak.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';

const rows = 10_000;
const lineBytes = 3250;
const rounds = 7;
const endpoints: BatchEndpoint[] = ['/v1/chat/completions', '/v1/messages'];

/** Latency for other clients while a batch with inline requests is created. */
export const inline: Workload = {
  name: 'inline',
  about: `POST /v1/batches and POST /v1/messages/batches with ${rows} requests in a body of 32 MB, one after the other: the longest turn of the event loop until the answer.`,

  async run(): Promise<Report> {
    const data = createDataFolder();
    const { batch } = loadConfig({ env: {}, cwd: data.path });
    // Slow requests, so that no batch is processed while the next one is created.
    const engine = { kind: 'scripted', slots: 8, delayMs: 3_600_000 } as const;
    const offpeak = await startOffpeak(data.path, engine, {}, { batch: { ...batch, endpoints } });
    const forms = formsOf(batchFile(rows, lineBytes).toString().trimEnd().split('\n'));
    try {
      const created: Record<string, Created[]> = { chat: [], messages: [] };
      for (let round = 0; round <= rounds; round++)
        for (const { name, path, body } of forms) created[name]!.push(await create(offpeak, path, body));
      const figures = forms.flatMap(({ name, body }) => {
        const [first, ...others] = created[name] as [Created, ...Created[]];
        const most = (figure: (each: Created) => number) => Math.max(...others.map(figure));
        return [
          { name: `longest turn, ${name}`, value: most(({ turn }) => turn), unit: 'ms', atMost: 50 },
          {
            name: `longest turn, ${name}, median`,
            value: median(others.map(({ turn }) => turn)),
            unit: 'ms',
          },
          { name: `longest turn, ${name}, its CPU`, value: most(({ turnCpu }) => turnCpu), unit: 'ms' },
          {
            name: `longest turn, ${name}, the first of the process`,
            value: first.turn,
            unit: 'ms',
            atMost: 50,
          },
          { name: `time, ${name}, median`, value: median(others.map(({ ms }) => ms)), unit: 'ms' },
          { name: `size of the body, ${name}`, value: body.length / 2 ** 20, unit: 'MiB' },
        ];
      });
      return {
        figures,
        notes: [
          `Wall-clock time, maximum of ${rounds} creations unless stated otherwise; each batch is cancelled and finished before the next.`,
        ],
      };
    } finally {
      await offpeak.stop();
      data.remove();
    }
  },
};

/** Duration and event loop delays of one creation, in milliseconds. */
interface Created {
  ms: number;
  turn: number;
  turnCpu: number;
}

async function create(offpeak: Offpeak, path: string, body: Buffer): Promise<Created> {
  await offpeak.figures('reset');
  const began = performance.now();
  const { id } = await offpeak.post<{ id: string }>(path, body);
  const ms = performance.now() - began;
  const { loopMax, longestTurn } = await offpeak.figures();
  await end(offpeak, id);
  return { ms, turn: loopMax, turnCpu: longestTurn };
}

async function end(offpeak: Offpeak, id: string): Promise<void> {
  let { status } = await offpeak.post<{ status: string }>(`/v1/batches/${id}/cancel`, '{}');
  while (status === 'cancelling' || status === 'in_progress') {
    await new Promise((resolve) => setTimeout(resolve, 50));
    ({ status } = await offpeak.get<{ status: string }>(`/v1/batches/${id}`));
  }
}

interface Form {
  name: string;
  path: string;
  body: Buffer;
}

/** The same requests in both formats. */
function formsOf(lines: string[]): Form[] {
  const chat = `{"endpoint":"/v1/chat/completions","completion_window":"24h","requests":[${lines.join(',')}]}`;
  const requests = lines.map((line) => {
    const { custom_id, body } = JSON.parse(line) as { custom_id: string; body: ChatBody };
    const [system, ...messages] = body.messages;
    const { model, max_tokens } = body;
    return { custom_id, params: { model, max_tokens, system: system!.content, messages } };
  });
  return [
    { name: 'chat', path: '/v1/batches', body: Buffer.from(chat) },
    { name: 'messages', path: '/v1/messages/batches', body: Buffer.from(JSON.stringify({ requests })) },
  ];
}

interface ChatBody {
  model: string;
  max_tokens: number;
  messages: { role: string; content: string }[];
}
