import { hostileSchemas } from '../test/inference/hostile-schemas.ts';
import { connectTo, requestBytes } from './support/connection.ts';
import { plain } from './support/formats.ts';
import { latencies } from './support/load.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Offpeak } from './support/offpeak.ts';
import { percentile } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { startUpstream } from './support/upstream.ts';

const probesPerSecond = 100;
const connections = 4;
/** Repetitions, each with its own comment in the schemas, to defeat caches. */
const times = 3;

/** Responsiveness while clients send schemas designed to block a server. */
export const healthz: Workload = {
  name: 'healthz',
  about: `GET /healthz ${probesPerSecond} times a second, while ${connections} connections send ${hostileSchemas.length} hostile schemas ${times} times as response formats to /v1/chat/completions.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const offpeak = await startOffpeak(data.path, upstreamEngine(upstream.url('fast'), 128));
    try {
      await warmUp(offpeak.port);
      const quiet = await probe(offpeak, () => false, 3);
      await offpeak.figures('reset');
      let sending = true;
      const began = performance.now();
      const sent = sendHostile(offpeak.port).finally(() => (sending = false));
      const took = await probe(offpeak, () => sending);
      const statuses = await sent;
      const { longestTurn } = await offpeak.figures();
      const seconds = (performance.now() - began) / 1000;
      return {
        figures: [
          { name: 'p99 of /healthz', value: percentile(took, 99), unit: 'ms', atMost: 100 },
          { name: 'slowest /healthz', value: Math.max(...took), unit: 'ms' },
          { name: 'p50 of /healthz', value: percentile(took, 50), unit: 'ms' },
          { name: 'longest turn of the event loop, CPU', value: longestTurn, unit: 'ms' },
          { name: 'p99 of /healthz before', value: percentile(quiet, 99), unit: 'ms' },
        ],
        notes: [
          `${took.length} probes in ${seconds.toFixed(1)} s. The schemas were answered with ${describe(statuses)}. Upstream in ${upstream.kind}.`,
        ],
      };
    } finally {
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};

/** Sends a valid and an invalid request, so that the validation code is compiled. */
async function warmUp(port: number): Promise<void> {
  const connection = await connectTo(port);
  for (const more of [{}, { temperature: 'warm' }]) await connection.ask(requestBytes(plain('chat', more)));
  connection.close();
}

/** Probes for at least `seconds`, in steps of one second, and while `goesOn` returns true. */
async function probe({ port }: Offpeak, goesOn: () => boolean, seconds = 1): Promise<number[]> {
  const load = { method: 'GET', path: '/healthz', holds: 'ok' } as const;
  const took: number[] = [];
  for (let n = 0; n < seconds || goesOn(); n++)
    took.push(...(await latencies(load, { port, perSecond: probesPerSecond, requests: probesPerSecond })));
  return took;
}

/** Returns the number of answers by status. */
async function sendHostile(port: number): Promise<Map<string, number>> {
  const statuses = new Map<string, number>();
  const texts = Array.from({ length: times }, (_, time) =>
    hostileSchemas.map(({ text }) => withFormat(text.replace(/^{/, `{"$comment":"${time}",`))),
  ).flat();
  const turns = texts.values();
  async function send(): Promise<void> {
    const connection = await connectTo(port);
    for (const body of turns) {
      const answer = await connection.ask(requestBytes({ ...plain('chat'), body }));
      const status = answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: connections }, send));
  return statuses;
}

/** Returns a chat request with the schema as text, because some schemas have no exact JavaScript value. */
function withFormat(schema: string): string {
  const whole = plain('chat').body ?? '';
  return `${whole.slice(0, -1)},"response_format":{"type":"json_schema","json_schema":{"name":"hostile","schema":${schema}}}}`;
}

function describe(statuses: Map<string, number>): string {
  const counts = [...statuses].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return counts.map(([status, count]) => `${status} (${count} times)`).join(', ');
}
