import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startNameServer } from '../test/support/name-server.ts';
import { seedKeys } from '../test/support/seed-keys.ts';
import { type Attack, attacksWith, plantRows } from './support/attacks.ts';
import { batchFile } from './support/batch-file.ts';
import { plain } from './support/formats.ts';
import { latencies } from './support/load.ts';
import { createDataFolder, type Offpeak, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { firstLine, start, stop } from './support/processes.ts';
import { type Figure, percentile, type Report, type Workload } from './support/report.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';

const chatLoad = { perSecond: 40, requests: 80 };
/** On 4 slots of 50 ms: three eighths of what they answer, so that half of the slots is enough. */
const narrowChatLoad = { perSecond: 15, requests: 45 };
const rounds = 3;
const lines = 20;
const attackerFile = fileURLToPath(new URL('support/attacker.ts', import.meta.url));

/** Latency for other orgs while one key, or a client without a key, attacks. */
export const attack: Workload = {
  name: 'attack',
  about: `Chat completions of one org, ${chatLoad.perSecond} a second, alone and beside each attack by another org or by a client without a key. Attack 3: a batch of ${lines} lines beside attack 2.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const names = await startNameServer();
    const folder = createDataFolder();
    const data = join(folder.path, 'data');
    mkdirSync(data);
    const [key = ''] = await seedKeys(data, [{ org: 'attacker' }]);
    // A host name instead of an address, so that connections need look-ups.
    const byName = (how: 'fast' | 'delay') => upstream.url(how).replace('127.0.0.1', 'localhost');
    const narrow = upstreamEngine(byName('delay'), 4);
    const offpeak = await startOffpeak(
      folder.path,
      upstreamEngine(byName('fast'), 128),
      { narrow },
      {
        nameServers: [names.address],
      },
    );
    try {
      plantRows(data);
      const input = batchFile(lines, 500).toString().replaceAll('bench-alias', 'narrow');
      const fileId = await uploadFile(offpeak, Buffer.from(input));
      const batchSeconds = async () => {
        const began = Date.now();
        return ((await runBatch(offpeak, fileId, lines)) - began) / 1000;
      };
      await upstream.reset({ slots: 4, delayMs: 50 });
      await p99(offpeak);
      await batchSeconds();
      const figures: Figure[] = [];
      const notes: string[] = [];
      for (const each of attacksWith(key)) {
        const took: Record<'alone' | 'beside', number[]> = { alone: [], beside: [] };
        let [statuses, busy] = ['', 0];
        for (let round = 0; round < rounds; round++) {
          took.alone.push(await p99(offpeak, each.victimModel));
          const running = await beginAttack(offpeak, each);
          const [began, { cpuUs }] = [performance.now(), await offpeak.figures()];
          took.beside.push(await p99(offpeak, each.victimModel));
          busy = ((await offpeak.figures()).cpuUs - cpuUs) / 1_000 / (performance.now() - began);
          statuses = await running.end();
        }
        // The best rounds count, because other work on the machine only makes a round worse.
        const [alone, beside] = [Math.min(...took.alone), Math.min(...took.beside)];
        console.error(`${each.name}: ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside it`);
        figures.push({
          name: `p99 beside attack ${each.name}, against alone`,
          value: beside / alone,
          atMost: 2,
        });
        notes.push(
          `Attack ${each.name}: answers by status in the last round ${statuses}, with ${Math.round(100 * busy)} % of a core used by the server.`,
        );
        if (each.victimModel === undefined) continue;
        const running = await beginAttack(offpeak, each);
        figures.push({
          name: `seconds of a batch beside it (attack 3)`,
          value: await batchSeconds(),
          atMost: 12,
        });
        await running.end();
      }
      const before = logBytes(folder.path);
      const flood = await beginAttack(
        offpeak,
        attacksWith(key).find(({ name }) => name.startsWith('8'))!,
      );
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      const answered = Object.values(JSON.parse(await flood.end()) as Record<string, number>);
      const refused = answered.reduce((sum, count) => sum + count, 0);
      figures.push({
        name: 'log of a refused request (attack 8)',
        value: (logBytes(folder.path) - before) / refused,
        unit: 'bytes',
        atMost: 50,
      });
      notes.push(
        `Best of ${rounds} rounds on one server, alone and beside each attack in turns. Upstream in ${upstream.kind}.`,
      );
      return { figures, notes };
    } finally {
      await offpeak.stop();
      await upstream.stop();
      names.close();
      folder.remove();
    }
  },
};

/** p99 of the chat completions of the default org, in milliseconds; infinite if one of them fails. */
async function p99({ port }: Offpeak, model = 'bench-alias'): Promise<number> {
  const load = plain('chat');
  const body = load.body?.replace('bench-alias', model) ?? '';
  const took = await latencies(
    { ...load, body },
    { port, ...(model === 'narrow' ? narrowChatLoad : chatLoad) },
  ).catch((error: unknown) => {
    console.error(String(error).slice(-300));
    return [Infinity];
  });
  return percentile(took, 99);
}

/** Starts an attack and waits until it is under way. `end` returns the answers that it got, by status. */
async function beginAttack({ port }: Offpeak, plan: Attack): Promise<{ end(): Promise<string> }> {
  const child = start('rest', process.execPath, [attackerFile, JSON.stringify({ ...plan, port })]);
  let text = '';
  child.stdout?.on('data', (part: Buffer) => (text += part.toString()));
  await firstLine(child);
  await new Promise((resolve) => setTimeout(resolve, 500));
  return {
    async end() {
      await stop(child);
      return text.trim().split('\n').at(-1) ?? '';
    },
  };
}

function logBytes(folder: string): number {
  return statSync(join(folder, 'log')).size;
}
