import { createInterface } from 'node:readline/promises';
import type { RemoteBatch } from '../../../client/resources.ts';
import type { Cli } from '../../shared/cli.ts';
import { exitCodes } from '../../shared/exit-codes.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { pollUntilDone } from '../poll.ts';
import type { Progress } from '../progress.ts';
import { combineBatches } from './combine.ts';
import type { PartsRun } from './run-parts.ts';
import type { RunFile } from './run-state.ts';

/** Waits until all batches have ended. Returns false if the user leaves them running after Ctrl-C. */
export async function waitForEnd(
  cli: Cli,
  { parts, progress, run, requests }: { parts: PartsRun; progress: Progress; run: RunFile; requests: number },
): Promise<boolean> {
  const { clock } = cli;
  let stop = new AbortController();
  const release = cli.onInterrupt(() => stop.abort());
  let isDone = false;
  const poll = async () => {
    isDone = await parts.step();
    const batches = parts.batches();
    if (batches.length > 0) progress.update(combineBatches(batches, requests));
    return isDone;
  };
  try {
    for (;;) {
      await pollUntilDone(poll, { clock, note: (text) => progress.note(text), signal: stop.signal });
      if (isDone) return true;
      progress.stop();
      const choice = await askAtInterrupt(cli.terminal);
      stop = new AbortController();
      if (choice === 'cancel') await parts.cancel();
      if (choice !== 'leave') continue;
      showHowToResume(cli, parts.batches(), run);
      cli.exitCode = exitCodes.interrupted;
      return false;
    }
  } finally {
    release();
  }
}

function showHowToResume(cli: Cli, batches: RemoteBatch[], { path }: RunFile): void {
  const { terminal } = cli;
  if (batches.length === 0 && path === null) return;
  const ids = batches.map(({ id }) => id).join(', ');
  const keeps = batches.length === 1 ? 'keeps' : 'keep';
  const command = `${terminal.self.command} batch`;
  if (path === null)
    return terminal.note(`${ids} ${keeps} running. To get the results: ${command} results <id>`);
  terminal.note(`${ids} ${keeps} running. Run the same command again to collect the results.`);
  terminal.note(`To cancel: ${command} cancel ${batches.at(-1)?.id ?? '<id>'}`);
}

/** Asks what to do with a running batch after Ctrl-C. A second Ctrl-C, or the end of the input, leaves it running. */
async function askAtInterrupt(terminal: Terminal): Promise<'leave' | 'cancel' | 'continue'> {
  if (terminal.stdin.isTTY !== true || terminal.stderr.isTTY !== true) return 'leave';
  const prompt = createInterface({ input: terminal.stdin, output: terminal.stderr });
  const stop = new AbortController();
  prompt.on('SIGINT', () => stop.abort());
  prompt.on('close', () => stop.abort());
  try {
    const question = '\n[l]eave it running, [c]ancel it, or [Enter] to keep waiting? ';
    const answer = (await prompt.question(question, { signal: stop.signal })).trim().toLowerCase();
    if (answer.startsWith('l')) return 'leave';
    return answer.startsWith('c') ? 'cancel' : 'continue';
  } catch {
    return 'leave';
  } finally {
    prompt.close();
  }
}
