import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { canBind, loadAverage } from './processes.ts';

export interface Figure {
  name: string;
  value: number;
  unit?: string;
  /** Goal, if any. */
  atLeast?: number;
  atMost?: number;
}

export interface Report {
  figures: Figure[];
  /** Conditions that a reader must know to judge the figures; `publish` adds the load of the machine. */
  notes: string[];
}

export interface Workload {
  name: string;
  /** One sentence on the workload and its baseline. */
  about: string;
  run(): Promise<Report>;
}

const folder = fileURLToPath(new URL('../results', import.meta.url));

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[middle - (sorted.length % 2 === 0 ? 1 : 0)],
    sorted[middle],
  ];
  return (low + high) / 2;
}

/** Returns the smallest value that at least `p` percent of the values do not exceed. */
export function percentile(values: number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * p) / 100) - 1)] ?? Number.NaN;
}

export function met({ value, atLeast = -Infinity, atMost = Infinity }: Figure): boolean {
  return value >= atLeast && value <= atMost;
}

export function missed(report: Report): Figure[] {
  return report.figures.filter((figure) => !met(figure));
}

/** Writes the results and returns them as Markdown. */
export function publish({ name, about }: Workload, { figures, notes }: Report): string {
  const report = { figures, notes: [...notes, `Load average at the end: ${loadAverage().toFixed(1)}.`] };
  mkdirSync(folder, { recursive: true });
  const machine = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    node: process.version,
    bound: canBind,
  };
  writeFileSync(
    `${folder}/${name}.json`,
    `${JSON.stringify({ name, about, machine, ...report }, null, 2)}\n`,
  );
  const rows = report.figures.map((figure) => {
    const goal = goalOf(figure);
    return `| ${figure.name} | ${format(figure.value)}${figure.unit ? ` ${figure.unit}` : ''} | ${goal} | ${goal && (met(figure) ? 'met' : 'MISSED')} |`;
  });
  const text = [
    `# ${name}`,
    '',
    about,
    '',
    '| figure | value | goal | |',
    '|---|--:|--:|---|',
    ...rows,
    '',
    ...report.notes.map((note) => `- ${note}`),
    `- ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}${canBind ? '' : ', no process bound to a core'}. Compare ratios; absolute figures belong to the machine.`,
    '',
  ].join('\n');
  writeFileSync(`${folder}/${name}.md`, text);
  return text;
}

function goalOf({ atLeast, atMost }: Figure): string {
  if (atLeast !== undefined) return `>= ${atLeast}`;
  return atMost === undefined ? '' : `<= ${atMost}`;
}

function format(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}
