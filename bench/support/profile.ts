// Summarizes the CPU profiles that `npm run bench -- --profile names...` records of the measured server.
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const profiling = process.argv.includes('--profile');

const folder = profiling ? mkdtempSync(join(tmpdir(), 'offpeak-profile-')) : '';

/** Node flags for the measured process. */
export function profileFlags(): string[] {
  return profiling ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
}

interface Profile {
  nodes: {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
    children?: number[];
  }[];
  samples: number[];
  timeDeltas: number[];
}

/**
 * Busiest locations of each profile: own time by function, and total time by the source file that caused it, including
 * calls into Node and packages.
 */
export function describeProfiles(): string {
  const files = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  return files
    .map((name) => describe(name, JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile))
    .join('\n');
}

function describe(name: string, { nodes, samples, timeDeltas }: Profile): string {
  const own = new Map<number, number>();
  for (const [i, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + (timeDeltas[i] ?? 0));
  const byCause = new Map<string, number>();
  const byFunction = new Map<string, number>();
  const causes = causesOf(nodes);
  let busy = 0;
  for (const { id, callFrame } of nodes) {
    const us = own.get(id) ?? 0;
    const { functionName, url, lineNumber } = callFrame;
    if (functionName === '(idle)' || us === 0) continue;
    busy += us;
    add(byCause, causes.get(id) ?? 'Node and packages by themselves', us);
    add(byFunction, `${functionName || '(anonymous)'} ${short(url) || 'native'}:${lineNumber + 1}`, us);
  }
  const list = (map: Map<string, number>, count: number) =>
    [...map]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, count)
      .map(([what, us]) => `  ${((100 * us) / busy).toFixed(1).padStart(5)} %  ${what}`);
  const head = `${folder}/${name}: ${(busy / 1000).toFixed(0)} ms busy`;
  return [head, ...list(byCause, 40), '', ...list(byFunction, 40)].join('\n');
}

/** Nearest caller in our sources for each node, or the package if there is none. */
function causesOf(nodes: Profile['nodes']): Map<number, string> {
  const causes = new Map<number, string>();
  // Parents precede their children.
  for (const { id, callFrame, children = [] } of nodes) {
    const file = short(callFrame.url);
    const isOurs = file.startsWith('src/') || file.startsWith('bench/');
    const inherited = causes.get(id);
    const cause = isOurs ? file : (inherited ?? packageOf(file));
    if (cause !== undefined) causes.set(id, cause);
    for (const child of children) if (cause !== undefined) causes.set(child, cause);
  }
  return causes;
}

function packageOf(file: string): string | undefined {
  if (file === '' || file.startsWith('node:')) return undefined;
  return file.split('/', file.startsWith('@') ? 2 : 1).join('/');
}

function add(map: Map<string, number>, key: string, us: number): void {
  map.set(key, (map.get(key) ?? 0) + us);
}

/**
 * Short name such as `src/engines/upstream/connection/exchange.ts`, `undici/lib/core/request.js` or
 * `node:internal/...`.
 */
function short(url: string): string {
  const inPackage = url.lastIndexOf('node_modules/');
  if (inPackage >= 0) return url.slice(inPackage + 'node_modules/'.length);
  const own = url.search(/(src|bench)\//);
  return own >= 0 ? url.slice(own) : url;
}
