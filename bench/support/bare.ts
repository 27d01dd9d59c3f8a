import { fileURLToPath } from 'node:url';
import { readFigures } from './measured.ts';
import type { Target } from './cost.ts';
import { firstLine, start, stop } from './processes.ts';

/** Starts a minimal Node proxy for the same upstream. */
export async function startBare(url: string): Promise<Target & { stop(): Promise<void> }> {
  const file = fileURLToPath(new URL('bare-proxy.ts', import.meta.url));
  const child = start('target', process.execPath, [file, url], { ipc: true });
  const { port } = JSON.parse(await firstLine(child)) as { port: number };
  return { port, figures: (question) => readFigures(child, question), stop: () => stop(child) };
}
